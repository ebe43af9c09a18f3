"""A node to which a Spark cluster gives no executor says so, and is not warm."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from flows.spark import live_slots, warmth
from flows.spark.live_slots import LiveSlots, _Slots
from flows.spark.warmth import Warmth
from mm2.telemetry.spark_use import LastSpark
from tests.support import virtual_time
from tests.support.idle_slots import idle_slots

_NONE = frozenset[str]()
_BUNDLE = frozenset({"A->B/0"})
_NO_EXECUTOR = _Slots(_NONE, {"driver:1": 0})
_STARTING = _Slots(_NONE, {"driver:1": 0, "worker:1": 1})
_RUNNING = _Slots(_BUNDLE, {"driver:1": 0, "worker:1": 1})


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
    assert await node.sees(_NO_EXECUTOR, seconds=30) == []
    assert await node.sees(_NO_EXECUTOR, seconds=50) == ["spark.no_executor"]
    assert not node.is_shown_as_warm()
    node.calls.empty_job.set_result(True)
    assert await node.sees(_NO_EXECUTOR) == ["spark.executor_given"]
    assert node.is_shown_as_warm()
    assert await node.sees(_NO_EXECUTOR, seconds=50) == []


async def test_one_that_starts_in_an_executor_is_given_time(node: _Node) -> None:
    assert await node.sees(_STARTING, seconds=50) == []
    assert not node.is_shown_as_warm()


async def test_a_task_that_runs_makes_it_warm_though_the_empty_one_waits(node: _Node) -> None:
    await node.sees(_RUNNING, submitted=_BUNDLE)
    assert node.is_shown_as_warm()


async def test_a_leader_without_executors_starves_and_an_empty_job_waits_for_one(
    node: _Node,
) -> None:
    node.calls.empty_job.set_result(True)
    await node.sees(_RUNNING, submitted=_BUNDLE)
    node.calls.empty_job = Future()
    events = await node.sees(_NO_EXECUTOR, submitted=_BUNDLE, seconds=50)
    assert events == ["spark.no_slot", "spark.no_executor"]
    assert not node.is_shown_as_warm()
    # Its flow has gone to another node by now.
    assert await node.sees(_NO_EXECUTOR, seconds=50) == []
    assert await node.sees(_STARTING) == []
    node.calls.empty_job.set_result(True)
    assert await node.sees(_STARTING) == ["spark.executor_given"]


async def test_an_empty_job_that_still_waits_is_not_doubled(node: _Node) -> None:
    await node.sees(_RUNNING, submitted=_BUNDLE)
    first, node.calls.empty_job = node.calls.empty_job, Future()
    await node.sees(_NO_EXECUTOR, submitted=_BUNDLE, seconds=50)
    assert not node.is_shown_as_warm()
    first.set_result(True)
    assert await node.sees(_STARTING, submitted=_BUNDLE) == ["spark.executor_given"]


async def test_another_application_has_to_be_given_an_executor_anew(node: _Node) -> None:
    node.calls.empty_job.set_result(True)
    await node.sees(_NO_EXECUTOR)
    node.calls.empty_job = Future()
    node.warmth.begin(_context())
    assert await node.sees(_NO_EXECUTOR, seconds=50) == ["spark.no_executor"]
    assert not node.is_shown_as_warm()


def test_the_node_is_told_when_it_is_warm_and_when_it_starves(node: _Node) -> None:
    told: list[bool] = []

    async def work() -> None:
        following = asyncio.ensure_future(node.warmth.follow(told.append))
        await asyncio.sleep(600)
        assert told == []
        node.calls.empty_job.set_result(True)
        await asyncio.sleep(600)
        assert told == [True]
        node.calls.empty_job = Future()
        starve = partial(node.warmth.note, _context(), is_idle=False, runs=False, executors=0)
        starve(0.0)
        await asyncio.sleep(600)
        assert told == [True]
        starve(30.0)
        await asyncio.sleep(600)
        node.calls.empty_job.set_result(True)
        await asyncio.sleep(600)
        following.cancel()

    virtual_time.run(work())
    assert told == [True, False, True]


async def test_in_one_process_nothing_is_waited_for_that_a_job_makes_needless() -> None:
    told: list[bool] = []
    with ThreadPoolExecutor(1) as threads:
        found = Warmth(threads, is_cluster=False, after_s=600.0)
        await found.follow(told.append)  # Nothing was to be started.
        found.begin(_context())
        found.skip()
        await found.follow(told.append)
    assert told == [True, True]


async def test_on_a_cluster_a_job_of_a_flow_has_no_empty_one_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warmth, "runs_empty_job", pytest.fail)
    with ThreadPoolExecutor(1) as threads:
        found = Warmth(threads, is_cluster=True, after_s=600.0)
        found.begin(_context())
        found.skip()
    assert not found.is_reached
    found.note(_context(), 0.0, is_idle=False, runs=True, executors=1)
    assert found.is_reached
