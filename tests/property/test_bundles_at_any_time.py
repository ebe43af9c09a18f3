"""
The bundles of a flow, changed in any order while they run: one copies each partition at any time.

The control topic is a list here, and a bundle's task a few lines that obey it as real tasks do: at
their leisure, and reporting what they have carried out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.balance import Balance, Strategy
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.herder.bundle import BundleSpec
from mm2.herder.bundles import Bundles
from mm2.herder.control import Assignment, BundleState, decode
from mm2.kafka.writer import Writer
from tests.support.virtual_time import run

_ALL = [TopicPartition(TopicName(topic), number) for topic in "ab" for number in range(4)]
_FLOW = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
_SETTLED_S = 60.0


@dataclass
class _Target:
    """The control topic, and the tasks that follow it."""

    random: Random
    records: list[Assignment] = field(default_factory=list)
    running: dict[int, set[TopicPartition]] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    bundles: Bundles | None = None

    async def send(self, _topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        entry = decode(key, value)
        assert isinstance(entry, Assignment)
        await asyncio.sleep(self.random.random() / 10)
        self.records.append(entry)
        return len(self.records) - 1 + partition

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        """A task: its backlog at first, of which the last word counts; then each word."""
        assert spec.index not in self.running, "two tasks of one bundle"
        self.starts.append(spec.index)
        own: set[TopicPartition] = set()
        self.running[spec.index] = own
        seen, started = 0, False
        try:
            while True:
                await asyncio.sleep(self.random.random())
                news = [each for each in self.records[seen:] if each.index == spec.index]
                seen = len(self.records)
                if not news:
                    continue
                # Of the backlog only the last word counts; later, that it is to stop cannot be
                # taken back.
                heard = news if started else news[-1:]
                started = True
                if any(each.state is BundleState.STOPPED for each in heard):
                    await asyncio.sleep(self.random.random())
                    return {}
                await self._obey(spec.index, own, news[-1])
        finally:
            del self.running[spec.index]

    def room(self) -> None:
        """There is no end of it."""

    async def _obey(self, index: int, own: set[TopicPartition], word: Assignment) -> None:
        for gone in own - word.partitions.keys():
            await asyncio.sleep(self.random.random() / 5)
            own.discard(gone)
        for new in word.partitions.keys() - own:
            others = [n for n, held in self.running.items() if n != index and new in held]
            assert not others, f"{new} is copied by {index} and {others}"
            own.add(new)
        assert self.bundles is not None
        await self.bundles.carried_out(index, word.generation)

    def copied(self) -> dict[TopicPartition, int]:
        return {each: index for index, held in self.running.items() for each in held}


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("assign"), st.sets(st.sampled_from(_ALL), min_size=1)),
        st.tuples(st.just("reshape"), st.integers(1, 5)),
        st.tuples(st.just("restart"), st.none() | st.integers(0, 5)),
        st.tuples(st.just("wait"), st.floats(0, 3)),
    ),
    max_size=8,
)


@given(_steps, st.sampled_from(Strategy), st.integers(0, 1 << 30))
def test_each_partition_is_copied_by_one_bundle_and_in_the_end_by_the_wanted_one(
    steps: list[tuple[str, object]], strategy: Strategy, seed: int
) -> None:
    target = _Target(Random(seed))

    async def work() -> None:
        wanted, most = set(_ALL), 3
        async with asyncio.TaskGroup() as group:
            bundles = target.bundles = _bundles(target, strategy, most, group)
            await bundles.assign(_remotes(wanted))
            for kind, what in steps:
                match kind, what:
                    case "assign", set():
                        wanted = what
                        await bundles.assign(_remotes(wanted))
                    case "reshape", int():
                        most = what
                        await bundles.reshape(strategy, most, {})
                    case "restart", _:
                        chosen = [what] if isinstance(what, int) else None
                        group.create_task(bundles.restart(chosen))
                    case _:
                        await asyncio.sleep(cast("float", what))
            await asyncio.sleep(_SETTLED_S)
            copied = target.copied()
            assert copied.keys() == wanted
            assert max(copied.values()) < most
            assert all(target.running.values()), "a bundle with nothing left has ended"
            await bundles.stop()
            assert not target.running

    run(work())


@given(st.integers(0, 1 << 30))
def test_a_restart_starts_each_bundle_once_and_one_at_a_time(seed: int) -> None:
    target = _Target(Random(seed))

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            bundles = target.bundles = _bundles(target, Strategy.LOAD, 3, group)
            await bundles.assign(_remotes(set(_ALL)))
            await asyncio.sleep(5)
            group.create_task(_watch(target, at_least=2))
            await bundles.restart()
            await asyncio.sleep(5)
            assert target.starts == [0, 1, 2, 0, 1, 2]
            assert target.copied().keys() == set(_ALL)
            await bundles.restart([1])
            await asyncio.sleep(5)
            assert target.starts[6:] == [1]
            await bundles.stop()

    run(work())


async def _watch(target: _Target, *, at_least: int) -> None:
    for _ in range(40):
        await asyncio.sleep(0.1)
        assert len(target.running) >= at_least


def _remotes(partitions: set[TopicPartition]) -> dict[TopicPartition, TopicName]:
    return {each: TopicName(f"A.{each.topic}") for each in partitions}


def _bundles(target: _Target, strategy: Strategy, most: int, group: asyncio.TaskGroup) -> Bundles:
    return Bundles(
        target,
        cast("Writer", target),
        spec_of=_spec,
        control_topic="control",
        epoch=1,
        balance=Balance(strategy, most),
        group=group,
    )


def _spec(index: int) -> BundleSpec:
    return BundleSpec(
        flow=_FLOW,
        index=index,
        epoch=1,
        source={},
        target={},
        transactional_id="",
        offsets_topic="",
        offsets_partitions=1,
        control_topic="control",
        progress_topic="",
    )
