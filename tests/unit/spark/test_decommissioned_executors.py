"""Jobs leave executors that are decommissioned, as far as others are idle."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from flows.spark import live_slots
from flows.spark.decommissioning import begin_again, jobs_to_move
from flows.spark.engine import SparkEngine
from flows.spark.jobs import SparkJobs
from flows.spark.live_slots import LiveSlots, _Slots
from mm2.slot_allocation import Slots
from mm2.telemetry.spark_use import LastSpark
from tests.support.idle_slots import idle_slots


class _Sequence(list[Any]):
    """Scala's."""

    def size(self) -> int:
        return len(self)

    def apply(self, number: int) -> Any:
        return self[number]


class _Context:
    """
    An application; the jobs of groups have the numbers of their order.

    Args:
        executors: all, and whether each is to go.
        places: of the groups: the executor of the task; None if the task waits.
    """

    def __init__(self, executors: Mapping[str, bool], places: Mapping[str, str | None]) -> None:
        self._executors, self._groups = executors, list(places)
        self._places = list(places.values())
        self.cancelled: list[int] = []
        backend = SimpleNamespace(getExecutorIds=lambda: _Sequence(executors))
        scheduler = SimpleNamespace(getExecutorDecommissionState=self._state)
        java = SimpleNamespace(
            taskScheduler=lambda: scheduler,
            schedulerBackend=lambda: backend,
            statusStore=lambda: SimpleNamespace(taskList=self._tasks),
            cancelJob=self.cancelled.append,
        )
        self._jsc = SimpleNamespace(sc=lambda: java)

    def _state(self, executor: str) -> Any:
        return SimpleNamespace(isDefined=lambda: self._executors[executor])

    def _tasks(self, stage: int, attempt: int, most: int) -> _Sequence:
        assert (attempt, most) == (3, 100)
        failed = SimpleNamespace(status=lambda: "FAILED", executorId=lambda: "9")
        if (place := self._places[stage // 10]) is None:
            return _Sequence([failed])
        return _Sequence(
            [failed, SimpleNamespace(status=lambda: "RUNNING", executorId=lambda: place)]
        )

    def statusTracker(self) -> Any:  # noqa: N802 - PySpark's name
        return SimpleNamespace(
            getJobIdsForGroup=lambda group: (
                [self._groups.index(group)] if group in self._groups else []
            ),
            getJobInfo=lambda job: SimpleNamespace(status="RUNNING", stageIds=[-1, 10 * job]),
            getStageInfo=lambda stage: (
                SimpleNamespace(stageId=stage, currentAttemptId=3) if stage >= 0 else None
            ),
        )


@pytest.mark.parametrize(
    ("executors", "places", "expected", "needs_room"),
    [
        ({"1": False, "2": False}, {"A->B/0": "1"}, {}, False),
        ({"1": True, "2": False}, {"A->B/0": "1"}, {"A->B/0": 0}, False),
        ({"1": True}, {"A->B/0": "1"}, {}, True),
        ({"1": True, "2": False}, {"A->B/0": "1", "A->B/1": "2"}, {}, True),
        ({"1": True, "2": True, "3": False}, {"A->B/0": "1", "A->B/1": "2"}, {"A->B/0": 0}, True),
        ({"1": True, "2": False}, {"A->B/0": None}, {}, False),
    ],
    ids=["none-goes", "moves", "no-other", "no-idle-one", "one-at-a-time", "waits"],
)
def test_as_many_move_as_others_are_idle(
    executors: Mapping[str, bool],
    places: Mapping[str, str | None],
    expected: Mapping[str, int],
    *,
    needs_room: bool,
) -> None:
    context: Any = _Context(executors, places)
    assert jobs_to_move(context, [*places, "C->D/0"]) == (expected, needs_room)


async def _moved(*, moves: bool) -> tuple[list[int], list[str], int]:
    context: Any = _Context({"1": True, "2": False}, {"A->B/0": "1"})
    last = LastSpark()
    with ThreadPoolExecutor(1) as threads, capture_logs() as logged:
        live = idle_slots(threads, moves=moves, last=last)
        seen = _Slots(frozenset({"A->B/0"}), {"d:1": 0, "a:1": 1, "b:1": 0})
        await live._follow(context, seen.running, seen)
        live._note(context, 0.0, seen.running, seen)
    assert last.use is not None
    return context.cancelled, [line["event"] for line in logged], last.use.moved


async def test_a_task_that_moves_is_told_of_and_counted() -> None:
    assert await _moved(moves=True) == ([0], ["spark.decommissioned"], 1)


async def test_an_executor_is_asked_for_where_none_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(live_slots, "runs_empty_job", lambda _, group: asked.append(group))
    context: Any = _Context({"1": True}, {"A->B/0": "1"})
    running = frozenset({"A->B/0"})
    with ThreadPoolExecutor(1) as threads:
        live = idle_slots(threads, moves=True)
        await live._follow(context, running, _Slots(running, {"d:1": 0, "a:1": 1}))
    assert asked == ["mm2/next-executor"]
    assert context.cancelled == []


async def test_tasks_that_cannot_begin_again_stay() -> None:
    assert await _moved(moves=False) == ([], [], 0)


def test_only_the_job_itself_ends() -> None:
    context: Any = _Context({}, {})
    begin_again(context, 7)
    assert context.cancelled == [7]


@pytest.mark.parametrize(("kind", "expected"), [(SparkEngine, True), (SparkJobs, False)])
async def test_bundles_move_whatever_the_settings_and_other_jobs_never(
    monkeypatch: pytest.MonkeyPatch, kind: type[Any], *, expected: bool
) -> None:
    options: list[dict[str, Any]] = []

    def follower(slots: Slots, **found: Any) -> LiveSlots:
        options.append(found)
        return LiveSlots(slots, **found)

    monkeypatch.setattr("flows.spark.jobs.LiveSlots", follower)
    task = {"task": dict} if kind is SparkEngine else {}
    jobs = kind({"spark.master": "spark://127.0.0.1:1"}, **task)
    jobs._follow_cluster()
    await jobs.stop()
    assert [each["moves"] for each in options] == [expected]
