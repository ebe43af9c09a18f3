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

from hypothesis import given, settings
from hypothesis import strategies as st

from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.herder.bundles.bundle_assignments import Bundles
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_codec import decode_control
from mm2.protocol.control_records import Assignment, BundleState
from mm2.slot_allocation import FlowSlots, Slots
from tests.support.runners import EndlessRunner
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_ALL = [TopicPartition(TopicName(topic), number) for topic in "ab" for number in range(4)]
_FLOW = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
_SETTLED_S = 60.0


@dataclass
class _Room:
    """What all tasks of a node take up."""

    slots: int = 99
    busy: int = 0


@dataclass
class _Target(EndlessRunner):
    """The control topic, and the tasks that follow it."""

    random: Random
    slots: Slots = field(default_factory=lambda: Slots(None))
    room: _Room = field(default_factory=_Room)
    records: list[Assignment] = field(default_factory=list)
    running: dict[int, set[TopicPartition]] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    bundles: Bundles | None = None
    problems: list[str] = field(default_factory=list)

    async def send(self, _topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        entry = decode_control(key, value)
        assert isinstance(entry, Assignment)
        await asyncio.sleep(self.random.random() / 10)
        self.records.append(entry)
        return len(self.records) - 1 + partition

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        """A task: its backlog at first, of which the last word counts; then each word."""
        self.check(spec.index not in self.running, f"two tasks of bundle {spec.index}")
        self.starts.append(spec.index)
        own: set[TopicPartition] = set()
        self.running[spec.index] = own
        seen, started = 0, False
        self.room.busy += 1
        self.check(self.room.busy <= self.room.slots, "more tasks than slots")
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
            self.room.busy -= 1
            del self.running[spec.index]

    async def start(self) -> None:
        """Takes a while, as Spark does."""
        await asyncio.sleep(0.5)

    async def _obey(self, index: int, own: set[TopicPartition], word: Assignment) -> None:
        for gone in own - word.partitions.keys():
            await asyncio.sleep(self.random.random() / 5)
            own.discard(gone)
        for new in word.partitions.keys() - own:
            others = [n for n, held in self.running.items() if n != index and new in held]
            self.check(not others, f"{new} is copied by {index} and {others}")
            own.add(new)
        assert self.bundles is not None
        await self.bundles.carried_out(index, word.generation)

    def check(self, is_right: bool, what: str) -> None:
        """Takes down what went wrong: an error would only have the task run again."""
        if not is_right:
            self.problems.append(what)

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
    assert target.problems == []


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
    assert target.problems == []


async def _watch(target: _Target, *, at_least: int) -> None:
    for _ in range(40):
        await asyncio.sleep(0.1)
        assert len(target.running) >= at_least


def _remotes(partitions: set[TopicPartition]) -> dict[TopicPartition, TopicName]:
    return {each: TopicName(f"A.{each.topic}") for each in partitions}


@dataclass
class _Flow:
    """A flow that goes by its share of the slots."""

    target: _Target
    wanted: int
    bundles: Bundles | None = None
    is_stopped: bool = False

    def __post_init__(self) -> None:
        self.news = asyncio.Event()
        self.share = self.target.slots.join(changed=self.news.set, refused=lambda *_: None)

    @property
    def most(self) -> int:
        return self.share.most(self.wanted, len(_ALL))

    async def run(self, strategy: Strategy, group: asyncio.TaskGroup) -> None:
        self.bundles = _bundles(self.target, strategy, self.most, group, self.share)
        self.target.bundles = self.bundles
        self.news.clear()
        await self.bundles.assign(_remotes(set(_ALL)))
        while not self.is_stopped:
            await self.news.wait()
            self.news.clear()
            if not self.is_stopped:
                await self.bundles.reshape(strategy, self.most, {})
        await self.bundles.stop()
        self.share.leave()

    def want(self, number: int) -> None:
        self.wanted = number
        self.news.set()

    def stop(self) -> None:
        self.is_stopped = True
        self.news.set()


_flow_steps = st.lists(
    st.one_of(
        st.tuples(st.just("want"), st.integers(0, 1), st.integers(1, 5)),
        st.tuples(st.just("restart"), st.integers(0, 1), st.just(0)),
        st.tuples(st.just("leave or come"), st.integers(0, 1), st.just(0)),
        st.tuples(st.just("wait"), st.just(0), st.integers(0, 3)),
    ),
    max_size=8,
)


@given(_flow_steps, st.integers(1, 5), st.sampled_from(Strategy), st.integers(0, 1 << 30))
@settings(max_examples=40)
def test_flows_with_few_slots_copy_all_they_have_and_never_run_more_bundles_than_there_are_slots(
    steps: list[tuple[str, int, int]], count: int, strategy: Strategy, seed: int
) -> None:
    random, slots, room = Random(seed), Slots(count), _Room(count)
    all_flows: list[_Flow] = []

    def begin(group: asyncio.TaskGroup) -> _Flow:
        flow = _Flow(_Target(random, slots, room), 4)
        all_flows.append(flow)
        group.create_task(flow.run(strategy, group))
        return flow

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            flows: list[_Flow | None] = [begin(group), begin(group)]
            for kind, number, what in steps:
                flow = flows[number]
                match kind:
                    case "want" if flow:
                        flow.want(what)
                    case "restart" if flow and flow.bundles:
                        group.create_task(flow.bundles.restart())
                    case "leave or come" if flow:
                        flow.stop()
                        flows[number] = None
                    case "leave or come":
                        flows[number] = begin(group)
                    case _:
                        await asyncio.sleep(what)
            await asyncio.sleep(_SETTLED_S)
            here = [flow for flow in flows if flow]
            granted = [flow.share.request(flow.wanted) for flow in here]
            assert [len(flow.target.running) for flow in here] == granted
            for flow in (flow for flow, number in zip(here, granted, strict=True) if number):
                assert flow.target.copied().keys() == set(_ALL)
            for flow in here:
                flow.stop()

    run(work())
    assert [problem for flow in all_flows for problem in flow.target.problems] == []


def _bundles(
    target: _Target,
    strategy: Strategy,
    most: int,
    group: asyncio.TaskGroup,
    slots: FlowSlots | None = None,
) -> Bundles:
    none = target.slots.join(changed=lambda: None, refused=lambda *_: None)
    return Bundles(
        target,
        cast("Writer", target),
        slots=slots or none,
        spec_of=_spec,
        control_topic="control",
        epoch=1,
        balance=Balance(strategy, most),
        group=group,
    )


def _spec(index: int) -> BundleSpec:
    return sample_spec(flow=_FLOW, index=index, control_topic="control")
