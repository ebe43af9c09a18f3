"""What was written late over an assignment is written over again, and does not count meanwhile."""

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
from mm2.protocol.control_records import Assignment, BundleState
from tests.support.runners import EndlessRunner
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_PARTITION = TopicPartition(TopicName("t"), 0)
_REMOTE = TopicName("A.t")


class _Topic(EndlessRunner):
    """A control topic, and tasks that only wait."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Assignment] = []
        self.generations: list[int] = []
        self.began = asyncio.Event()
        self.stopped = asyncio.Event()

    async def send(self, _topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        entry = decode_control(key, value)
        assert isinstance(entry, Assignment)
        if entry.state is BundleState.STOPPED:
            self.stopped.set()
        else:
            self.written.append(entry)
        return partition

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        self.generations.append(spec.generation)
        self.began.set()
        await self.stopped.wait()
        return {}


def _assignment(*, index: int = 0, epoch: int, generation: int) -> Assignment:
    return Assignment(index=index, epoch=epoch, generation=generation, state=BundleState.RUNNING)


@pytest.mark.parametrize(
    ("late", "times"),
    [
        ([_assignment(epoch=2, generation=9)], 2),
        ([_assignment(epoch=3, generation=1), _assignment(epoch=3, generation=0)], 2),
        ([_assignment(epoch=3, generation=0), _assignment(epoch=3, generation=1)], 1),
        ([_assignment(index=7, epoch=2, generation=9)], 1),
    ],
    ids=["of-an-older-leader", "written-twice", "in-order", "of-nobody"],
)
def test_an_overwritten_assignment_is_written_again(late: list[Assignment], times: int) -> None:
    topic = _Topic()

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            bundles = Bundles(
                topic,
                cast("Writer", topic),
                slots=topic.slots.join(changed=lambda: None, refused=lambda *_: None),
                spec_of=lambda index: sample_spec(index=index),
                control_topic="control",
                epoch=3,
                balance=Balance(Strategy.LOAD, 1),
                group=group,
            )
            await bundles.assign({_PARTITION: _REMOTE})
            for each in late:
                bundles.assignment_read(each)
            await bundles.carried_out(0, 0)
            await topic.began.wait()
            await bundles.stop()

    run(work())
    assert [(each.epoch, each.partitions) for each in topic.written] == [
        (3, {_PARTITION: _REMOTE})
    ] * times
    assert topic.generations == [1]
