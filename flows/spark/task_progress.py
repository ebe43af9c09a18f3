"""
How far the tasks of a command are, while they run.

A task says it on its standard error, as it says its log events there. A Spark on this machine hands
both to the driver; elsewhere only the ends of tasks are known.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Final

from mm2.core.json_text import read_json

_MARK: Final = '{"mm2_progress"'
"""Begins each line about progress, and no other line."""

_EVERY_S: Final = 0.5


class ProgressLines:
    """
    Tells the driver how much of a task is done, twice a second at most.

    Args:
        task: its number.
    """

    def __init__(self, task: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._clock = task, clock
        self._next = clock() + _EVERY_S

    def __call__(self, done: int) -> None:
        """Tells it, unless it has just told something."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + _EVERY_S
        line = json.dumps({"mm2_progress": self._task, "done": done})
        # One write, since tasks share the stream; ``print`` writes the end of a line by itself.
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def progress_in(line: str) -> tuple[int, int] | None:
    """The number of a task and how much of it is done; None if a line is about something else."""
    if not line.startswith(_MARK):
        return None
    try:
        fields = read_json(line)
        assert isinstance(fields, dict)  # noqa: S101 - the mark begins an object
        return int(fields["mm2_progress"]), int(fields["done"])
    except (ValueError, KeyError, TypeError):
        return None
