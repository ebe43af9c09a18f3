"""Asks the master of a standalone cluster whether it knows an application, and for executors."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, Final

import structlog
from py4j.protocol import Py4JError
from pyspark import SparkContext

from flows.spark.spark_job import JVM_GONE

log = structlog.get_logger()

_SCHEME: Final = "spark://"
_ALIVE: Final = "ALIVE"
_EVERY_S: Final = 5.0
_ON_DEMAND: Final = "spark.dynamicAllocation.enabled"


def is_forgotten(context: SparkContext) -> bool | None:
    """
    Whether a leading master answers, and none of the masters knows the application; blocks.

    By Spark's own messages, because its clients do not say: an application goes on without a word
    when a new master, without a recovery mode, does not know it, and gets no executors any more.
    Where masters answer of which none leads (ZOOKEEPER), the next leader will know the application.
    None where the master is of another kind, or none answers.
    """
    masters = str(context.master)
    if not masters.startswith(_SCHEME):
        return None
    found = set()
    for address in masters.removeprefix(_SCHEME).split(","):
        try:
            status, known = _applications(context, address)
            if context.applicationId in known:
                return False
        except (Py4JError, OSError, ValueError, TypeError, AttributeError) as error:
            # It is away, or this release of Spark has other messages.
            log.debug("spark.master_not_asked", error=type(error).__name__)
            continue
        found.add(status)
    return _ALIVE in found if found else None


def _applications(context: SparkContext, address: str) -> tuple[str, set[str]]:
    """The status of a master, and the applications that it knows."""
    jvm: Any = context._jvm  # noqa: SLF001 - there is no public way to ask
    host, _, port = address.rpartition(":")
    place = jvm.org.apache.spark.rpc.RpcAddress(host, int(port))
    java: Any = context._jsc  # noqa: SLF001
    master = java.sc().schedulerBackend().rpcEnv().setupEndpointRef(place, "Master")
    request = _scala_object(jvm.org.apache.spark.deploy, "DeployMessages$RequestMasterState")
    answer_type = _scala_object(jvm.scala.reflect, "ClassTag").Any()
    state = master.askSync(request, answer_type)
    return state.status().toString(), {each.id() for each in state.activeApps()}


def _scala_object(package: Any, name: str) -> Any:
    return getattr(getattr(package, f"{name}$"), "MODULE$")


class RepeatedRequest:
    """
    Tells a master again how many executors an application is to have, while jobs wait.

    Spark's dynamic allocation does so when the number changes. A master that recovers (FILESYSTEM,
    ZOOKEEPER) has the number with which the application began, which is 0: it would replace no
    executor that is lost.

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
