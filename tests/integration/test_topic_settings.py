"""Settings of remote topics, behaviours 5.5, and targets that refuse what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from mm2.core.filters import build_config_property_filter
from mm2.core.model import TopicName
from mm2.core.topics.remote_configs import AlterConfig, ConfigOperation
from mm2.core.topics.topic_plan import CreateTopic, GrowTopic
from mm2.herder.topics.config_sync import TopicSettings, alter_configs
from mm2.herder.topics.topic_creation import create_topics, grow_topics
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import Refused, UnknownTopic
from mm2.kafka.flow_clusters import FlowClusters
from tests.support.ageing import without
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.records import create_topic
from tests.support.taskless import TasklessFlow, taskless_flow

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


async def test_a_setting_that_the_target_refuses_does_not_hold_up_the_others(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    for name in (unique, f"{unique}-2"):
        create_topic(cluster_b.bootstrap, name)
    first, second = TopicName(unique), TopicName(f"{unique}-2")
    bad = [
        AlterConfig(first, "no.such.setting", ConfigOperation.SET, "1"),
        AlterConfig(first, "retention.ms", ConfigOperation.SET, "soon"),
    ]
    good = [
        AlterConfig(first, "max.message.bytes", ConfigOperation.SET, "2000000"),
        AlterConfig(first, "retention.bytes", ConfigOperation.SET, "77"),
        AlterConfig(first, "segment.bytes", ConfigOperation.SET, "1048576"),
        AlterConfig(second, "retention.bytes", ConfigOperation.SET, "78"),
    ]
    gone = AlterConfig(TopicName("no-such-topic"), "retention.ms", ConfigOperation.SET, "1")
    async with taskless_flow(cluster_a, cluster_b, unique) as flow:
        failed = await alter_configs(flow.clusters.target, [bad[0], *good, bad[1], gone])
        assert failed.keys() == {*bad, gone}
        assert all(isinstance(failed[change], Refused) for change in bad)
        wanted = {(change.name, change.value) for change in good[:3]}
        await eventually_async(lambda: flow.settings(first), until=lambda s: wanted <= s.items())
        kept = ("retention.bytes", "78")
        await eventually_async(lambda: flow.settings(second), until=lambda s: kept in s.items())


async def test_settings_follow_and_what_is_excluded_does_not(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C175, C177, C180, C182, C397, C399."""
    configs = {"retention.bytes": "1000", "delete.retention.ms": "1000"}
    create_topic(cluster_a.bootstrap, unique, 1, configs)
    exclude = {"config.properties.exclude": "delete.*"}
    async with taskless_flow(cluster_a, cluster_b, unique, exclude) as flow:
        await flow.discovery.refresh()
        await eventually_async(flow.clusters.target.list_topics, until=lambda t: flow.remote in t)
        created = await flow.settings(flow.remote)
        assert (created["retention.bytes"], created["delete.retention.ms"]) == ("1000", "86400000")

        by_hand = [
            AlterConfig(flow.remote, name, ConfigOperation.SET, "2000")
            for name in ("retention.bytes", "delete.retention.ms", "max.message.bytes")
        ]
        assert await flow.clusters.target.incremental_alter_configs(by_hand) == {}
        await _has(flow, {change.name: "2000" for change in by_hand})
        await flow.discovery.sync_configs()
        synced = await _has(flow, {"retention.bytes": "1000"})
        assert synced["retention.bytes"] == "1000", "C397: set by hand, taken back"
        assert synced["delete.retention.ms"] == "2000", "C397: excluded, left alone"
        assert synced["max.message.bytes"] == "1048588", "C182: deleted, as the source has none"

        removed = AlterConfig(TopicName(unique), "retention.bytes", ConfigOperation.DELETE)
        await flow.clusters.source.incremental_alter_configs([removed])

        async def followed() -> str | None:
            await flow.discovery.sync_configs()
            return (await flow.settings(flow.remote))["retention.bytes"]

        await eventually_async(followed, until=lambda value: value == "-1")  # C399
        with capture_logs() as logs:
            await flow.discovery.sync_configs()
        assert logs == [], "C423, a bug of old Java: nothing to do, nothing to say"


async def _has(flow: TasklessFlow, wanted: Mapping[str, str]) -> dict[str, str | None]:
    """The settings of the copy once they are as wanted: brokers know of a change a little later."""
    return await eventually_async(
        lambda: flow.settings(flow.remote), until=lambda found: wanted.items() <= found.items()
    )


async def test_the_sources_defaults_are_followed_on_demand(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C179, C398, and C426: Java passes over the key at top level."""
    create_topic(cluster_a.bootstrap, unique)
    async with taskless_flow(cluster_a, cluster_b, unique, {"use.defaults.from": "source"}) as flow:
        await flow.discovery.refresh()
        await eventually_async(flow.clusters.target.list_topics, until=lambda t: flow.remote in t)
        change = AlterConfig(flow.remote, "retention.bytes", ConfigOperation.SET, "2000")
        await flow.clusters.target.incremental_alter_configs([change])
        await _has(flow, {"retention.bytes": "2000"})
        await flow.discovery.sync_configs()
        await _has(flow, {"retention.bytes": "-1"})
        described = await flow.clusters.target.describe_configs([flow.remote])
        (entry,) = [e for e in described[flow.remote] if e.name == "retention.bytes"]
        assert (entry.value, entry.source.value) == ("-1", "DYNAMIC_TOPIC_CONFIG")


async def test_a_topic_is_created_without_the_settings_that_the_target_refuses(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """Java never creates it."""
    topic = CreateTopic(
        name=TopicName(unique),
        partitions=2,
        replication_factor=1,
        configs={"retention.bytes": "1000", "remote.storage.enable": "true"},
    )
    async with taskless_flow(cluster_a, cluster_b, unique) as flow:
        target = flow.clusters.target
        with capture_logs() as logs:
            assert await create_topics(target, [topic]) == {}
        assert [(e["event"], e["key"]) for e in logs] == [
            ("topic_config.not_synced", "remote.storage.enable")
        ]
        await eventually_async(target.list_topics, until=lambda names: unique in names)
        assert (await flow.settings(unique))["retention.bytes"] == "1000"
        hopeless = replace(topic, name=TopicName(f"{unique}-2"), replication_factor=9)
        failures = await create_topics(target, [hopeless])
        assert "INVALID_REPLICATION_FACTOR" in str(failures[hopeless.name])
