"""
Questions about many groups at once, to real brokers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest

from mm2.core.checkpoint import CommittedOffset
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.errors import GroupInUse
from mm2.kafka.group_ports import TargetGroups
from mm2.kafka.groups import Group, GroupState, GroupType
from tests.support.cluster import Cluster
from tests.support.fake_groups import FakeGroups
from tests.support.groups import needs_new_groups
from tests.support.records import create_topic, group_member
from tests.support.share_groups import join_share_group

pytestmark = pytest.mark.broker

Offsets = dict[TopicPartition, CommittedOffset]


@asynccontextmanager
async def _admin(cluster: Cluster) -> AsyncIterator[Admin]:
    admin = Admin(cluster.name, {"bootstrap.servers": cluster.bootstrap})
    try:
        yield admin
    finally:
        await admin.close()


def _offsets(topic: str, partitions: int, first: int) -> Offsets:
    return {
        TopicPartition(TopicName(topic), number): CommittedOffset(first + number, f"note {number}")
        for number in range(partitions)
    }


async def _commit(admin: Admin, groups: Iterable[tuple[str, Offsets]]) -> None:
    slots = asyncio.Semaphore(32)

    async def commit(group: str, offsets: Offsets) -> None:
        async with slots:
            await admin.alter_group_offsets(group, offsets)

    async with asyncio.TaskGroup() as tasks:
        for group, offsets in groups:
            tasks.create_task(commit(group, offsets))


async def test_offsets_of_more_groups_than_fit_a_request_are_those_of_each(
    cluster_a: Cluster, unique: str
) -> None:
    """KIP-709; a group that does not exist has none."""
    topic, count = f"{unique}-t", 120
    create_topic(cluster_a.bootstrap, topic, 3)
    wanted = {f"{unique}-{number}": _offsets(topic, 3, 10 * number) for number in range(count)}
    async with _admin(cluster_a) as admin:
        await _commit(admin, wanted.items())
        found = await admin.list_offsets_of_groups([*wanted, f"{unique}-absent"])
        assert found == {**wanted, f"{unique}-absent": {}}
        some = f"{unique}-7"
        assert await admin.list_group_offsets(some) == wanted[some]


@pytest.mark.parametrize("kind", ["broker", "memory"])
async def test_groups_in_memory_behave_as_those_of_brokers(
    cluster_a: Cluster, unique: str, kind: str
) -> None:
    """What tests of the checkpoint flow rely on."""
    topic, idle, busy = f"{unique}-t", f"{unique}-idle", f"{unique}-busy"
    create_topic(cluster_a.bootstrap, topic)
    offsets = {TopicPartition(TopicName(topic), 0): CommittedOffset(5)}
    async with _admin(cluster_a) as admin:
        with group_member(cluster_a.bootstrap, busy, [topic]):
            fake = FakeGroups("A")
            fake.put(busy, state=GroupState.STABLE)
            groups: TargetGroups = admin if kind == "broker" else fake
            assert await groups.describe_groups([idle]) == {}
            await groups.alter_group_offsets(idle, offsets)
            with pytest.raises(GroupInUse):
                await groups.alter_group_offsets(busy, offsets)
            assert await groups.describe_groups([idle, busy]) == {
                idle: Group(idle, GroupState.EMPTY, GroupType.CLASSIC),
                busy: Group(busy, GroupState.STABLE, GroupType.CLASSIC),
            }
            assert await groups.list_offsets_of_groups([idle, busy]) == {idle: offsets, busy: {}}


@needs_new_groups
async def test_groups_of_all_kinds_are_described_and_told_apart(
    cluster_a: Cluster, unique: str
) -> None:
    """C300, KIP-848: a share group is no consumer group, and an absent one is left out."""
    topic = f"{unique}-t"
    create_topic(cluster_a.bootstrap, topic)
    names = [f"{unique}-{kind}" for kind in ("classic", "consumer", "empty", "share", "absent")]
    classic, consumer, empty, share, absent = names
    async with _admin(cluster_a) as admin:
        await admin.alter_group_offsets(empty, _offsets(topic, 1, 5))
        await join_share_group(cluster_a.bootstrap, share, topic)
        with (
            group_member(cluster_a.bootstrap, classic, [topic]),
            group_member(cluster_a.bootstrap, consumer, [topic], {"group.protocol": "consumer"}),
        ):
            described = await admin.describe_groups(names)
            others = await admin.groups_of_other_types()
            listed = {group.group_id for group in await admin.list_groups()}
    stable = described.pop(consumer)
    assert isinstance(stable, Group)
    assert (stable.state, stable.type) == (GroupState.STABLE, GroupType.CONSUMER)
    assert stable.epoch > 0
    assert described == {
        classic: Group(classic, GroupState.STABLE, GroupType.CLASSIC),
        empty: Group(empty, GroupState.EMPTY, GroupType.CLASSIC),
    }
    assert [(each.group_id, each.type) for each in others if each.group_id in names] == [
        (share, GroupType.SHARE)
    ]
    assert listed.intersection(names) == {classic, consumer, empty}
    assert absent not in listed


@pytest.mark.thorough
@pytest.mark.timeout(600)
async def test_two_thousand_groups_are_asked_about_in_seconds(
    cluster_a: Cluster, unique: str
) -> None:
    """2,000 groups of 50 partitions within 15 s; beside it, what one call a group takes."""
    topic = f"{unique}-t"
    create_topic(cluster_a.bootstrap, topic, 50)
    groups = [f"{unique}-{number}" for number in range(2_000)]
    async with _admin(cluster_a) as admin:
        await _commit(admin, ((group, _offsets(topic, 50, 1)) for group in groups))
        began, used = time.monotonic(), time.process_time()
        together = await admin.list_offsets_of_groups(groups)
        took, cost = time.monotonic() - began, time.process_time() - used
        began, used = time.monotonic(), time.process_time()
        singles = await _one_by_one(admin, groups)
        slower = (time.monotonic() - began) / took
        dearer = (time.process_time() - used) / cost
    print(  # noqa: T201 - the measurement
        f"2,000 groups at once: {took:.1f} s, {cost:.1f} s of our CPU;"
        f" one call a group: {slower:.1f} x the time, {dearer:.1f} x the CPU"
    )
    assert together == singles
    assert took < 15


async def _one_by_one(admin: Admin, groups: list[str]) -> dict[str, Offsets | ClusterError]:
    slots = asyncio.Semaphore(32)

    async def ask(group: str) -> Offsets:
        async with slots:
            return await admin.list_group_offsets(group)

    return dict(zip(groups, await asyncio.gather(*map(ask, groups)), strict=True))
