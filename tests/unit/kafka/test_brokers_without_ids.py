"""Brokers before 3.1 tell no ids of topics; everything else is known of them."""

from __future__ import annotations

from mm2.core.model import TopicName
from mm2.demo.broker_settings import HOST
from mm2.kafka.admin import Admin
from tests.support.fenced_broker import LED, fenced_broker


async def test_topics_of_older_brokers_exist_without_ids() -> None:
    """The brokers' part of this is played; those that the suite has are newer."""
    async with fenced_broker() as broker:
        broker.is_fenced, broker.leaders = False, [1, 1]
        admin = Admin("F", {"bootstrap.servers": f"{HOST}:{broker.port}"})
        assert await admin.topic_ids([TopicName(LED)]) == {LED: None}
        described = await admin.describe_topics([TopicName(LED)])
        assert described[TopicName(LED)].partitions == 2
        await admin.close()
