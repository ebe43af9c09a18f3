"""Whether a job of a node's Spark would begin at once, and what is said while none would."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Final

import structlog
from pyspark import SparkContext

log = structlog.get_logger()

WARM_AFTER_S: Final = 3.0
"""A job that comes before is not to share the machine with a task that does nothing."""

_STARVES_AFTER_S: Final = 30.0
"""A busy machine starts an executor, with Python in it, in less."""

_NO_EXECUTOR: Final = (
    "the Spark cluster gives this node no executor: add workers, or have other nodes and"
    " applications leave cores free"
)
_WARM_UP: Final = "mm2/warm-up"
_LOOK_AGAIN_S: Final = 0.5


class Warmth:
    """
    Has a new application run an empty job, so that the next one need not wait for what it costs.

    On a cluster that is full a node becomes warm when it has an executor, and not before: a flow
    that is led there would stand still. One that has none for long, and waits for one, starves:
    it is not warm any more, and flows that it leads are for others.

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
        self._has_run = self._starves = False
        self._waits_since: float | None = None

    def begin(self, context: SparkContext) -> None:
        """Has an application that has just started run an empty job, a little later."""
        self._is_needless = threading.Event()
        self._has_run = False
        self._waits_since = None
        self._warming = self._threads.submit(self._warm_up, context, self._is_needless)

    def skip(self) -> None:
        """The application has a job, or ends: an empty one that has not begun is of no use."""
        self._is_needless.set()

    @property
    def is_reached(self) -> bool:
        """Whether a job has run; always where nothing was to be started."""
        if self._warming is None or self._has_run:
            return True
        return self._warming.done() and (self._warming.result() or not self._is_cluster)

    async def follow(self, tell: Callable[[bool], None]) -> None:
        """
        Tells that the node is warm, and that it starves, whenever it is another of the two.

        It may be neither, and ends where it stays warm.
        """
        if self._warming is not None and not self._is_cluster:
            await asyncio.wrap_future(self._warming)
        reported: bool | None = None
        while reported is None or self._is_cluster:
            is_warm = self.is_reached
            if is_warm is not reported and (is_warm or self._starves):
                reported = is_warm
                tell(is_warm)
            await asyncio.sleep(_LOOK_AGAIN_S)

    def note(
        self,
        context: SparkContext,
        now: float,
        *,
        is_idle: bool,
        runs: bool,
        executors: int,
    ) -> None:
        """
        Takes notice of an application on a cluster.

        Args:
            is_idle: whether it has no jobs.
            runs: whether one of them runs.
            executors: how many it has.
        """
        self._has_run |= runs
        if executors or (self.is_reached if is_idle else runs):
            self._waits_since = None
            if self._starves and self.is_reached:
                self._starves = False
                log.info("spark.executor_given")
            return
        if self._waits_since is None:
            self._waits_since = now
        if now - self._waits_since >= _STARVES_AFTER_S and not self._starves:
            self._starves = True
            log.warning("spark.no_executor", error=_NO_EXECUTOR)
            self._wait_again(context)

    def _wait_again(self, context: SparkContext) -> None:
        """Has an empty job wait for the executor, because flows will not."""
        self._has_run = False
        if self._warming is not None and self._warming.done():
            self.begin(context)

    def _warm_up(self, context: SparkContext, is_needless: threading.Event) -> bool:
        """Runs an empty job where no other comes; says if that is enough."""
        if is_needless.wait(self._after_s):
            # On a cluster it would want a core beside the jobs, which may be another node's.
            return not self._is_cluster
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
