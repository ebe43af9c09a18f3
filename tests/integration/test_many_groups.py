"""
Questions about many groups at once, to real brokers.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest

from flows.checkpoint.checkpoint_reporter import Latencies
from flows.checkpoint.checkpoint_store import CheckpointStore
from flows.checkpoint.emission import CheckpointSelector, Emission, Found
from flows.checkpoint.followed_groups import FollowedGroups
from flows.checkpoint.group_offset_sync import GroupOffsetSync
from flows.checkpoint.outbox import CheckpointOutbox
from mm2.core.filters import build_group_filter, build_topic_filter
from mm2.core.internal_records import OffsetSync
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import CommittedOffset, Renaming
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import OffsetTranslation, RunStore
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import Block, Logs, Run, Runs
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import GroupInUse
from mm2.kafka.groups.group_model import Group, GroupState, GroupType
from mm2.kafka.groups.protocols import TargetGroups
from tests.support.checkpointing import Pair, make_pair
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.fake_groups import FakeGroups
from tests.support.groups import needs_new_groups
from tests.support.newer_groups import join_share_group, join_streams_group
from tests.support.records import Sample, create_topic, group_member, produce

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
    """C300, KIP-848: share and streams groups are others, and an absent one is left out."""
    topic = f"{unique}-t"
    create_topic(cluster_a.bootstrap, topic)
    kinds = ("classic", "consumer", "empty", "share", "streams", "absent")
    names = [f"{unique}-{kind}" for kind in kinds]
    classic, consumer, empty, share, streams, absent = names
    async with _admin(cluster_a) as admin:
        await admin.alter_group_offsets(empty, _offsets(topic, 1, 5))
        await join_share_group(cluster_a.bootstrap, share, topic)
        await join_streams_group(cluster_a.bootstrap, streams, topic)
        with (
            group_member(cluster_a.bootstrap, classic, [topic]),
            group_member(cluster_a.bootstrap, consumer, [topic], {"group.protocol": "consumer"}),
        ):
            # A member of the new protocol has its partitions before it has said so.
            described = await eventually_async(
                lambda: admin.describe_groups(names),
                until=lambda found: _is_stable(found[consumer]),
            )
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
    assert {(each.group_id, each.type) for each in others if each.group_id in names} == {
        (share, GroupType.SHARE),
        (streams, GroupType.STREAMS),
    }
    assert listed.intersection(names) == {classic, consumer, empty}
    assert absent not in listed


def _is_stable(group: Group | ClusterError) -> bool:
    return isinstance(group, Group) and group.state is GroupState.STABLE


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


@pytest.mark.thorough
@pytest.mark.timeout(600)
async def test_a_whole_round_of_two_thousand_groups_takes_seconds(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Listing 2,000 groups of 50 partitions, their 100,000 checkpoints, and their offsets there."""
    parts = _Parts()
    async with _admin(cluster_a) as source, _admin(cluster_b) as target:
        admins = _Timed(source, parts), _Timed(target, parts)
        round_ = await _round(admins, (cluster_a, cluster_b), unique, tmp_path, parts)
        took = {name: await _timed(job, parts) for name, job in round_.jobs()}
        await round_.outbox.close()
        assert len(round_.groups.current) == _MANY
        group = f"{unique}-g-7"
        remote = TopicName(f"{round_.pair.config.flow.source}.{round_.pair.topic}")
        assert await target.list_group_offsets(group) == _offsets(remote, 50, 1)
    for name, cost in took.items():
        print(f"{name}: {cost}")  # noqa: T201 - the measurement
    whole = sum(took[name].wall_s for name in ("refresh", "emit", "sync"))
    print(f"2,000 groups of 50 partitions, a whole round: {whole:.1f} s")  # noqa: T201
    # Seconds of our own CPU: unlike those that pass, they do not count how long the brokers take,
    # or how long others have the machine. A quiet one takes 5.8 for the first two, 11.6 for all.
    assert took["refresh"].cpu_s + took["emit"].cpu_s < 10, "15 s are asked"
    assert sum(took[name].cpu_s for name in ("refresh", "emit", "sync")) < 15, "15 s are asked"
    assert sum(cost.cpu_s for cost in took.values()) < 20


_MANY = 2_000


@dataclass(frozen=True)
class _Round:
    """What the flow of checkpoints does for its groups."""

    pair: Pair
    groups: FollowedGroups
    emission: Emission
    outbox: CheckpointOutbox
    sync: GroupOffsetSync

    def jobs(self) -> list[tuple[str, Callable[[], Awaitable[None]]]]:
        return [
            ("refresh", self.groups.refresh),
            ("emit", self.emission.round),
            ("sync", self.sync.round),
            ("emit again", self.emission.round),
            ("sync again", self.sync.round),
        ]


