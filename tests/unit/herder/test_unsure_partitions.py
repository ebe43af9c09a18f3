"""What a bundle's next task is told about the one before it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

import pytest

from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.model import TopicName, TopicPartition
from mm2.herder.bundles.bundle_assignments import Bundles
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_codec import decode_control
from mm2.protocol.control_records import Assignment
from tests.support.runners import EndlessRunner
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_PARTITION = TopicPartition(TopicName("t"), 3)
_REMOTE = TopicName("A.t")


class _Runner(EndlessRunner):
    """Runs tasks that end in turn as they should, or with an error."""

    def __init__(self, *endings: bool, is_there: bool = True, drains: bool = True) -> None:
        super().__init__()
        self._is_there = is_there
        self._drains = drains
        self._endings = list(endings)
        self.unsure: list[tuple[TopicPartition, ...]] = []
        self.last: Assignment | None = None
        self.done = asyncio.Event()

    async def start(self) -> None:
        if not self._is_there:
            self.done.set()
            await asyncio.get_running_loop().create_future()

    async def send(self, _topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        entry = decode_control(key, value)
        assert isinstance(entry, Assignment)
        self.last = entry
        return partition

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        self.unsure.append(spec.unsure)
        if not self._endings:
            self.done.set()
            await asyncio.get_running_loop().create_future()
        if not self._endings.pop(0):
            raise OSError("the worker is lost")
        return {"drained": int(self._drains)}


def _run(
    *endings: bool,
    is_there: bool = True,
    drains: bool = True,
    writable: Mapping[int, set[TopicPartition]] | None = None,
) -> _Runner:
    async def work() -> _Runner:
        runner = _Runner(*endings, is_there=is_there, drains=drains)
        async with asyncio.TaskGroup() as group:
            bundles = Bundles(
                runner,
                cast("Writer", runner),
                slots=runner.slots.join(changed=lambda: None, refused=lambda *_: None),
                spec_of=lambda index: sample_spec(index=index),
                control_topic="control",
                epoch=3,
                balance=Balance(Strategy.LOAD, 1),
                writable=writable,
                group=group,
            )
            await bundles.assign({_PARTITION: _REMOTE})
            await runner.done.wait()
            await bundles.stop()
        return runner

    return run(work())


def test_after_a_task_that_is_lost_the_next_one_knows_what_it_may_still_write_to() -> None:
    runner = _run(False, True)
    lost = (TopicPartition(_REMOTE, 3),)
    assert runner.unsure == [(), lost, ()]


def test_after_a_task_that_ends_without_having_drained_the_next_one_knows_it() -> None:
    """Nothing is fenced where it was told to stop while it connected."""
    earlier = TopicPartition(TopicName("A.earlier"), 0)
    runner = _run(True, drains=False, writable={0: {earlier}})
    first, second = runner.unsure
    assert earlier in first
    assert set(first) <= set(second)
    assert runner.last is not None
    assert not runner.last.is_drained


def test_a_task_that_could_not_be_heard_to_end_is_not_said_to_have_drained() -> None:
    runner = _run()
    assert runner.last is not None
    assert not runner.last.is_drained


def test_a_task_knows_what_could_not_be_fenced_when_its_leader_began() -> None:
    earlier = TopicPartition(TopicName("A.earlier"), 0)
    runner = _run(True, writable={0: {earlier}})
    first, second = runner.unsure
    assert earlier in first
    assert second == ()


@pytest.mark.parametrize("is_fenced", [True, False])
def test_a_bundle_that_never_started_has_drained_only_if_earlier_tasks_are_fenced(
    is_fenced: bool,
) -> None:
    earlier = TopicPartition(TopicName("A.earlier"), 0)
    runner = _run(is_there=False, writable={} if is_fenced else {0: {earlier}})
    assert runner.last is not None
    assert runner.last.is_drained is is_fenced
