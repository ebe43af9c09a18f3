"""
The admin client against a real cluster.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial

import pytest
from confluent_kafka import Consumer

from mm2.core.model import TopicName, TopicPartition
from mm2.core.topics.acls import AclBinding, AclOperation, AclPermission, PatternType
from mm2.core.topics.remote_configs import AlterConfig, ConfigOperation, ConfigSource
from mm2.core.topics.topic_plan import CreateTopic, GrowTopic, TopicDescription
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.demo.broker_settings import free_ports
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import GroupInUse, Refused, SecurityDisabled, TopicExists
from mm2.kafka.groups.group_model import Group, GroupState, GroupType
from mm2.kafka.groups.offset_calls import OffsetAt
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually_async
from tests.support.groups import PROTOCOLS
from tests.support.records import (
    Sample,
    commit_group,
    commit_with_metadata,
    create_topic,
    group_member,
    produce,
)

pytestmark = pytest.mark.broker


@pytest.fixture
async def admin(cluster_a: Cluster) -> AsyncIterator[Admin]:
    admin = Admin("A", {"bootstrap.servers": cluster_a.bootstrap, "client.id": "A->B|test|admin"})
    yield admin
    await admin.close()


def _topic(name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> CreateTopic:
    return CreateTopic(
        name=TopicName(name), partitions=partitions, replication_factor=-1, configs=configs or {}
    )


async def test_topics_are_created_described_grown_and_deleted(admin: Admin, unique: str) -> None:
    first, second = TopicName(f"{unique}-1"), TopicName(f"{unique}-2")
    assert await admin.create_topics([_topic(first, 2), _topic(second)]) == {}
    await eventually_async(admin.list_topics, until=lambda names: {first, second} <= names)
    assert await admin.create_partitions([GrowTopic(name=second, partitions=3)]) == {}

    described = await eventually_async(
        lambda: admin.describe_topics([first, second, TopicName("no-such-topic")]),
        until=lambda found: found[second].partitions == 3,
    )
    assert described == {first: TopicDescription(first, 2), second: TopicDescription(second, 3)}

    assert await admin.delete_topics([first, TopicName("no-such-topic")]) == {}
    await eventually_async(lambda: admin.describe_topics([first]), until=lambda found: not found)


async def test_each_topic_has_its_own_failure(admin: Admin, unique: str) -> None:
    good, bad = TopicName(f"{unique}-good"), TopicName(f"{unique}-bad")
    failures = await admin.create_topics([_topic(bad, configs={"no.such": "1"}), _topic(good)])
    assert failures.keys() == {bad}
    assert isinstance(failures[bad], Refused)
    assert not failures[bad].retriable

    again = await admin.create_topics([_topic(good)])
    assert isinstance(again[good], TopicExists)
    shrunk = await admin.create_partitions([GrowTopic(name=good, partitions=1)])
    assert isinstance(shrunk[good], Refused)
    assert "INVALID_PARTITIONS" in str(shrunk[good])


async def test_there_may_be_more_partitions_than_a_controller_takes_in_a_request(
    admin: Admin, unique: str
) -> None:
    many = [_topic(f"{unique}-{number}", 2_500) for number in range(5)]
    assert await admin.create_topics(many, validate_only=True) == {}
    small = [TopicName(f"{unique}-grows-{number}") for number in range(5)]
    assert await admin.create_topics(map(_topic, small)) == {}
    grown = [GrowTopic(name=name, partitions=2_500) for name in small]
    assert await admin.create_partitions(grown, validate_only=True) == {}
    assert await admin.delete_topics(small) == {}


async def test_a_topic_made_anew_has_another_id(admin: Admin, unique: str) -> None:
    name = TopicName(unique)
    ids = []
    for _ in range(2):
        await eventually_async(lambda: admin.create_topics([_topic(name)]), until=lambda f: not f)
        known = await eventually_async(lambda: admin.topic_ids([name]))
        ids.append(known[name])
        await admin.delete_topics([name])
        # The broker that is asked hears of it a little later.
        await eventually_async(lambda: admin.topic_ids([name]), until=lambda found: not found)
    assert ids[0] != ids[1]


async def test_kafkas_own_topics_are_listed_on_demand_only(
    admin: Admin, cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique)
    commit_group(cluster_a.bootstrap, unique, {(unique, 0): 0})
    assert "__consumer_offsets" in await admin.list_topics(internal=True)
    assert "__consumer_offsets" not in await admin.list_topics()


async def test_a_compacted_topic_is_created_once(admin: Admin, unique: str) -> None:
    """C326, C327."""
    create = partial(
        admin.create_internal_topic,
        unique,
        replication_factor=1,
        configs={"cleanup.policy": "compact"},
    )
    assert await create(partitions=2)
    assert not await create(partitions=5)
    name = TopicName(unique)
    described = await eventually_async(lambda: admin.describe_topics([name]))
    assert described[name].partitions == 2
    configs = {entry.name: entry for entry in (await admin.describe_configs([name]))[name]}
    assert configs["cleanup.policy"].value == "compact"


async def test_an_internal_topic_that_cannot_be_is_an_error(admin: Admin, unique: str) -> None:
    """C329."""
    with pytest.raises(Refused, match="INVALID_REPLICATION_FACTOR"):
        await admin.create_internal_topic(unique, partitions=1, replication_factor=7, configs={})


async def test_configs_tell_their_source_and_follow_alterations(admin: Admin, unique: str) -> None:
    name = TopicName(unique)
    await admin.create_topics(
        [_topic(name, configs={"retention.ms": "1000", "max.message.bytes": "99"})]
    )
    changes = [
        AlterConfig(name, "retention.ms", ConfigOperation.SET, "2000"),
        AlterConfig(name, "max.message.bytes", ConfigOperation.DELETE),
        AlterConfig(TopicName("no-such-topic"), "retention.ms", ConfigOperation.SET, "1"),
    ]
    failures = await admin.incremental_alter_configs(changes)
    assert failures.keys() == {"no-such-topic"}

    described = await eventually_async(
        lambda: admin.describe_configs([name, TopicName("no-such-topic")]),
        until=lambda found: "2000" in {entry.value for entry in found[name]},
    )
    assert described.keys() == {name}
    configs = {entry.name: entry for entry in described[name]}
    assert (configs["retention.ms"].value, configs["retention.ms"].source) == (
        "2000",
        ConfigSource.DYNAMIC_TOPIC,
    )
    assert configs["max.message.bytes"].source is ConfigSource.DEFAULT
    assert not configs["retention.ms"].read_only
    assert list(configs) == sorted(configs)


async def test_acls_come_back_as_they_were_created(admin: Admin, unique: str) -> None:
    rules = [
        AclBinding(name=unique, principal="User:alice", operation=AclOperation.READ),
        AclBinding(
            name=unique,
            principal="User:bob",
            operation=AclOperation.WRITE,
            permission=AclPermission.DENY,
            host="10.0.0.1",
            pattern_type=PatternType.PREFIXED,
        ),
    ]
    assert await admin.create_acls(rules) == {}
    assert await admin.create_acls(rules) == {}
    found = await eventually_async(
        admin.describe_topic_acls, until=lambda found: set(rules) <= set(found)
    )
    assert len([rule for rule in found if rule.name == unique]) == 2


async def test_a_rule_that_is_refused_does_not_stop_the_others(admin: Admin, unique: str) -> None:
    good = AclBinding(name=unique, principal="User:a", operation=AclOperation.READ)
    bad = AclBinding(name=unique, principal="no colon", operation=AclOperation.READ)
    assert (await admin.create_acls([good, bad])).keys() == {bad}


async def test_committed_offsets_are_listed_and_altered(
    admin: Admin, cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, partitions=2)
    commit_group(cluster_a.bootstrap, unique, {(unique, 0): 5})
    first, second = (TopicPartition(TopicName(unique), number) for number in (0, 1))
    assert await admin.list_group_offsets(unique) == {first: CommittedOffset(5)}

    altered = {first: CommittedOffset(6), second: CommittedOffset(7)}
    await admin.alter_group_offsets(unique, altered)
    await admin.alter_group_offsets(f"{unique}-new", {second: CommittedOffset(1)})
    assert await admin.list_offsets_of_groups([unique, f"{unique}-new", "no-such-group"]) == {
        unique: altered,
        f"{unique}-new": {second: CommittedOffset(1)},
        "no-such-group": {},
    }
    missing = TopicPartition(TopicName("no-such"), 0)
    with pytest.raises(ClusterError):
        await admin.alter_group_offsets(unique, {missing: CommittedOffset(1)})


async def test_offsets_keep_their_metadata(admin: Admin, cluster_a: Cluster, unique: str) -> None:
    """C290, C305."""
    create_topic(cluster_a.bootstrap, unique, partitions=2)
    await commit_with_metadata(cluster_a.bootstrap, unique, {(unique, 0): (5, "batch \u00fc 7")})
    first, second = (TopicPartition(TopicName(unique), number) for number in (0, 1))
    found = await admin.list_group_offsets(unique)
    assert found == {first: CommittedOffset(5, "batch \u00fc 7")}
    await admin.alter_group_offsets(unique, {second: CommittedOffset(9, "\u4e16")})
    assert await admin.list_group_offsets(unique) == found | {second: CommittedOffset(9, "\u4e16")}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_groups_tell_their_state(
    admin: Admin, cluster_a: Cluster, unique: str, protocol: str
) -> None:
    """C300."""
    create_topic(cluster_a.bootstrap, unique)
    idle, live = f"{unique}-idle", f"{unique}-live"
    commit_group(cluster_a.bootstrap, idle, {(unique, 0): 0})
    settings = {"group.protocol": protocol}
    with group_member(cluster_a.bootstrap, live, [unique], settings) as member:
        await eventually_async(
            lambda: _states(admin, member, [idle, live, "no-such-group"]),
            until=lambda found: found == {idle: GroupState.EMPTY, live: GroupState.STABLE},
        )
        kind = GroupType(protocol.upper())
        assert Group(live, GroupState.STABLE, kind) in await admin.list_groups()
        listed = {group.group_id: group.state for group in await admin.list_groups()}
        assert (listed[idle], listed[live]) == (GroupState.EMPTY, GroupState.STABLE)
        where = TopicPartition(TopicName(unique), 0)
        with pytest.raises(GroupInUse):
            await admin.alter_group_offsets(live, {where: CommittedOffset(1)})


async def _states(admin: Admin, member: Consumer, groups: list[str]) -> dict[str, GroupState]:
    found = {}
    for group_id, group in (await admin.describe_groups(groups)).items():
        assert isinstance(group, Group)
        found[group_id] = group.state
    member.poll(0)
    return found


async def test_offsets_of_partitions(admin: Admin, cluster_a: Cluster, unique: str) -> None:
    create_topic(cluster_a.bootstrap, unique, partitions=2)
    samples = [Sample(value=b"v", timestamp_ms=1_700_000_000_000 + n) for n in range(3)]
    produce(cluster_a.bootstrap, unique, samples)
    full, empty = (TopicPartition(TopicName(unique), number) for number in (0, 1))
    unknown = TopicPartition(TopicName("no-such-topic"), 0)
    everything = [full, empty, unknown]
    assert await admin.list_offsets(everything, OffsetAt.EARLIEST) == {full: 0, empty: 0}
    assert await admin.list_offsets(everything, OffsetAt.LATEST) == {full: 3, empty: 0}
    assert await admin.list_offsets([full, empty], 1_700_000_000_001) == {full: 1, empty: -1}


async def test_an_id_tells_the_clusters_apart(admin: Admin, cluster_b: Cluster) -> None:
    other = Admin("B", {"bootstrap.servers": cluster_b.bootstrap})
    try:
        assert await admin.cluster_id() != await other.cluster_id()
    finally:
        await other.close()


async def test_nobody_there_is_unavailable_within_the_timeout() -> None:
    (port,) = free_ports(1)
    properties = {"bootstrap.servers": f"127.0.0.1:{port}", "default.api.timeout.ms": "1000"}
    admin = Admin("X", properties)
    started = time.monotonic()
    for call in (admin.cluster_id, admin.list_topics):
        with pytest.raises(Unavailable, match="cluster X"):
            await call()
    assert time.monotonic() - started < 30
    await admin.close()


async def test_a_silent_cluster_is_unavailable_and_a_missing_authorizer_is_told() -> None:
    """C190."""
    with KafkaCluster("open", properties={"authorizer.class.name": ""}) as cluster:
        patient = Admin("S", {"bootstrap.servers": cluster.bootstrap})
        with pytest.raises(SecurityDisabled):
            await patient.describe_topic_acls()
        await patient.close()
        create_topic(cluster.bootstrap, "t")
        where = TopicPartition(TopicName("t"), 0)
        admin = Admin(
            "S", {"bootstrap.servers": cluster.bootstrap, "default.api.timeout.ms": "2000"}
        )
        await eventually_async(
            lambda: admin.list_offsets([where], OffsetAt.LATEST),
            until=lambda found: found == {where: 0},
        )
        cluster.pause()
        with pytest.raises(Unavailable):
            await admin.cluster_id()
        with pytest.raises(Unavailable):
            await admin.list_offsets([where], OffsetAt.LATEST)
        cluster.resume()
        assert await eventually_async(lambda: _answers(admin))
        await admin.close()


async def test_questions_about_groups_and_offsets_outlive_restarts_of_the_broker(
    unique: str,
) -> None:
    """Calls that time out while the broker is away harm neither later ones nor the process."""
    with KafkaCluster("coordinator") as cluster:
        create_topic(cluster.bootstrap, unique)
        commit_group(cluster.bootstrap, unique, {(unique, 0): 5})
        timeout = {"default.api.timeout.ms": "2000"}
        admin = Admin("C", {"bootstrap.servers": cluster.bootstrap, **timeout})
        where = TopicPartition(TopicName(unique), 0)
        for offset in (6, 7):
            committed = {where: CommittedOffset(offset)}
            await eventually_async(
                partial(admin.alter_group_offsets, unique, committed), until=lambda _: True
            )
            await asyncio.to_thread(cluster.kill)
            await _all_unavailable(admin, unique)
            await asyncio.to_thread(cluster.restart)
            found = await eventually_async(
                lambda: admin.list_offsets_of_groups([unique]),
                until=lambda found: isinstance(found[unique], dict),
            )
            assert found == {unique: committed}
            groups = await eventually_async(admin.list_groups)
            assert [group.group_id for group in groups] == [unique]
            ends = await eventually_async(lambda: admin.list_offsets([where], OffsetAt.LATEST))
            assert ends == {where: 0}
        await asyncio.to_thread(cluster.kill)
        await _all_unavailable(admin, unique)
        await admin.close()


async def _all_unavailable(admin: Admin, group: str) -> None:
    started = time.monotonic()
    described, committed, *others = await asyncio.gather(
        admin.describe_groups([group]),
        admin.list_offsets_of_groups([group]),
        admin.list_groups(),
        admin.list_offsets([TopicPartition(TopicName(group), 0)], OffsetAt.LATEST),
        return_exceptions=True,
    )
    assert isinstance(described, dict)
    assert isinstance(committed, dict)
    for failure in (described[group], committed[group], *others):
        assert isinstance(failure, Unavailable)
    assert time.monotonic() - started < 30


async def _answers(admin: Admin) -> bool:
    try:
        await admin.cluster_id()
    except Unavailable:
        return False
    return True
