"""Whether a job of a node's Spark would begin at once, and what is said while none would."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Executor, Future
from typing import Final

import structlog
from pyspark import SparkContext

from mm2.core.balancing.waiting_jobs import PATIENCE_S

log = structlog.get_logger()

WARM_AFTER_S: Final = 3.0
"""A job that comes before is not to share the machine with a task that does nothing."""

_WARM_UP: Final = "mm2/warm-up"
_LOOK_AGAIN_S: Final = 0.5


class Warmth:
    """
    Has a new application run an empty job, so that the next one need not wait for what it costs.

    On a cluster that is full a node becomes warm when it has an executor, and not before: a flow
    that is led there would stand still.

    Args:
        threads: for calls of Spark.
        is_cluster: whether tasks run elsewhere than in the JVM of the driver.
        after_s: how long an application that has nothing to do waits with the empty job.
    """

    def __init__(
        self, threads: Executor, *, is_cluster: bool, after_s: float = WARM_AFTER_S
    ) -> None:
        self._threads = threads
        self._is_cluster = is_cluster
        self._after_s = after_s
        self._is_needless = threading.Event()
        self._warming: Future[bool] | None = None
        self._has_run = self._is_told = False
        self._waits_since: float | None = None

    def begin(self, context: SparkContext) -> None:
        """Has an application that has just started run an empty job, a little later."""
        self._is_needless = threading.Event()
        self._has_run = False
        self._waits_since = None
        self._warming = self._threads.submit(self._warm_up, context, self._is_needless)

    def skip(self) -> None:
        """The application has a job, or ends: in this process the empty one is of no use."""
        self._is_needless.set()

    @property
    def is_reached(self) -> bool:
        """Whether a job has run; always where nothing was to be started."""
        if self._warming is None or self._has_run:
            return True
        return self._warming.done() and (self._warming.result() or not self._is_cluster)

    async def wait(self) -> None:
        """Waits until a job would begin at once."""
        if self._warming is not None and not self._is_cluster:
            await asyncio.wrap_future(self._warming)
        while not self.is_reached:  # noqa: ASYNC110 - by a job of a flow, or another application
            await asyncio.sleep(_LOOK_AGAIN_S)

    def note(self, now: float, *, is_idle: bool, runs: bool, executors: int, remedy: str) -> None:
        """
        Takes notice of an application on a cluster.

        Args:
            is_idle: whether it has no jobs; of those that wait others tell.
            runs: whether one of them runs.
            executors: how many it has.
            remedy: what to do where it gets none for long.
        """
        self._has_run |= runs
        if self.is_reached and self._is_told:
            self._is_told = False
            log.info("spark.executor_given")
        if self.is_reached or executors or not is_idle:
            self._waits_since = None
            return
        if self._waits_since is None:
            self._waits_since = now
        if now - self._waits_since >= PATIENCE_S and not self._is_told:
            self._is_told = True
            reason = "the Spark cluster gives this node no executor"
            log.warning("spark.no_executor", error=f"{reason}: {remedy}")

    def _warm_up(self, context: SparkContext, is_needless: threading.Event) -> bool:
        """Runs an empty job, in this process only where no other comes; says if it could."""
        if is_needless.wait(self._after_s) and not self._is_cluster:
            return True
        return runs_empty_job(context, _WARM_UP)


def runs_empty_job(context: SparkContext, group: str) -> bool:
    """
    Has Spark start an executor, load its classes and start its Python daemon.

    Returns:
        Whether that was done; False if the application ended meanwhile.
    """
    try:
        context.setJobGroup(group, "waits for an executor")
        context.parallelize([0], 1).mapPartitions(iter).collect()
    except Exception:  # noqa: BLE001 - without its JVM PySpark raises what it likes
        return False
    return True
