"""
What the source flow does to topics of the target: behaviours 5.3, 5.5, 5.6 and what goes beyond.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from structlog.testing import capture_logs

from mm2.config.flow import FlowConfig, flow_config
from mm2.config.maker import MirrorMakerConfig
from mm2.core.acls import AclBinding, AclOperation, AclPermission, PatternType
from mm2.core.configs import AlterConfig, ConfigOperation
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.plan import CreateTopic, GrowTopic
from mm2.herder.bundle import BundleSpec
from mm2.herder.clusters import FlowClusters, admin_clients
from mm2.herder.discovery import Discovery
from mm2.herder.election import NodeShare
from mm2.herder.leading import FlowLeading
from mm2.herder.positions import PositionStore
from mm2.herder.source import SourceFlow
from mm2.herder.topic_settings import alter_configs, create_topics
from mm2.herder.topics import create_internal_topics
from mm2.kafka.admin import Admin
from mm2.kafka.errors import Refused
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually_async
from tests.support.layout import Security
from tests.support.mirror import QUICK
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

_ALICE = "User:alice"


@dataclass(frozen=True)
class _Flow:
    """A flow without tasks: its control side looks when it is told to."""

    config: FlowConfig
    clusters: FlowClusters
    discovery: Discovery
    topic: str

    @property
    def alias(self) -> str:
        return self.config.flow.source

    @property
    def remote(self) -> TopicName:
        return TopicName(f"{self.alias}.{self.topic}")

    async def settings(self, topic: str) -> dict[str, str | None]:
        described = await self.clusters.target.describe_configs([TopicName(topic)])
        return {entry.name: entry.value for entry in described[TopicName(topic)]}

    async def rules(self, prefix: str = "") -> set[AclBinding]:
        found = await self.clusters.target.describe_topic_acls()
        return {rule for rule in found if rule.name.startswith(f"{self.alias}.{prefix}")}

    async def begin(self) -> None:
        """Looks until the topic has its copy: brokers may take a moment to know of a new one."""

        async def looked() -> set[TopicName]:
            await self.look(1)
            return await self.clusters.target.list_topics()

        await eventually_async(looked, until=lambda names: self.remote in names)

    async def look(self, times: int) -> None:
        for _ in range(times):
            await self.discovery.refresh()
            await self.discovery.delete_orphans()

    async def delete_source(self, name: str) -> None:
        source = self.clusters.source
        await source.delete_topics([TopicName(name)])
        await eventually_async(source.list_topics, until=lambda names: name not in names)


@asynccontextmanager
async def _flow(
    source: Cluster, target: Cluster, unique: str, settings: dict[str, str] | None = None
) -> AsyncIterator[_Flow]:
    alias = f"S{unique[-8:]}"
    raw = {
        "clusters": f"{alias}, T",
        f"{alias}.bootstrap.servers": source.bootstrap,
        "T.bootstrap.servers": target.bootstrap,
        f"{alias}->T.enabled": "true",
        "topics": f"{unique}.*",
        "heartbeats.replication.enabled": "false",
        **QUICK,
        **(settings or {}),
    }
    flow = SourceAndTarget(ClusterAlias(alias), ClusterAlias("T"))
    config = flow_config(MirrorMakerConfig(raw=raw), flow)
    async with admin_clients(config) as clusters:
        discovery = Discovery(config, clusters)
        await create_internal_topics(config, discovery.policy, clusters, on_source=False)
        yield _Flow(config, clusters, discovery, unique)


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
    async with _flow(cluster_a, cluster_b, unique) as flow:
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
    async with _flow(cluster_a, cluster_b, unique, exclude) as flow:
        await flow.discovery.refresh()
        await eventually_async(flow.clusters.target.list_topics, until=lambda t: flow.remote in t)
        created = await flow.settings(flow.remote)
        assert (created["retention.bytes"], created["delete.retention.ms"]) == ("1000", "86400000")

        by_hand = [
            AlterConfig(flow.remote, name, ConfigOperation.SET, "2000")
            for name in ("retention.bytes", "delete.retention.ms", "max.message.bytes")
        ]
        assert await flow.clusters.target.incremental_alter_configs(by_hand) == {}
        await flow.discovery.sync_configs()
        synced = await flow.settings(flow.remote)
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


async def test_the_sources_defaults_are_followed_on_demand(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C179, C398, and C426: Java passes over the key at top level."""
    create_topic(cluster_a.bootstrap, unique)
    async with _flow(cluster_a, cluster_b, unique, {"use.defaults.from": "source"}) as flow:
        await flow.discovery.refresh()
        await eventually_async(flow.clusters.target.list_topics, until=lambda t: flow.remote in t)
        change = AlterConfig(flow.remote, "retention.bytes", ConfigOperation.SET, "2000")
        await flow.clusters.target.incremental_alter_configs([change])
        await flow.discovery.sync_configs()
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
    async with _flow(cluster_a, cluster_b, unique) as flow:
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


