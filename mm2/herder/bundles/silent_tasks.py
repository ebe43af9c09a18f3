"""
Finds tasks that have stopped to report, though they run: their processes hang.

Spark knows executors that are gone and Python processes that have ended, and starts others. It does
not know a Python process that is stopped, or waits for a disk for good.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from mm2.config.connector_settings import TransformSettings

LOOK_EVERY_S: Final = 5.0

_SILENT_AFTER_S: Final = 30.0
"""Tasks report each three seconds."""

_WITH_USER_CODE_S: Final = 300.0
"""
A function of the user may compute for so long at a time, and the task does nothing else meanwhile.

Kafka's consumers may do so, too (``max.poll.interval.ms``).
"""

_GRACE_S: Final = 10.0
"""After an outage of the target, tasks write to it again as soon as we do, or a little later."""


def silent_after_s(transforms: TransformSettings) -> float:
    """For how many seconds a task with these transforms may report nothing."""
    runs_user_code = transforms.handler is not None or transforms.function is not None
    return _WITH_USER_CODE_S if runs_user_code else _SILENT_AFTER_S


class SilentTasks:
    """
    Looks for tasks whose last report is too long ago.

    A task is silent, too, if its target cannot be written to or read. So none counts as silent
    until a record has been written to the progress topic, and read from there.

    Args:
        after_s: for how many seconds a task may report nothing.
        began: bundles whose task has been submitted, and when that was.
        write: writes a record to the progress topic; returns its offset.
        passed: the offset before which all of the progress topic has been read.
        clock: in seconds, like ``began``.
    """

    def __init__(
        self,
        after_s: Callable[[], float],
        *,
        began: Callable[[], Mapping[int, float]],
        write: Callable[[], Awaitable[int]],
        passed: Callable[[], int],
        clock: Callable[[], float],
    ) -> None:
        self._after_s = after_s
        self._began = began
        self._write = write
        self._passed = passed
        self._clock = clock
        self._heard: dict[int, float] = {}
        # A record that was written: its offset, and when.
        self._written: tuple[int, float] | None = None

    def heard(self, bundle: int) -> None:
        """The task of a bundle has reported."""
        self._heard[bundle] = self._clock()

    async def look(self) -> Sequence[tuple[int, float]]:
        """
        The bundles whose tasks are silent, and for how many seconds they have been.

        Raises:
            ClusterError: the progress topic cannot be written to; nothing is known of any task.
        """
        silent = self._silent()
        if not silent:
            self._written = None
        elif self._written is None:
            self._written = await self._write(), self._clock()
        elif self._is_certain(*self._written):
            self._written = None
            return silent
        return ()

    def _is_certain(self, offset: int, at: float) -> bool:
        return self._passed() > offset and self._clock() - at >= _GRACE_S

    def _silent(self) -> list[tuple[int, float]]:
        """Those that have reported since their task was submitted, but not for too long."""
        now, after_s = self._clock(), self._after_s()
        heard = (
            (each, began, self._heard.get(each, began)) for each, began in self._began().items()
        )
        return [(each, now - at) for each, began, at in heard if began < at < now - after_s]
