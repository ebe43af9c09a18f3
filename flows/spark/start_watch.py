"""Ends a JVM in which Spark does not start in time: nobody else would."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock, Timer
from types import TracebackType
from typing import Final, Self

import structlog

from flows.spark.installed import java_launcher
from flows.spark.jvm import Jvm
from flows.spark.yarn import ANSWERS_WITHIN_S, YARN, YarnApplications
from mm2.core.balancing.spark_slots import is_in_process
from mm2.errors import FatalError

log = structlog.get_logger()

STARTS_WITHIN_S: Final = 25.0
"""With the imports before it and the end after it, a process that cannot start ends in 30 s."""

_DOWNLOADS: Final = "spark.jars.packages"
_DOWNLOADS_WITHIN_S: Final = 600.0


class StartWatch:
    """
    A context manager around the making of a SparkContext.

    YARN has applications wait for their turn, however long that is. There only a ResourceManager
    that does not answer is given up; that an application waits is told once.

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
        self._is_over = self.is_late = self._has_answered = self._is_told = False
        # Of the time, so much is for YARN's answer.
        self._asks_for_s = ANSWERS_WITHIN_S if settings["spark.master"] == YARN else 0.0
        self._java_for_s = self._asks_for_s
        self._timer = self._timer_of(self._within_s - self._asks_for_s)

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._is_over = True
        self._timer.cancel()

    def too_late(self) -> FatalError:
        """Says what was waited for."""
        master = self._settings["spark.master"]
        if is_in_process(master) or (master == YARN and self._jvm.starting is None):
            nobody = f"Java ({java_launcher()}) does not come up"
        elif master == YARN:
            nobody = "no ResourceManager of YARN answers (see spark.master, yarn-site.xml)"
        else:
            nobody = f"no master of Spark answers at spark.master={master}"
        return FatalError(f"Spark does not start: {nobody} within {self._within_s:.0f} s")

    def _timer_of(self, seconds: float) -> Timer:
        timer = Timer(seconds, self._look)
        timer.daemon = True
        return timer

    def _look(self) -> None:
        again_s = self._ask_yarn() if self._asks_for_s else 0.0
        with self._lock:
            if self._is_over or self._is_told:
                return
            if again_s:
                self._timer = self._timer_of(again_s)
                self._timer.start()
            else:
                self.is_late = True
                self._jvm.end(within_s=0.0)

    def _ask_yarn(self) -> float:
        """
        Tells what an application waits for; says in how many seconds to look again.

        That is 0 if no ResourceManager has ever answered, or Java has not come up in time.
        """
        gateway = self._jvm.starting
        if gateway is None:
            again_s, self._java_for_s = self._java_for_s, 0.0
            return again_s
        waits = YarnApplications(gateway, self._settings).waiting()
        self._has_answered |= waits is not None
        if waits:
            self._is_told = True
            log.warning("spark.queued", error=waits)
        return self._within_s - self._asks_for_s if self._has_answered else 0.0
