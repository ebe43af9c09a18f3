"""What an older leader wrote late over an assignment is written over again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

import pytest

from mm2.core.balance import Balance, Strategy
from mm2.core.model import TopicName, TopicPartition
from mm2.herder.bundle import BundleSpec
from mm2.herder.bundles import Bundles
from mm2.herder.control import Assignment, BundleState, decode
from mm2.kafka.writer import Writer
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
        self.stopped = asyncio.Event()

    async def send(self, _topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        entry = decode(key, value)
        assert isinstance(entry, Assignment)
        if entry.state is BundleState.STOPPED:
            self.stopped.set()
        else:
            self.written.append(entry)
        return partition

    async def run(self, _spec: BundleSpec) -> Mapping[str, int]:
        await self.stopped.wait()
        return {}


@pytest.mark.parametrize(("bundle", "times"), [(0, 2), (7, 1)])
def test_an_overwritten_assignment_is_written_again(bundle: int, times: int) -> None:
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
            bundles.retell(bundle)
            await bundles.carried_out(0, 0)
            await bundles.stop()

    run(work())
    assert [(each.epoch, each.partitions) for each in topic.written] == [
        (3, {_PARTITION: _REMOTE})
    ] * times
