"""Ends a JVM in which Spark does not start in time: nobody else would."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock, Timer
from types import TracebackType
from typing import Final, Self

from flows.spark.installed import java_launcher
from flows.spark.jvm import Jvm
from mm2.core.balancing.spark_slots import is_in_process
from mm2.errors import FatalError

STARTS_WITHIN_S: Final = 25.0
"""With the imports before it and the end after it, a process that cannot start ends in 30 s."""

_DOWNLOADS: Final = "spark.jars.packages"
_DOWNLOADS_WITHIN_S: Final = 600.0
_QUEUES: Final = ("yarn",)
"""Masters that have applications wait for their turn, however long that is."""


class StartWatch:
    """
    A context manager around the making of a SparkContext.

    Args:
        jvm: is ended when it takes too long, which ends the making with an error.
        settings: of Spark; where it has jars to fetch, there is more time.

    Attributes:
        is_late: whether that has happened.
    """

    def __init__(self, jvm: Jvm, settings: Mapping[str, str], *, within_s: float) -> None:
        self._jvm = jvm
        self._settings = settings
        self._within_s = within_s + (_DOWNLOADS_WITHIN_S if _DOWNLOADS in settings else 0.0)
        self._lock = Lock()
        self._is_over = self.is_late = False
        self._timer = Timer(self._within_s, self._give_up)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._settings["spark.master"] not in _QUEUES:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True

    def too_late(self) -> FatalError:
        """Says what was waited for."""
        master = self._settings["spark.master"]
        nobody = (
            f"Java ({java_launcher()}) does not come up"
            if is_in_process(master)
            else f"no master of Spark answers at spark.master={master}"
        )
        return FatalError(f"Spark does not start: {nobody} within {self._within_s:.0f} s")

    def _give_up(self) -> None:
        with self._lock:
            if not self._is_over:
                self.is_late = True
                self._jvm.end(within_s=0.0)
