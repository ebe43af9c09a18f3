"""A leader keeps nothing of topics that are gone, however many come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import cast

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


class _Tasks(EndlessRunner):
    """A control topic, and tasks that only wait."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped = asyncio.Event()

    async def send(self, _topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        entry = decode_control(key, value)
        if isinstance(entry, Assignment) and entry.state is BundleState.STOPPED:
            self.stopped.set()
        return partition

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        del spec
        await self.stopped.wait()
        return {}


def _topics(numbers: Iterable[int]) -> dict[TopicPartition, TopicName]:
    return {TopicPartition(TopicName(f"t{n}"), 0): TopicName(f"A.t{n}") for n in numbers}


def test_topics_that_are_gone_are_forgotten() -> None:
    tasks = _Tasks()

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            bundles = Bundles(
                tasks,
                cast("Writer", tasks),
                slots=tasks.slots.join(changed=lambda: None, refused=lambda *_: None),
                spec_of=lambda index: sample_spec(index=index),
                control_topic="control",
                epoch=3,
                balance=Balance(Strategy.LOAD, 2),
                group=group,
            )
            for first in range(0, 100, 5):
                await bundles.assign(_topics(range(first, first + 10)))
                assert len(bundles._remotes) <= 20
            await bundles.assign(_topics(range(95, 105)))
            await bundles.assign(_topics(range(95, 105)))
            assert bundles._remotes == _topics(range(95, 105))
            held = [bundles._held(index) for index in bundles.holders()]
            assert {each for found in held for each in found} == set(_topics(range(95, 105)))
            await bundles.stop()

    run(work())
