"""
Tells a standalone master again how many executors an application is to have.

Spark's dynamic allocation does so when the number changes. A master that recovers (FILESYSTEM,
ZOOKEEPER) has the number with which the application began, which is 0: it would replace no
executor that is lost.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, Final

from pyspark import SparkContext

from flows.spark.spark_job import JVM_GONE

_EVERY_S: Final = 5.0
_SCHEME: Final = "spark://"
_ON_DEMAND: Final = "spark.dynamicAllocation.enabled"


class RepeatedRequest:
    """
    The request, each few seconds while jobs wait.

    Args:
        threads: for the call, which a silent master may keep for long.
    """

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._waits_since: float | None = None
        self._call: asyncio.Future[None] | None = None

    def look(self, now: float, context: SparkContext, *, waits: bool) -> None:
        """Takes notice of whether jobs wait; begins a request if it is time for one."""
        if not waits:
            self._waits_since = None
        elif self._waits_since is None:
            self._waits_since = now
        elif now - self._waits_since >= _EVERY_S and (self._call is None or self._call.done()):
            self._waits_since = now
            loop = asyncio.get_running_loop()
            self._call = loop.run_in_executor(self._threads, ask_again, context)


def ask_again(context: SparkContext) -> None:
    """Asks for as many executors as before; blocks until the master, if it is one, answers."""
    with suppress(*JVM_GONE):  # Jobs fail, too, and start another.
        java: Any = context._jsc  # noqa: SLF001 - there is no public way to ask
        is_on_demand = context.getConf().get(_ON_DEMAND) == "true"
        if is_on_demand and str(context.master).startswith(_SCHEME):
            java.sc().requestExecutors(0)
