"""Settings of remote topics where targets refuse what is asked."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from mm2.core.filters import build_config_property_filter
from mm2.core.model import TopicName
from mm2.core.plan import GrowTopic
from mm2.herder.clusters import FlowClusters
from mm2.herder.topic_settings import TopicSettings, grow_topics
from mm2.kafka.admin import Admin
from mm2.kafka.errors import Refused, UnknownTopic
from tests.support.ageing import without
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

_INCREMENTAL_ALTER_CONFIGS = 44


async def test_a_target_too_old_for_settings_is_told_of_once(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C183: Java stops the connector, and with it what else it does for topics."""
    topic = TopicName(unique)
    create_topic(cluster_a.bootstrap, topic, 1, {"retention.bytes": "7"})
    create_topic(cluster_b.bootstrap, topic)
    async with without(_INCREMENTAL_ALTER_CONFIGS, (0, 1), cluster_b.bootstrap) as older:
        source, target = (
            Admin(name, {"bootstrap.servers": each.bootstrap})
            for name, each in (("S", cluster_a), ("T", older))
        )
        settings = TopicSettings(FlowClusters(source, target), build_config_property_filter({}))
        await eventually_async(lambda: source.describe_configs([topic]))
        await eventually_async(lambda: target.describe_configs([topic]))
        with capture_logs() as logs:
            await settings.sync({topic: topic})
            await settings.sync({topic: topic})
        await source.close()
        await target.close()
    (said,) = [each for each in logs if each["log_level"] == "error"]
    assert said["event"] == "topic_configs.not_supported"
    assert said["cluster"] == "T"


async def test_partitions_that_somebody_else_has_added_are_no_failure(
    cluster_b: Cluster, unique: str
) -> None:
    """C170: Java passes over it without a word, too; all else is a failure."""
    create_topic(cluster_b.bootstrap, unique, 3)
    target = Admin("T", {"bootstrap.servers": cluster_b.bootstrap})
    grown = [GrowTopic(name=TopicName(unique), partitions=count) for count in (2, 3)]
    for each in grown:
        refused = (await target.create_partitions([each]))[each.name]
        assert isinstance(refused, Refused)
        assert await grow_topics(target, [each]) == {}
    missing = GrowTopic(name=TopicName(f"{unique}-2"), partitions=2)
    failures = await grow_topics(target, [missing])
    assert isinstance(failures[missing.name], UnknownTopic)
    await target.close()
