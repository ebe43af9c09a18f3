"""Tasks that run and report nothing are replaced; those whose target is away are not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from mm2.config.connector_settings import TransformSettings
from mm2.errors import Unavailable
from mm2.herder.bundles.bundle_supervisor import BundleSupervisor
from mm2.herder.bundles.silent_tasks import LOOK_EVERY_S, SilentTasks, silent_after_s
from tests.support.virtual_time import run

_AFTER_S = 30.0


@dataclass
class _Topic:
    """The progress topic of two bundles, whose tasks were submitted at 0 s, and the time."""

    now: float = 1.0
    end: int = 100
    passed: int = 100
    began: dict[int, float] = field(default_factory=lambda: {0: 0.0, 1: 0.0})
    is_away: bool = False
    is_read: bool = True

    def __post_init__(self) -> None:
        self.tasks = SilentTasks(
            lambda: _AFTER_S,
            began=lambda: self.began,
            write=self._write,
            passed=lambda: self.passed,
            clock=lambda: self.now,
        )
        self.written = 0

    async def _write(self) -> int:
        if self.is_away:
            raise Unavailable("B", "away")
        self.end += 1
        self.passed = self.end if self.is_read else self.passed
        self.written += 1
        return self.end - 1

    async def looks(self, seconds: float, *reporting: int) -> list[int]:
        """The bundles that were found silent while so much time passed and others reported."""
        found: list[int] = []
        for _ in range(round(seconds / LOOK_EVERY_S)):
            self.now += LOOK_EVERY_S
            for bundle in reporting:
                self.tasks.heard(bundle)
            found += [bundle for bundle, _ in await self._look()]
        return found

    async def _look(self) -> Sequence[tuple[int, float]]:
        if not self.is_away:
            return await self.tasks.look()
        with pytest.raises(Unavailable):
            await self.tasks.look()
        return ()


def _both_report(topic: _Topic) -> _Topic:
    topic.tasks.heard(0)
    topic.tasks.heard(1)
    return topic


def test_one_that_stops_to_report_is_found_and_the_other_one_is_not() -> None:
    async def work() -> None:
        topic = _both_report(_Topic())
        assert await topic.looks(_AFTER_S, 1) == []
        assert topic.written == 0
        assert await topic.looks(15, 1) == [0]
        assert topic.written == 1

    run(work())


def test_for_how_long_it_was_silent_is_told() -> None:
    async def work() -> None:
        topic = _both_report(_Topic())
        await topic.looks(40)
        topic.now += LOOK_EVERY_S
        assert await topic.tasks.look() == [(0, 45.0), (1, 45.0)]

    run(work())


def test_none_is_found_while_the_topic_cannot_be_written_to() -> None:
    async def work() -> None:
        topic = _both_report(_Topic())
        await topic.looks(_AFTER_S)
        topic.is_away = True
        assert await topic.looks(300) == []
        topic.is_away = False
        assert await topic.looks(LOOK_EVERY_S) == [], "they report again in a moment"
        assert await topic.looks(60, 0, 1) == []

    run(work())


def test_none_is_found_while_the_topic_cannot_be_read() -> None:
    async def work() -> None:
        topic = _both_report(_Topic(is_read=False))
        assert await topic.looks(300) == []
        topic.passed = topic.end
        assert await topic.looks(LOOK_EVERY_S) == [0, 1]

    run(work())


def test_one_that_has_not_reported_since_it_was_submitted_is_not_found() -> None:
    """It waits for an executor, or starts."""

    async def work() -> None:
        topic = _both_report(_Topic())
        await topic.looks(30, 1)
        topic.began[0] = topic.now
        assert await topic.looks(600, 1) == []
        topic.tasks.heard(0)
        assert await topic.looks(_AFTER_S + 15, 1) == [0]

    run(work())


def test_one_that_has_ended_is_not_found() -> None:
    async def work() -> None:
        topic = _both_report(_Topic())
        del topic.began[0]
        assert await topic.looks(600, 1) == []

    run(work())


def test_functions_of_users_may_compute_for_longer() -> None:
    """As long as Kafka's consumers may: ``max.poll.interval.ms``."""
    assert silent_after_s(TransformSettings()) == _AFTER_S
    assert silent_after_s(TransformSettings(sql_where="true", provenance=True)) == _AFTER_S
    assert silent_after_s(TransformSettings(handler="m:h")) == 300
    assert silent_after_s(TransformSettings(function="m:f")) == 300


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
