"""What this process has of a Spark cluster, as it was last seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class SparkUse:
    """
    The Spark application of a process, off local.

    Attributes:
        executors: how many it has.
        running: tasks of bundles that run.
        waiting: tasks of bundles that were submitted and have not started.
        slots_missing: tasks that flows could use beyond those that were submitted.
        lost: executors that ended with a task in them, since the process began.
        moved: tasks that began again because their executor was to go, since the process began.
        restarts: how often it was made anew.
        is_warm: whether a task of it has run, and it has not waited long for an executor since.
    """

    executors: int
    running: int
    waiting: int
    slots_missing: int
    lost: int
    moved: int
    restarts: int
    is_warm: bool


@dataclass(slots=True)
class LastSpark:
    """A process has one Spark application at a time, and None while it has none on a cluster."""

    use: SparkUse | None = field(default=None)


OF_PROCESS: Final = LastSpark()
