"""
A Spark application, and the jobs of one task that run in it.

``RDD.mapPartitions`` rather than ``mapInArrow``, whose first task starts seconds later because it
imports pandas (docs/adr/0001).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, ClassVar, Final, TypeVar

import structlog
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

from flows.spark.context import context_of, give_up, is_alive, tell_end
from flows.spark.installed import check_master
from flows.spark.jvm import Jvm
from flows.spark.live_slots import LiveSlots
from flows.spark.network_checks import NetworkChecks
from flows.spark.settings import spark_settings
from flows.spark.spark_errors import not_started, reason_of
from flows.spark.spark_job import JobFailed, SparkJob, cancel, submit
from flows.spark.start_watch import STARTS_WITHIN_S, StartWatch
from flows.spark.submitted import SubmittedJvm, is_submitted
from flows.spark.tried_versions import warn_if_untried
from flows.spark.warmth import WARM_AFTER_S, Warmth
from flows.spark.yarn import YARN, YarnApplications, with_tag
from mm2.core.balancing.spark_slots import DEFAULT_MASTER, slot_limit, slots_of, with_cores
from mm2.errors import FatalError
from mm2.slot_allocation import Slots
from mm2.telemetry.logs import relay

log = structlog.get_logger()

T = TypeVar("T")

_LOCAL: Final = {
    # Spark would make one thread for each slot at once, for messages of which there are few.
    "spark.rpc.netty.dispatcher.numThreads": "2",
    # Its only executor is in the same process, and need not send a heartbeat each ten seconds.
    "spark.executor.heartbeatInterval": "30s",
}

_FORCED: Final = {
    # A task's function holds its bundle's passwords; PySpark would write a longer one to a file.
    "spark.broadcast.UDFCompressionThreshold": "1g",
}
"""Settings that the user's do not replace."""

_MOST_JOBS: Final = 4096
"""Of a cluster, which may give more slots while jobs wait for them; threads come as needed."""

_CALLS: Final = 6
"""Two of them may wait long for an executor, and one for a silent master."""

_CANCEL_AGAIN_S: Final = 1.0
_END_AGAIN_S: Final = 1.0


