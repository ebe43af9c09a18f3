"""
Which jobs to begin again because their executor is being decommissioned.

Spark gives such an executor nothing new, and waits for the end of what runs there. Tasks of flows
do not end, so that they would run until the machine goes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from pyspark import SparkContext

from flows.spark.spark_job import last_job

_MOST_TASKS: Final = 100
"""A job has one, and others that have failed."""


class Moves(NamedTuple):
    """
    Jobs on executors that are to go.

    Attributes:
        jobs: those for which there is room elsewhere, by their groups.
        needs_room: whether there are others.
    """

    jobs: dict[str, int]
    needs_room: bool


def jobs_to_move(context: SparkContext, groups: Collection[str]) -> Moves:
    """
    The running jobs on executors that are to go; blocks.

    Where no other executor is idle, they run on for as long as they can.
    """
    java: Any = context._jsc.sc()  # noqa: SLF001 - nothing else knows
    scheduler = java.taskScheduler()
    executors = {*_elements(java.schedulerBackend().getExecutorIds())}
    leaving = {
        each for each in executors if scheduler.getExecutorDecommissionState(each).isDefined()
    }
    if not leaving:
        return Moves({}, needs_room=False)
    places = {group: _place_of(context, java, group) for group in sorted(groups)}
    idle = executors - leaving - {executor for executor, _ in places.values()}
    moving = {group: job for group, (executor, job) in places.items() if executor in leaving}
    return Moves(dict(list(moving.items())[: len(idle)]), needs_room=len(moving) > len(idle))


def begin_again(context: SparkContext, job: int) -> None:
    """Ends a job, which is submitted again then."""
    java: Any = context._jsc.sc()  # noqa: SLF001 - see above
    java.cancelJob(job)


def _place_of(context: SparkContext, java: Any, group: str) -> tuple[str | None, int]:
    """The executor that runs the task of a group's last job, and the job."""
    last, stages = last_job(context, group)
    for stage in stages:
        tasks = java.statusStore().taskList(stage.stageId, stage.currentAttemptId, _MOST_TASKS)
        for task in _elements(tasks):
            if task.status() == "RUNNING":
                return str(task.executorId()), last
    return None, last


def _elements(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(number) for number in range(sequence.size()))