async def test_partitions_grow_and_never_shrink(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C164, C166, C168, C410."""
    names = [f"{unique}-{n}" for n in range(2)]
    create_topic(cluster_a.bootstrap, names[0], 1)
    create_topic(cluster_a.bootstrap, names[1], 1)
    async with _flow(cluster_a, cluster_b, unique) as flow:
        remotes = [TopicName(f"{flow.alias}.{name}") for name in names]
        create_topic(cluster_b.bootstrap, remotes[1], 4)
        assigned = await flow.discovery.refresh()
        assert len(assigned) == 2
        await flow.clusters.source.create_partitions(
            [GrowTopic(name=TopicName(names[0]), partitions=3)]
        )
        assigned = await eventually_async(flow.discovery.refresh, until=lambda a: len(a) == 4)
        target = await eventually_async(
            lambda: flow.clusters.target.describe_topics(remotes),
            until=lambda found: found[remotes[0]].partitions == 3,
        )
        assert target[remotes[1]].partitions == 4
        assert {p.partition for p in assigned if p.topic == names[0]} == {0, 1, 2}


async def test_a_topic_that_cannot_be_created_is_tried_again_and_the_others_are_copied(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C167, C433: Java says that all is well."""
    create_topic(cluster_a.bootstrap, unique)
    create_topic(cluster_a.bootstrap, f"{unique}-2")
    async with _flow(cluster_a, cluster_b, unique, {"replication.factor": "2"}) as flow:
        create_topic(cluster_b.bootstrap, f"{flow.alias}.{unique}-2")
        for _ in range(2):
            with capture_logs() as logs:
                assigned = await flow.discovery.refresh()
            assert [each.topic for each in assigned] == [f"{unique}-2"]
            assert not flow.discovery.is_complete
            (warning,) = [e for e in logs if e["event"] == "remote_topic.not_created"]
            assert warning["topic"] == flow.remote
            assert "INVALID_REPLICATION_FACTOR" in warning["error"]


async def test_replicas_are_those_of_the_source_on_demand(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique)
    settings = {"replication.factor": "-1", "replication.factor.default.from": "source"}
    async with _flow(cluster_a, cluster_b, unique, settings) as flow:
        source = await flow.clusters.source.describe_topics([TopicName(unique)])
        assert source[TopicName(unique)].replicas == 1
        assert await flow.discovery.refresh()


def _rule(name: str, operation: AclOperation, **more: object) -> AclBinding:
    return AclBinding(name=name, principal=_ALICE, operation=operation, **more)  # type: ignore[arg-type]


async def test_rules_that_the_source_lost_go_on_demand_and_others_stay(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C186-C191, C413: Java never deletes a rule."""
    create_topic(cluster_a.bootstrap, unique)
    read, describe, deny = (
        _rule(unique, AclOperation.READ),
        _rule(unique, AclOperation.DESCRIBE),
        _rule(unique, AclOperation.WRITE, permission=AclPermission.DENY),
    )
    on = {"sync.topic.acls.delete.enabled": "true"}
    async with _flow(cluster_a, cluster_b, unique, on) as flow:
        source, target = flow.clusters.source, flow.clusters.target
        await flow.discovery.refresh()
        await source.create_acls([read, describe, deny])
        own = _rule(flow.remote, AclOperation.ALTER_CONFIGS)
        await target.create_acls([own])
        await eventually_async(source.describe_topic_acls, until=lambda r: deny in r)
        await flow.discovery.sync_acls()
        copies = {_on(flow, rule) for rule in (read, describe, deny)}
        await eventually_async(flow.rules, until=lambda rules: rules == {*copies, own})
        assert await source.delete_acls([read]) == {}
        await eventually_async(source.describe_topic_acls, until=lambda r: read not in r)
    # What is remembered outlives the process.
    async with _flow(cluster_a, cluster_b, unique, on) as flow:
        await flow.discovery.refresh()
        with capture_logs() as logs:
            await flow.discovery.sync_acls()
        assert [e["event"] for e in logs] == ["topic_acl.deleted"]
        rest = {_on(flow, describe), _on(flow, deny), own}
        await eventually_async(flow.rules, until=lambda rules: rules == rest)
        await flow.clusters.source.delete_acls([describe, deny])
        await flow.clusters.target.delete_acls(sorted(rest))


def _on(flow: _Flow, rule: AclBinding) -> AclBinding:
    return AclBinding(
        name=f"{flow.alias}.{rule.name}",
        principal=rule.principal,
        operation=rule.operation,
        permission=rule.permission,
        pattern_type=rule.pattern_type,
    )


async def test_rules_stay_by_default_and_rules_of_prefixes_are_passed_over(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C186, C191, C413, C414."""
    create_topic(cluster_a.bootstrap, unique)
    read = _rule(unique, AclOperation.READ)
    prefixed = _rule(unique[:-2], AclOperation.ALL, pattern_type=PatternType.PREFIXED)
    async with _flow(cluster_a, cluster_b, unique) as flow:
        source = flow.clusters.source
        await flow.discovery.refresh()
        await source.create_acls([read, prefixed])
        await eventually_async(source.describe_topic_acls, until=lambda r: prefixed in r)
        await flow.discovery.sync_acls()
        await eventually_async(flow.rules, until=lambda rules: rules == {_on(flow, read)})
        await source.delete_acls([read])
        await eventually_async(source.describe_topic_acls, until=lambda r: read not in r)
        await flow.discovery.sync_acls()
        assert await flow.rules() == {_on(flow, read)}
    async with _flow(
        cluster_a, cluster_b, unique, {"sync.topic.acls.prefixed.enabled": "true"}
    ) as flow:
        await flow.discovery.refresh()
        await flow.discovery.sync_acls()
        expected = _rule(
            f"{flow.alias}.{unique[:-2]}", AclOperation.READ, pattern_type=PatternType.PREFIXED
        )
        await eventually_async(flow.rules, until=lambda rules: expected in rules)
        await flow.clusters.source.delete_acls([prefixed])
        await flow.clusters.target.delete_acls(sorted(await flow.rules()))


_DELETING = {"source.topic.deleted.policy": "delete", "refresh.topics.interval.seconds": "1"}


async def test_a_deleted_topics_copy_stays_by_default(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """C166, C413."""
    create_topic(cluster_a.bootstrap, unique)
    async with _flow(cluster_a, cluster_b, unique) as flow:
        await flow.begin()
        await flow.delete_source(unique)
        await flow.look(4)
        assert flow.remote in await flow.clusters.target.list_topics()


async def test_a_deleted_topics_copy_goes_on_demand_with_its_positions(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    other = f"{unique}-other"
    for name in (unique, other):
        create_topic(cluster_a.bootstrap, name)
    async with _flow(cluster_a, cluster_b, unique, _DELETING) as flow:
        await flow.begin()
        store = PositionStore(flow.config)
        positions = {TopicPartition(TopicName(name), 0): 7 for name in (unique, other)}
        await store.save({**positions})
        await flow.delete_source(unique)
        await flow.look(2)
        assert flow.remote in await flow.clusters.target.list_topics()
    # A restart remembers what was mirrored, and counts anew.
    async with _flow(cluster_a, cluster_b, unique, _DELETING) as flow:
        await eventually_async(
            flow.clusters.target.list_topics, until=lambda names: flow.remote in names
        )

        async def looked() -> set[TopicName]:
            await flow.look(1)
            return await flow.clusters.target.list_topics()

        await eventually_async(looked, until=lambda names: flow.remote not in names)
        assert f"{flow.alias}.{other}" in await flow.clusters.target.list_topics()
        assert await PositionStore(flow.config).load() == {TopicPartition(TopicName(other), 0): 7}


async def test_a_copy_stays_if_the_source_is_another_cluster(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """A name that leads to another cluster must not delete what the first one had."""
    create_topic(cluster_a.bootstrap, unique)
    async with _flow(cluster_a, cluster_b, unique, _DELETING) as flow:
        await flow.begin()
        remote = flow.remote
    async with _flow(cluster_b, cluster_b, unique, _DELETING) as flow:
        with capture_logs() as logs:
            await flow.look(4)
        (error,) = [e for e in logs if e["event"] == "remote_topic.not_deleted"]
        assert "another cluster" in error["reason"]
        assert remote in await flow.clusters.target.list_topics()


async def test_a_copy_stays_if_the_topic_is_hidden_from_us(cluster_b: Cluster, unique: str) -> None:
    """Lists leave out what we may not see: that is not the same as being gone."""
    with KafkaCluster("hiding", security=Security(users={"alice": "secret"})) as hiding:
        create_topic(hiding.bootstrap, unique)
        create_topic(hiding.bootstrap, f"{unique}-2")
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        alias = f"S{unique[-8:]}"
        settings = {
            **_DELETING,
            f"{alias}.bootstrap.servers": hiding.listeners("SASL_PLAINTEXT"),
            f"{alias}.security.protocol": "SASL_PLAINTEXT",
            f"{alias}.sasl.mechanism": "PLAIN",
            f"{alias}.sasl.jaas.config": f'{module} required username="alice" password="secret";',
        }
        owner = Admin("S", {"bootstrap.servers": hiding.bootstrap})
        async with _flow(hiding, cluster_b, unique, settings) as flow:
            await flow.begin()
            await _settings_that_may_not_be_read_stop_one_topic_only(hiding, owner, flow)
            bob = AclBinding(name=unique, principal="User:bob", operation=AclOperation.READ)
            await owner.create_acls([bob])
            await owner.close()
            source = flow.clusters.source
            await eventually_async(source.list_topics, until=lambda names: unique not in names)

            async def kept() -> list[str]:
                with capture_logs() as logs:
                    await flow.look(1)
                return [e["reason"] for e in logs if e["event"] == "remote_topic.not_deleted"]

            (reason,) = await eventually_async(kept)
            assert "TOPIC_AUTHORIZATION_FAILED" in reason
            assert flow.remote in await flow.clusters.target.list_topics()


async def _settings_that_may_not_be_read_stop_one_topic_only(
    cluster: Cluster, owner: Admin, flow: _Flow
) -> None:
    """C184: Java then creates none of the topics that are new."""
    secret, open_ = TopicName(f"{flow.topic}-secret"), TopicName(f"{flow.topic}-open")
    create_topic(cluster.bootstrap, secret)
    create_topic(cluster.bootstrap, open_)
    await owner.create_acls([_rule(secret, AclOperation.READ)])
    await eventually_async(owner.describe_topic_acls)
    with capture_logs() as logs:
        assigned = await eventually_async(
            flow.discovery.refresh, until=lambda a: TopicPartition(open_, 0) in a
        )
    assert TopicPartition(secret, 0) not in assigned
    assert {e["topic"] for e in logs if e["event"] == "remote_topic.not_created"} == {secret}


async def test_one_cluster_under_two_names_is_not_copied_without_end(
    cluster_a: Cluster, unique: str
) -> None:
    """C418: Java goes on to A.A.A.topic."""
    create_topic(cluster_a.bootstrap, unique)
    async with _flow(cluster_a, cluster_a, unique, {"topics": f".*{unique}"}) as flow:
        assert [each.topic for each in await flow.discovery.refresh()] == [unique]
        await eventually_async(flow.clusters.source.list_topics, until=lambda t: flow.remote in t)
        with capture_logs() as logs:
            assert [each.topic for each in await flow.discovery.refresh()] == [unique]
        (error,) = [e for e in logs if e["event"] == "flow.mirrors_itself"]
        assert flow.remote in error["topics"]


class _Idle:
    """Runs bundles that do nothing."""

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        await asyncio.Event().wait()
        return {}


@pytest.mark.parametrize("switch", ["true", "false"])
async def test_jobs_run_at_their_intervals_or_not_at_all(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, switch: str
) -> None:
    """C105, C149: the first look at topics is taken in any case."""
    create_topic(cluster_a.bootstrap, unique)
    jobs = ("refresh.topics", "sync.topic.configs", "sync.topic.acls")
    settings = {f"{job}.enabled": switch for job in jobs}
    settings |= {f"{job}.interval.seconds": "1" for job in jobs}
    async with _flow(cluster_a, cluster_b, unique, settings) as flow:
        source, target = flow.clusters.source, flow.clusters.target
        leader = FlowLeading(
            flow.config,
            node="test",
            share=NodeShare(could=frozenset({str(flow.config.flow)})),
            work=lambda term: SourceFlow(flow.config, flow.clusters, _Idle(), term).run(),
        )
        second = TopicName(f"{flow.remote}-2")
        rule = _rule(unique, AclOperation.READ)

        async def followed() -> tuple[bool, bool, bool]:
            configs = await flow.settings(flow.remote)
            is_known = second in await target.list_topics()
            return is_known, configs["retention.bytes"] == "7", bool(await flow.rules())

        async with asyncio.TaskGroup() as group:
            running = group.create_task(leader.run())
            await eventually_async(target.list_topics, until=lambda names: flow.remote in names)
            await asyncio.sleep(0.5)  # the first sync, where there is one, is over
            create_topic(cluster_a.bootstrap, f"{unique}-2")
            change = AlterConfig(TopicName(unique), "retention.bytes", ConfigOperation.SET, "7")
            await source.incremental_alter_configs([change])
            await source.create_acls([rule])
            if switch == "true":
                await eventually_async(followed, until=all)
            else:
                await asyncio.sleep(2.5)
                assert await followed() == (False, False, False)
            running.cancel()
        await source.delete_acls([rule])
        await target.delete_acls(sorted(await flow.rules()))


async def test_a_copy_stays_if_the_topic_was_excluded_before_it_was_deleted(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique)
    async with _flow(cluster_a, cluster_b, unique, _DELETING) as flow:
        await flow.begin()
    settings = {**_DELETING, "topics.exclude": unique}
    async with _flow(cluster_a, cluster_b, unique, settings) as flow:
        await flow.begin()
        await flow.delete_source(unique)
        await flow.look(4)
        assert flow.remote in await flow.clusters.target.list_topics()
