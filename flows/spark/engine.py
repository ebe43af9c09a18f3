"""
Runs bundles as Spark jobs.

One job a bundle, because Spark fails a whole job when one task is out of attempts, and one
bundle's trouble must not stop the others. A job is one long-lived task: a job per micro-batch
would cost more than 100 ms each. ``RDD.mapPartitions`` rather than ``mapInArrow``, whose first
task starts seconds later because it imports pandas (docs/adr/0001).
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

import structlog
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from flows.spark.installed import check_master
from flows.spark.jvm import DEFAULTS, Jvm, not_started
from mm2.config.text.expressions import hide
from mm2.core.balancing.spark_slots import DEFAULT_MASTER, slots_of, with_cores
from mm2.protocol.bundle_spec import BundleSpec
from mm2.slot_allocation import Slots
from mm2.telemetry.logs import relay

log = structlog.get_logger()

BundleTask = Callable[[BundleSpec], Mapping[str, int]]
"""Runs in a Python worker until told to stop, and returns its totals; must be picklable."""

_REDACTION: Final = "spark.redaction.regex"
_REDACTED_BY_DEFAULT: Final = "(?i)secret|password|token|access[.]?key"
"""Spark's own default of that key."""

_LOCAL: Final = {
    # Spark would make one thread for each slot at once, for messages of which there are few.
    "spark.rpc.netty.dispatcher.numThreads": "2",
    # Its only executor is in the same process, and need not say each ten seconds that it lives.
    "spark.executor.heartbeatInterval": "30s",
}

_FORCED: Final = {
    # A task's function holds its bundle's passwords; PySpark would write a longer one to a file.
    "spark.broadcast.UDFCompressionThreshold": "1g",
}
"""Settings that the user's do not replace."""

_MOST_JOBS: Final = 4096
"""Of a cluster, which may give more slots while jobs wait for them; threads come as needed."""

_CALLS: Final = 4
_CANCEL_AGAIN_S: Final = 1.0
_WARM_AFTER_S: Final = 3.0
"""A bundle that comes before is not to share the machine with a task that does nothing."""

_WARM_WITHIN_S: Final = 60.0


class BundleFailed(Exception):
    """A bundle's job ended with an error; the message is the last line of its traceback."""


