"""Coordinators that let a transaction wait are reported."""

from __future__ import annotations

import asyncio
from typing import Final, cast

from structlog.testing import capture_logs

from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.kafka.wire.transactional_producer import TransactionalProducer
from mm2.kafka.wire.wire_client import WireClient
from tests.support.fake_broker import Trouble
from tests.support.fake_coordinator import TransactionalCluster
from tests.support.virtual_time import run

_REMOTE: Final = TopicPartition(TopicName("t"), 0)


async def _added_after(delay_s: float) -> None:
    """Adds a partition to a transaction while the one before is being completed for so long."""
    loop = asyncio.get_running_loop()
    over = loop.time() + delay_s
    cluster = TransactionalCluster(
        [(_REMOTE, 0)], lambda: Trouble.SLOW if loop.time() < over else Trouble.NONE
    )
    producer = TransactionalProducer(
        cast("WireClient", cluster),
        flow="A->B",
        transactional_id="id",
        identity=cluster.new_task(),
        group=GroupId("g"),
    )
    assert await producer.add_partitions([_REMOTE]) == {}


def test_a_coordinator_that_lets_a_transaction_wait_is_reported_once_and_so_is_its_end() -> None:
    with capture_logs() as logged:
        run(_added_after(25))
    assert [each["event"] for each in logged] == [
        "source.transaction_delayed",
        "source.transaction_resumed",
    ]
    assert logged[0]["error"] == "CONCURRENT_TRANSACTIONS"
    assert logged[0]["waited_s"] == 10


def test_a_short_wait_is_not_reported() -> None:
    with capture_logs() as logged:
        run(_added_after(5))
    assert logged == []
