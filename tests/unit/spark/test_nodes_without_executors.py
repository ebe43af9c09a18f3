"""A node to which a Spark cluster gives no executor says so, and is not warm."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from flows.spark import live_slots
from flows.spark.live_slots import LiveSlots, _Slots
from flows.spark.warmth import Warmth
from mm2.telemetry.spark_use import LastSpark
from tests.support.idle_slots import idle_slots

_NONE = frozenset[str]()
_BUNDLE = frozenset({"A->B/0"})
_NO_EXECUTOR = _Slots(_NONE, {"driver:1": 0})


def _context() -> Any:
    return SimpleNamespace()


class _Threads(ThreadPoolExecutor):
    """Has the empty job run when a test says so."""

    def __init__(self) -> None:
        super().__init__(1)
        self.empty_job: Future[Any] = Future()

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        return self.empty_job


class _Node:
    """A node whose Spark has just started on a cluster."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, threads: Executor) -> None:
        self.calls = _Threads()
        self.shown = LastSpark()
        self.warmth = Warmth(self.calls, is_cluster=True)
        self._context = _context()
        self._now = 0.0
        clock = SimpleNamespace(monotonic=lambda: self._now)
        monkeypatch.setattr(live_slots, "time", clock)
        monkeypatch.setattr(live_slots, "is_forgotten", lambda _: False)
        self._live: LiveSlots = idle_slots(threads, warmth=self.warmth, last=self.shown)
        self.warmth.begin(self._context)

    async def sees(
        self, seen: _Slots, *, submitted: frozenset[str] = _NONE, seconds: int = 1
    ) -> list[str]:
        """What it logs meanwhile."""
        with capture_logs() as logs:
            for _ in range(seconds):
                self._now += 1
                await self._live._follow(self._context, submitted, seen)
        return [each["event"] for each in logs]

    def is_shown_as_warm(self) -> bool:
        """What metrics have."""
        assert self.shown.use is not None
        return self.shown.use.is_warm


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Any:
    with ThreadPoolExecutor(1) as threads:
        yield _Node(monkeypatch, threads)


async def test_it_says_so_once_and_when_it_has_one(node: _Node) -> None:
    assert await node.sees(_NO_EXECUTOR, seconds=15) == []
    assert await node.sees(_NO_EXECUTOR, seconds=50) == ["spark.no_executor"]
    assert not node.is_shown_as_warm()
    node.calls.empty_job.set_result(True)
    assert await node.sees(_NO_EXECUTOR) == ["spark.executor_given"]
    assert node.is_shown_as_warm()
    assert await node.sees(_NO_EXECUTOR, seconds=50) == []


async def test_one_that_starts_in_an_executor_is_given_time(node: _Node) -> None:
    starting = _Slots(_NONE, {"driver:1": 0, "worker:1": 1})
    assert await node.sees(starting, seconds=50) == []
    assert not node.is_shown_as_warm()


async def test_a_task_that_runs_makes_it_warm_though_the_empty_one_waits(node: _Node) -> None:
    await node.sees(_Slots(_BUNDLE, {"driver:1": 0, "worker:1": 1}), submitted=_BUNDLE)
    assert node.is_shown_as_warm()
    await node.warmth.wait()


async def test_of_a_task_that_waits_there_is_another_event(node: _Node) -> None:
    events = await node.sees(_NO_EXECUTOR, submitted=_BUNDLE, seconds=50)
    assert events == ["spark.no_slot"]


async def test_another_application_has_to_be_given_an_executor_anew(node: _Node) -> None:
    node.calls.empty_job.set_result(True)
    await node.sees(_NO_EXECUTOR)
    node.calls.empty_job = Future()
    node.warmth.begin(_context())
    assert "spark.no_executor" in await node.sees(_NO_EXECUTOR, seconds=50)
    assert not node.is_shown_as_warm()


async def test_in_one_process_nothing_is_waited_for_that_a_job_makes_needless() -> None:
    with ThreadPoolExecutor(1) as threads:
        warmth = Warmth(threads, is_cluster=False, after_s=600.0)
        await warmth.wait()  # Nothing was to be started.
        warmth.begin(_context())
        warmth.skip()
        await warmth.wait()
        assert warmth.is_reached