class SparkJobs:
    """
    A Spark application and the jobs in it.

    Args:
        settings: ``spark.*`` keys of the user, over our defaults.
        jvm: one that is on its way already; it becomes the engine's.
        environment: more variables for JVMs that are started later.
        warm_after_s: how long after its start an application that has nothing to do runs an empty
            task, so that the first job of a node that takes over need not wait for what a first
            task costs.
        starts_within_s: how long the application may take to start.
        is_patient: whether jobs wait for executors until the cluster forgets the application.
        heard: is given the lines that tasks print on this machine; says whether it knows them.

    Attributes:
        slots: each job must have one; without it Spark would let it wait without a message.
        settings: ``spark.*`` keys as they are used.
        is_cluster: whether tasks run elsewhere than in the JVM of the driver.
        resubmits: whether jobs that have failed are submitted again.
    """

    resubmits: ClassVar[bool] = False

    def __init__(
        self,
        settings: Mapping[str, str],
        *,
        jvm: Jvm | None = None,
        environment: Mapping[str, str] | None = None,
        warm_after_s: float = WARM_AFTER_S,
        starts_within_s: float = STARTS_WITHIN_S,
        is_patient: bool = False,
        heard: Callable[[str], bool] = relay,
    ) -> None:
        self.settings = {**spark_settings(settings), **_FORCED}
        master = self.settings.get("spark.master", DEFAULT_MASTER)
        self.settings["spark.master"] = with_cores(master, os.cpu_count() or 1)
        cpus = self.settings.get("spark.task.cpus", "1")
        self.settings = with_tag(self.settings)
        slots = slots_of(self.settings["spark.master"], cpus)
        if slots is not None:
            self.settings = {**_LOCAL, **self.settings}
        self.slots = Slots(slots, limit=slot_limit(self.settings))
        self.is_cluster = slots is None
        self._network = NetworkChecks(self.settings)
        self._has_run = False
        self._submitted: set[str] = set()
        self._following: asyncio.Task[None] | None = None
        self._jvm = jvm
        self._environment = environment
        self._context: SparkContext | None = None
        # What all who start it at the same time wait for.
        self._starting: asyncio.Task[SparkContext] | None = None
        self._starts_within_s = starts_within_s
        self._is_patient = is_patient
        self._heard = heard
        # Py4J blocks a thread for as long as a job runs.
        self._threads = ThreadPoolExecutor(slots or _MOST_JOBS, "spark")
        # What is asked of Spark beside the jobs must not wait for the end of one.
        self._calls = ThreadPoolExecutor(_CALLS, "spark-calls")
        self._warmth = Warmth(self._calls, is_cluster=self.is_cluster, after_s=warm_after_s)

    async def start(self) -> None:
        """
        Starts the application if it does not run (any more).

        Raises:
            FatalError: the JVM does not start.
        """
        await self._started()

    async def follow_warmth(self, tell: Callable[[bool], None]) -> None:
        """Tells when a job would begin at once, and when it waits long for an executor."""
        await self._warmth.follow(tell)

    async def run_job(self, spark_job: SparkJob[T]) -> T:
        """
        Runs one job, which has a slot, to its end and returns its result.

        Cancelling this cancels the job, and with it the task's process.

        Raises:
            JobFailed: the job ended with an error, or the JVM is gone; submit it again.
        """
        self._network.check_passwords(spark_job.passwords)
        context = await self._started()
        self._warmth.skip()
        loop = asyncio.get_running_loop()
        job = loop.run_in_executor(self._threads, submit, context, spark_job)
        self._submitted.add(spark_job.group)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            # Spark cancels jobs that it knows; this one may be on its way there.
            while not job.done():
                await loop.run_in_executor(self._calls, cancel, context, spark_job.group)
                await asyncio.wait({job}, timeout=_CANCEL_AGAIN_S)
            if not job.cancelled():
                job.exception()  # That it was cancelled is no news; asyncio wants it to be seen.
            raise
        finally:
            self._submitted.discard(spark_job.group)

    async def stop(self) -> None:
        """Ends the application; its JVM and Python workers are gone when this returns."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._calls, self._shut_down)
        while self._starting is not None and not self._starting.done():
            # Without its JVM it fails soon, unless it had not even begun with that.
            await asyncio.wait({self._starting}, timeout=_END_AGAIN_S)
            await loop.run_in_executor(self._calls, self._shut_down)
        if self._following is not None:
            self._following.cancel()
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
            self._calls, is_alive, self._context, self._jvm
        ):
            await loop.run_in_executor(self._calls, tell_end, self._context, self.settings)
            await loop.run_in_executor(self._calls, self._shut_down)
        if self._context is None:
            try:
                self._context = await loop.run_in_executor(self._calls, self._launch)
            except FatalError as error:
                if self.is_cluster and self._has_run:  # A master that is away comes back.
                    raise JobFailed(str(error)) from None
                raise
            self._follow_cluster()
        return self._context

    def _follow_cluster(self) -> None:
        if self.is_cluster and (self._following is None or self._following.done()):
            follower = LiveSlots(
                self.slots,
                submitted=lambda: self._submitted,
                context=lambda: self._context,
                restart=self._forget,
                threads=self._calls,
                warmth=self._warmth,
                moves=self.resubmits,
                is_patient=self._is_patient,
            )
            self._following = asyncio.create_task(follower.run(), name="live-slots")

    def _forget(self) -> None:
        """Ends the JVM, unless no other could reach the master; jobs fail, and start another."""
        # Meanwhile these may be replaced by those of the next application.
        context, jvm = self._context, self._jvm
        try:
            check_master(self.settings)
        except FatalError:
            return
        if context is not None and jvm is not None:
            give_up(context, jvm, self.settings)
            jvm.end(within_s=0.0)
            if not jvm.is_own:
                context.stop()

    def _launch(self) -> SparkContext:
        check_master(self.settings)
        jvm = self._jvm = self._jvm or self._new_jvm()
        # What Spark and its JVM print stays out of the user's terminal, our own lines apart.
        jvm.listen(self._heard)
        watch = StartWatch(jvm, self.settings, within_s=self._starts_within_s)
        try:
            with watch:
                context = context_of(jvm, self.settings)
        except Exception as error:
            if watch.is_late:
                self._jvm = None
                raise watch.too_late() from error
            # An error of Spark's can be asked only while its JVM runs.
            reason = reason_of(error) if isinstance(error, Py4JJavaError) else None
            # A retry needs another JVM: this one writes its port only once.
            self._jvm = None
            jvm.end()
            raise not_started(reason or jvm.failure_reason(), self.settings) from error
        slots = context.defaultParallelism
        log.info("spark.started", master=context.master, slots=slots, version=context.version)
        warn_if_untried(context.version)
        self._network.warn_if_open()
        self._has_run = True
        self._warmth.begin(context)
        return context

    def _new_jvm(self) -> Jvm:
        if is_submitted():
            return SubmittedJvm()
        return Jvm(self.settings, environment=self._environment)

    def _shut_down(self) -> None:
        context, self._context = self._context, None
        jvm, self._jvm = self._jvm, None
        self._warmth.skip()
        if context is not None:
            gateway: Any = context._gateway  # noqa: SLF001 - there is no public way to end it
            with suppress(Py4JError, OSError, AttributeError):
                context.stop()
            if jvm is None or jvm.is_own:
                with suppress(Py4JError, OSError):
                    gateway.shutdown()
        if jvm is not None:
            if jvm.starting is not None and self.settings["spark.master"] == YARN:
                YarnApplications(jvm.starting, self.settings).kill()
            jvm.end()
