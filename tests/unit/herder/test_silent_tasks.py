"""Tasks that run and report nothing are replaced; those whose target is away are not."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from mm2.config.connector_settings import TransformSettings
from mm2.errors import Unavailable
from mm2.herder.bundles.bundle_supervisor import BundleSupervisor
from mm2.herder.bundles.silent_tasks import SilentTasks
from mm2.protocol.task_events import decode_events, is_of_events
from tests.support.virtual_time import run

if TYPE_CHECKING:
    from mm2.config.flow_config import FlowConfig
    from mm2.herder.bundles.bundle_assignments import Bundles
    from mm2.kafka.writer import Writer

_REPLACED_AFTER_S = 45.0
"""Looks each five seconds, of which seven are needed."""


@dataclass
class _Flow:
    """Two bundles, whose tasks were submitted a second ago, and their progress topic."""

    transforms: TransformSettings = field(default_factory=TransformSettings)
    end: int = 100
    is_away: bool = False
    is_read: bool = True
    waiting: set[int] = field(default_factory=set)
    replaced: list[int] = field(default_factory=list)
    written: int = 0

    def __post_init__(self) -> None:
        self._began = dict.fromkeys((0, 1), asyncio.get_running_loop().time() - 1)
        herder = SimpleNamespace(names=SimpleNamespace(progress_topic="progress"))
        source = SimpleNamespace(transforms=self.transforms)
        config = cast("FlowConfig", SimpleNamespace(herder=herder, source=source))
        self.tasks = SilentTasks(cast("Bundles", self), cast("Writer", self), lambda: config)

    def began(self) -> dict[int, float]:
        return self._began

    async def is_running(self, bundle: int) -> bool:
        return bundle not in self.waiting

    async def restart(self, bundles: Collection[int], *, may_drain: bool) -> None:
        assert not may_drain
        self.replaced += bundles
        self.submitted(*bundles)

    async def send(self, topic: str, key: bytes, value: bytes, *, partition: int) -> int:
        assert (topic, partition) == ("progress", 0)
        assert is_of_events(key)
        assert decode_events(value) == [], "nobody is to take it for a report or an event"
        if self.is_away:
            raise Unavailable("B", "away")
        self.end += 1
        self.written += 1
        if self.is_read:
            self.tasks.read(self.end)
        return self.end

    def submitted(self, *bundles: int) -> None:
        now = asyncio.get_running_loop().time()
        self._began |= dict.fromkeys(bundles, now)

    async def goes_on(self, seconds: float, *reporting: int) -> None:
        """So much time passes, in which some tasks report each second."""
        looks = asyncio.create_task(self.tasks.run())
        for _ in range(round(seconds)):
            for bundle in reporting:
                self.tasks.heard(bundle)
            await asyncio.sleep(1)
        looks.cancel()


def test_one_that_reports_no_more_is_replaced_once_and_the_other_one_is_not() -> None:
    async def work() -> None:
        flow = _Flow()
        await flow.goes_on(60, 0, 1)
        assert flow.written == 0, "as long as all report nothing needs to be known"
        await flow.goes_on(30 + _REPLACED_AFTER_S, 1)
        assert flow.replaced == [0]
        await flow.goes_on(120, 0, 1)
        assert flow.replaced == [0]

    run(work())


def test_one_is_late_that_misses_three_reports_or_the_first_ones() -> None:
    async def work() -> None:
        flow = _Flow()
        await flow.goes_on(60, 0, 1)
        assert not flow.tasks.are_late()
        await flow.goes_on(12, 1)
        assert flow.tasks.are_late()
        flow.submitted(0)
        assert not flow.tasks.are_late()
        await flow.goes_on(12, 1)
        assert flow.tasks.are_late()

    run(work())


def test_none_is_replaced_while_the_topic_cannot_be_written_to_nor_soon_after_that() -> None:
    async def work() -> None:
        flow = _Flow()
        await flow.goes_on(5, 0, 1)
        flow.is_away = True
        await flow.goes_on(300)
        flow.is_away = False
        await flow.goes_on(20)
        flow.is_away = True
        await flow.goes_on(60)
        flow.is_away = False
        await flow.goes_on(20)
        await flow.goes_on(120, 0, 1)
        assert flow.replaced == []
        assert flow.written > 0

    run(work())


def test_none_is_replaced_while_the_topic_cannot_be_read_nor_soon_after_that() -> None:
    async def work() -> None:
        flow = _Flow(is_read=False)
        await flow.goes_on(5, 0, 1)
        await flow.goes_on(300)
        flow.is_read = True
        flow.tasks.read(flow.end)
        await flow.goes_on(20)
        await flow.goes_on(120, 0, 1)
        assert flow.replaced == []

    run(work())


def test_one_that_waits_for_an_executor_is_not_replaced() -> None:
    async def work() -> None:
        flow = _Flow()
        await flow.goes_on(10, 0, 1)
        flow.waiting = {0}
        await flow.goes_on(1_000, 1)
        assert (flow.replaced, flow.written) == ([], 0)
        flow.waiting = set()
        await flow.goes_on(200, 1)
        await flow.goes_on(100, 0, 1)
        assert flow.replaced == [], "its task may take some time to start"

    run(work())


def test_one_that_never_reports_is_replaced_after_minutes() -> None:
    async def work() -> None:
        flow = _Flow()
        await flow.goes_on(10, 0, 1)
        flow.submitted(0)
        await flow.goes_on(290, 1)
        assert flow.replaced == []
        await flow.goes_on(20 + _REPLACED_AFTER_S, 1)
        assert flow.replaced == [0]

    run(work())


def test_one_that_goes_on_while_another_is_replaced_is_left_alone() -> None:
    async def work() -> None:
        flow = _Flow()
        replace = flow.restart

        async def restart(bundles: Collection[int], *, may_drain: bool) -> None:
            flow.tasks.heard(1)
            await replace(bundles, may_drain=may_drain)

        flow.restart = restart  # type: ignore[method-assign]  # what happens meanwhile
        await flow.goes_on(10, 0, 1)
        await flow.goes_on(30 + _REPLACED_AFTER_S)
        assert flow.replaced == [0]

    run(work())


@pytest.mark.parametrize(
    ("transforms", "after_s"),
    [
        (TransformSettings(sql_where="true", provenance=True), 30),
        (TransformSettings(handler="m:h"), 300),
        (TransformSettings(function="m:f"), 300),
    ],
)
def test_functions_of_users_may_compute_for_longer(
    transforms: TransformSettings, after_s: float
) -> None:
    """As long as Kafka's consumers may: ``max.poll.interval.ms``."""

    async def work() -> None:
        flow = _Flow(transforms)
        await flow.goes_on(10, 0, 1)
        await flow.goes_on(after_s, 1)
        assert flow.replaced == []
        await flow.goes_on(_REPLACED_AFTER_S, 1)
        assert flow.replaced == [0]

    run(work())


def test_a_bundle_says_when_its_job_was_submitted() -> None:
    async def work() -> list[float | None]:
        ends = asyncio.Event()

        async def job() -> None:
            await ends.wait()
            ends.clear()

        keeper = BundleSupervisor("b", job)
        found = [keeper.began]
        async with asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            for _ in range(2):
                await asyncio.sleep(10)
                found.append(keeper.began)
                ends.set()
            await asyncio.sleep(0.1)
            found.append(keeper.began)
            await asyncio.sleep(10)
            keeper.end()
            ends.set()
        return [*found, keeper.began]

    none, first, second, between, last = run(work())
    assert (none, between, last) == (None, None, None)
    assert first is not None
    assert second is not None
    assert second - first == pytest.approx(10.5)