@dataclass(frozen=True)
class _Cost:
    """What one job took, as a whole and in parts."""

    wall_s: float
    cpu_s: float
    parts: dict[str, float]

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.parts.items())
        return f"{self.wall_s:.1f} s, of our CPU {self.cpu_s:.1f} s ({parts})"


class _Parts:
    """For how long each part was under way, whether once or many times together."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        if not self._under_way[name]:
            self.seconds[name] = self.seconds.get(name, 0) - time.monotonic()
        self._under_way[name] += 1
        yield
        self._under_way[name] -= 1
        if not self._under_way[name]:
            self.seconds[name] += time.monotonic()


class _Timed:
    """An admin client whose calls are parts."""

    def __init__(self, admin: Admin, parts: _Parts) -> None:
        self._admin = admin
        self._parts = parts

    def __getattr__(self, name: str) -> Callable[..., Awaitable[object]]:
        call = getattr(self._admin, name)

        async def timed(*arguments: object) -> object:
            with self._parts.part(name):
                return await call(*arguments)

        return timed


class _TimedChoice(CheckpointSelector):
    parts: _Parts

    def found(
        self, group: GroupId, committed: Mapping[TopicPartition, CommittedOffset]
    ) -> list[Found]:
        with self.parts.part("translate"):
            return super().found(group, committed)


class _TimedOutbox(CheckpointOutbox):
    parts: _Parts

    async def write(self) -> int:
        with self.parts.part("write checkpoints"):
            return await super().write()


async def _round(
    admins: tuple[_Timed, _Timed],
    clusters: tuple[Cluster, Cluster],
    unique: str,
    folder: Path,
    parts: _Parts,
) -> _Round:
    (source, target), (a, b) = (cast("tuple[Admin, Admin]", admins), clusters)
    settings = {"topics": f"{unique}-t", "groups": f"{unique}-g.*"}
    pair = replace(make_pair(a, b, unique, folder, settings), topic=f"{unique}-t")
    create_topic(a.bootstrap, pair.topic, 50)
    create_topic(b.bootstrap, pair.remote, 50)
    create_topic(b.bootstrap, pair.checkpoints)
    samples = [Sample(value=b"x", partition=number) for number in range(50) for _ in range(60)]
    produce(b.bootstrap, pair.remote, samples)
    groups = [f"{unique}-g-{number}" for number in range(_MANY)]
    await _commit(source, ((group, _offsets(pair.topic, 50, 1)) for group in groups))
    checkpoint, flow = pair.config.checkpoint, pair.config.flow
    topic_filter = build_topic_filter(checkpoint.properties)
    followed = FollowedGroups(
        source,
        group_filter=build_group_filter(checkpoint.properties),
        topic_filter=topic_filter,
        interval=None,
    )
    store = CheckpointStore()
    properties = {"bootstrap.servers": b.bootstrap}
    outbox = _TimedOutbox(
        flow.target, properties, pair.checkpoints, store, on_written=Latencies().written
    )
    renaming = Renaming(flow, build_policy(checkpoint.properties), topic_filter)
    choice = _TimedChoice(renaming, _exact_runs(pair.topic, await pair.logs()), store)
    choice.parts = outbox.parts = parts
    emission = Emission(source, target, groups=followed, choice=choice, outbox=outbox)
    return _Round(pair, followed, emission, outbox, GroupOffsetSync(target, followed, store))


def _exact_runs(topic: str, logs: Logs) -> OffsetTranslation:
    syncs, runs = OffsetSyncStore(must_read_to_end=False), RunStore()
    for number in range(50):
        where = TopicPartition(TopicName(topic), number)
        for start in range(0, 60, 2):
            block = Block(start, start + 2, Runs([Run(start, start, 2)]), logs)
            runs.handle(encode_key(where, start), encode_value(block))
        syncs.handle(OffsetSync(where, 0, 0))
    syncs.backlog_read()
    runs.backlog_read()
    return OffsetTranslation(syncs, runs)


async def _timed(job: Callable[[], Awaitable[None]], parts: _Parts) -> _Cost:
    parts.seconds.clear()
    began, used = time.monotonic(), time.process_time()
    await job()
    return _Cost(time.monotonic() - began, time.process_time() - used, dict(parts.seconds))