class SparkEngine:
    """
    A Spark application and the jobs in it.

    Args:
        settings: ``spark.*`` keys of the user, over our defaults.
        task: what a bundle's task runs.
        jvm: one that is on its way already; it becomes the engine's.
        environment: more variables for JVMs that are started later.
        warm_after_s: how long after its start an application that has nothing to do runs an empty
            task, so that the first bundle of a node that takes over need not wait for what a first
            task costs.

    Attributes:
        slots: of which each bundle must have one, because without it Spark would have it wait in
            silence.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        *,
        task: BundleTask,
        jvm: Jvm | None = None,
        environment: Mapping[str, str] | None = None,
        warm_after_s: float = _WARM_AFTER_S,
    ) -> None:
        self._settings = {**DEFAULTS, **settings, **_FORCED}
        master = self._settings.get("spark.master", DEFAULT_MASTER)
        self._settings["spark.master"] = with_cores(master, os.cpu_count() or 1)
        cpus = self._settings.get("spark.task.cpus", "1")
        slots = slots_of(self._settings["spark.master"], cpus)
        if slots is not None:
            self._settings = {**_LOCAL, **self._settings}
        self.slots = Slots(slots)
        self._task = task
        self._jvm = jvm
        self._environment = environment
        self._context: SparkContext | None = None
        # What all who start it at the same time wait for.
        self._starting: asyncio.Task[SparkContext] | None = None
        self._warm_after_s = warm_after_s
        # Of the application that runs: set when it has a bundle, or ends.
        self._needs_no_warming = threading.Event()
        self._warming: Future[None] | None = None
        # Py4J blocks a thread for as long as a job runs.
        self._threads = ThreadPoolExecutor(slots or _MOST_JOBS, "spark")
        # What is asked of Spark beside the jobs must not wait for the end of one.
        self._calls = ThreadPoolExecutor(_CALLS, "spark-calls")

    async def start(self) -> None:
        """
        Starts the application if it does not run (any more).

        Raises:
            FatalError: the JVM does not start.
        """
        await self._started()

    async def until_warm(self) -> None:
        """
        Waits until a bundle would begin at once: after a first one, or the empty task.

        On a cluster that is full that task waits for as long as it is; so does a bundle, but flows
        that are led elsewhere for good because of it would be worse.
        """
        if self._warming is not None:
            warming = asyncio.wrap_future(self._warming)
            await asyncio.wait([warming], timeout=_WARM_WITHIN_S)

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        """
        Runs one bundle, which has a slot, to its end and returns its totals.

        Cancelling this cancels the job, and with it the task's process.

        Raises:
            BundleFailed: the job ended with an error, or the JVM is gone; submit it again.
        """
        context = await self._started()
        self._needs_no_warming.set()
        loop = asyncio.get_running_loop()
        job = loop.run_in_executor(self._threads, self._submit, context, spec)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            # Spark cancels jobs that it knows; this one may be on its way there.
            while not job.done():
                await loop.run_in_executor(self._calls, self._cancel, context, spec)
                await asyncio.wait({job}, timeout=_CANCEL_AGAIN_S)
            if not job.cancelled():
                job.exception()  # That it was cancelled is no news; asyncio wants it to be seen.
            raise

    async def stop(self) -> None:
        """Ends the application; its JVM and Python workers are gone when this returns."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._calls, self._shut_down)
        if self._starting is not None and not self._starting.done():
            # Without its JVM it fails soon, unless it had not even begun with that.
            await asyncio.gather(self._starting, return_exceptions=True)
            await loop.run_in_executor(self._calls, self._shut_down)
        for pool in (self._threads, self._calls):
            pool.shutdown(wait=False)

    async def _started(self) -> SparkContext:
        """A launch cannot be called off: who is cancelled meanwhile leaves it to who comes next."""
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start(), name="spark-start")
        return await asyncio.shield(self._starting)

    async def _start(self) -> SparkContext:
        loop = asyncio.get_running_loop()
        if self._context is not None and not await loop.run_in_executor(
            self._calls, self._is_alive, self._context
        ):
            await loop.run_in_executor(self._calls, self._shut_down)
        if self._context is None:
            self._context = await loop.run_in_executor(self._calls, self._launch)
        return self._context

    def _launch(self) -> SparkContext:
        check_master(self._settings["spark.master"])
        jvm = self._jvm = self._jvm or Jvm(self._settings, environment=self._environment)
        # What Spark and its JVM print stays out of the user's terminal, our own lines apart.
        jvm.listen(relay)
        try:
            context = context_of(jvm, self._settings)
        except Exception as error:
            # An error of Spark's can be asked only while its JVM runs.
            said = _reason(error) if isinstance(error, Py4JJavaError) else None
            # Who tries again needs another JVM: this one says only once where it listens.
            self._jvm = None
            jvm.end()
            raise not_started(said or jvm.last_words(), self._settings) from error
        slots = context.defaultParallelism
        log.info("spark.started", master=context.master, slots=slots, version=context.version)
        self._needs_no_warming = threading.Event()
        self._warming = self._calls.submit(self._warm_up, context, self._needs_no_warming)
        return context

    def _warm_up(self, context: SparkContext, unneeded: threading.Event) -> None:
        """Has Spark load its classes and start its Python daemon."""
        if not unneeded.wait(self._warm_after_s):
            with suppress(Py4JError, OSError, EOFError):
                context.parallelize([0], 1).mapPartitions(iter).collect()

    def _is_alive(self, context: SparkContext) -> bool:
        java: Any = context._jsc  # noqa: SLF001 - there is no public way to ask
        try:
            is_running = self._jvm is not None and self._jvm.process.poll() is None
            return is_running and not java.sc().isStopped()
        except (Py4JError, OSError, AttributeError):
            return False

    def _submit(self, context: SparkContext, spec: BundleSpec) -> Mapping[str, int]:
        task = self._task

        # The specification, with its passwords, is part of the function, which goes to the JVM
        # over a socket: PySpark writes the data of ``parallelize`` to a file (docs/adr/0018).
        # The one row is read because Spark uses a worker again that has read all of its input.
        def run(rows: Iterable[int]) -> Iterator[Mapping[str, int]]:
            return (task(spec) for _ in rows)

        try:
            shown = hide(f"mirrors bundle {spec.name}")
            context.setJobGroup(spec.name, shown, interruptOnCancel=True)
            (totals,) = context.parallelize([0], 1).mapPartitions(run).collect()
        except Py4JJavaError as error:
            raise BundleFailed(_reason(error)) from None
        except (Py4JNetworkError, Py4JError, OSError, EOFError) as error:
            raise BundleFailed(f"the JVM is gone: {error}") from None
        else:
            result: Mapping[str, int] = totals
            return result

    def _cancel(self, context: SparkContext, spec: BundleSpec) -> None:
        with suppress(Py4JError, OSError):
            context.cancelJobGroup(spec.name)

    def _shut_down(self) -> None:
        context, self._context = self._context, None
        jvm, self._jvm = self._jvm, None
        self._needs_no_warming.set()
        if context is not None:
            gateway: Any = context._gateway  # noqa: SLF001 - there is no public way to end it
            with suppress(Py4JError, OSError, AttributeError):
                context.stop()
            with suppress(Py4JError, OSError):
                gateway.shutdown()
        if jvm is not None:
            jvm.end()


def context_of(jvm: Jvm, settings: Mapping[str, str]) -> SparkContext:
    """
    Makes a SparkContext in a JVM.

    Raises:
        JvmEnded: the JVM does not start.
        Py4JJavaError: Spark does not.
    """
    # Spark finds its workers' interpreter here, and nowhere else when it is embedded.
    python = settings.get("spark.pyspark.python", sys.executable)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = python
    # PySpark keeps the JVM that it has known, also when that is gone.
    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001
    SparkContext._active_spark_context = None  # noqa: SLF001
    conf = SparkConf(loadDefaults=False)
    for key, value in with_redaction(settings).items():
        conf.set(key, value)
    listens = jvm.gateway()
    # PySpark's way to be told of a JVM that runs already.
    os.environ["PYSPARK_GATEWAY_PORT"] = str(listens.port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = listens.secret
    try:
        return SparkContext(conf=conf, gateway=launch_gateway(conf))  # type: ignore[no-untyped-call]
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]


def with_redaction(settings: Mapping[str, str]) -> dict[str, str]:
    """Has Spark's web interface and event logs hide the keys whose values are of providers."""
    if not (keys := [key for key, value in settings.items() if hide(value) != value]):
        return dict(settings)
    written = settings.get(_REDACTION, _REDACTED_BY_DEFAULT)
    named = "|".join(rf"^\Q{key}\E$" for key in sorted(keys))
    return {**settings, _REDACTION: f"{written}|{named}"}


def _reason(error: Py4JJavaError) -> str:
    """The last line of the Python traceback inside of Spark's, or Spark's own message."""
    message = str(error.java_exception.getMessage() or error)
    lines = [line for line in message.splitlines() if line and not line[0].isspace()]
    python = [line for line in lines if "Error" in line or "mm2." in line or "flows." in line]
    return (python or lines or [message])[-1]
