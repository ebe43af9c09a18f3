"""Which jobs of a Spark cluster have waited long for an executor, and what to do about them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

PATIENCE_S: Final = 15.0
"""Spark replaces a lost executor, and starts Python in it, within about 10 s."""

_FIRST_EXECUTOR_S: Final = 60.0
"""An application that has just been registered is known to its cluster."""

_MOST_DELAY_S: Final = 300.0

_FORGOTTEN_S: Final = 2.0
"""What a master says counts only if it still says so then."""


class WaitingJobs:
    """Since when jobs have had no running task; times are in seconds of one clock."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._executors = 0

    def look(
        self, now: float, *, submitted: Collection[str], running: Collection[str], executors: int
    ) -> list[str]:
        """
        Takes notice of what runs now; returns the jobs that have waited for too long.

        While the application gets more executors than it had, the cluster may be about to start
        others, and all wait anew.
        """
        waiting = [job for job in submitted if job not in running]
        if executors > self._executors:
            self._since = {}
        self._executors = max(self._executors, executors) if waiting else executors
        self._since = {job: self._since.get(job, now) for job in waiting}
        return sorted(job for job, since in self._since.items() if now - since >= PATIENCE_S)


class RestartRule:
    """
    When to make the application anew because the cluster has forgotten it, or seems to have.

    A master that was restarted without a recovery mode does not know the applications of the one
    before. Where the cluster does not say whom it knows, one that is full looks alike: so the
    delays double until something runs. One that says so serves applications in their order, and
    a new one would go behind all others.

    Args:
        is_patient: whether only an application that is known to be forgotten is made anew.
    """

    def __init__(self, *, is_patient: bool = False) -> None:
        self._is_patient = is_patient
        self._idle_since: float | None = None
        self._forgotten_since: float | None = None
        self._delay_s = _FIRST_EXECUTOR_S

    def look(
        self, now: float, *, waits: bool, executors: int, is_forgotten: bool | None = None
    ) -> bool:
        """
        Takes notice of the application; says whether to make it anew.

        Args:
            waits: whether jobs wait, and none of them runs.
            executors: how many the application has.
            is_forgotten: whether its master does not know it, so that it gets no others; None if
                the cluster does not say.
        """
        if self._lasts_as_forgotten(now, is_forgotten=bool(is_forgotten)):
            self._idle_since = self._forgotten_since = None
            return True
        if executors:
            self._delay_s = PATIENCE_S
        if executors or not waits or self._is_patient or is_forgotten is False:
            self._idle_since = None
            return False
        if self._idle_since is None:
            self._idle_since = now
        if now - self._idle_since < self._delay_s:
            return False
        self._idle_since = None
        self._delay_s = min(_MOST_DELAY_S, 2 * max(self._delay_s, _FIRST_EXECUTOR_S))
        return True

    def _lasts_as_forgotten(self, now: float, *, is_forgotten: bool) -> bool:
        if not is_forgotten:
            self._forgotten_since = None
            return False
        if self._forgotten_since is None:
            self._forgotten_since = now
        return now - self._forgotten_since >= _FORGOTTEN_S
