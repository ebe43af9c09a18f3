"""Of a bundle that was submitted many times, Spark is asked about the last job alone."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from flows.spark.spark_job import is_running


class _Tracker:
    """Spark's own, with jobs that have one stage each, of the same number."""

    def __init__(self, jobs: Sequence[str], active: int = 1) -> None:
        self._jobs, self._active = jobs, active
        self.asked: list[int] = []

    def getJobIdsForGroup(self, _: str) -> list[int]:  # noqa: N802 - PySpark's names
        return [*reversed(range(len(self._jobs)))]

    def getJobInfo(self, number: int) -> Any:  # noqa: N802
        self.asked.append(number)
        status = self._jobs[number]
        return SimpleNamespace(status=status, stageIds=[number]) if status else None

    def getStageInfo(self, number: int) -> Any:  # noqa: N802
        self.asked.append(number)
        return SimpleNamespace(numActiveTasks=self._active) if self._active >= 0 else None


def _runs(tracker: _Tracker) -> bool:
    context: Any = SimpleNamespace(statusTracker=lambda: tracker)
    return is_running(context, "A->B/0")


def test_earlier_ones_are_not_looked_at() -> None:
    tracker = _Tracker(["FAILED"] * 500 + ["RUNNING"])
    assert _runs(tracker)
    assert tracker.asked == [500, 500]


@pytest.mark.parametrize(
    "tracker",
    [
        _Tracker([]),
        _Tracker(["RUNNING", "FAILED"]),
        _Tracker([""]),
        _Tracker(["RUNNING"], active=0),
        _Tracker(["RUNNING"], active=-1),
    ],
    ids=["none", "ended", "forgotten", "waits", "no-stage"],
)
def test_what_has_no_task_does_not_run(tracker: _Tracker) -> None:
    assert not _runs(tracker)
