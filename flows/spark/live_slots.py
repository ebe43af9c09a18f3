"""
Has the slots of a node follow what a Spark cluster gives it.

A cluster says nowhere how many tasks it will run: executors come with demand, late, or never. So
each bundle is submitted, and if one waits while others run, there are as many slots as run. From
then on an empty job waits for the next executor; when it has had one, there is another slot.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Final

import structlog
from pyspark import SparkContext

from flows.spark.decommissioning import begin_again, jobs_to_move
from flows.spark.spark_job import JVM_GONE, cancel, is_running
from flows.spark.standalone_master import RepeatedRequest, is_forgotten
from flows.spark.warmth import Warmth, runs_empty_job
from mm2.core.balancing.waiting_jobs import RestartRule, WaitingJobs
from mm2.slot_allocation import Slots
from mm2.telemetry.spark_use import OF_PROCESS, LastSpark, SparkUse

log = structlog.get_logger()

_CHECK_EVERY_S: Final = 1.0
_HAND_OVER_S: Final = 5.0
"""A bundle that runs gives its partitions away, and ends, sooner than that."""

_ANSWERS_WITHIN_S: Final = 2.0
"""A master that is silent for longer has not answered; Spark itself waits for 30 s."""

_PROBE: Final = "mm2/next-executor"


@dataclass(frozen=True, slots=True)
class _Slots:
    """
    The jobs that have a running task, and where.

    Attributes:
        processes: how many tasks run in each, by its address: in executors, and none in the driver.
    """

    running: frozenset[str]
    processes: Mapping[str, int]

    @property
    def executors(self) -> int:
        """How many there are."""
        return max(0, len(self.processes) - 1)


class LiveSlots:
    """
    Looks each second what runs.

    Args:
        slots: of the node.
        submitted: the groups of the jobs that are to run.
        context: of the application, while it runs.
        restart: ends an application that the cluster does not know any more, unless its master is
            away; blocks.
        threads: for calls of Spark.
        warmth: of the application.
        moves: whether jobs, which are submitted again, are to leave executors that are to go.
        is_patient: whether only an application that is known to be forgotten is ended.
        last: what metrics show.
    """

    def __init__(
        self,
        slots: Slots,
        *,
        submitted: Callable[[], Collection[str]],
        context: Callable[[], SparkContext | None],
        restart: Callable[[], None],
        threads: Executor,
        warmth: Warmth,
        moves: bool = False,
        is_patient: bool = False,
        last: LastSpark = OF_PROCESS,
    ) -> None:
        self._slots = slots
        self._last = last
        self._submitted = submitted
        self._context = context
        self._restart = restart
        self._threads = threads
        self._warmth = warmth
        self._moves = moves
        self._waiting = WaitingJobs()
        self._restarts = RestartRule(is_patient=is_patient)
        self._request = RepeatedRequest(threads)
        self._reported: set[str] = set()
        self._busy: set[str] = set()
        self._lost = self._times_restarted = self._moved = 0
        self._makes_room_at = math.inf
        self._probe: asyncio.Future[bool] | None = None
        self._question: asyncio.Future[bool | None] | None = None
        self._is_forgotten: bool | None = False
        self._known: SparkContext | None = None
        self._failure: str | None = None

    async def run(self) -> None:
        """Follows until it is cancelled; metrics are then told of no cluster any more."""
        try:
            await self._run()
        finally:
            self._last.use = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_EVERY_S)
            try:
                await self._check_once()
            except JVM_GONE:
                continue  # Jobs fail, too, and start another.
            except Exception as error:  # noqa: BLE001 - nobody else would look again
                self._complain(f"{type(error).__name__}: {error}")
            else:
                self._failure = None

    def _complain(self, failure: str) -> None:
        """Says once why nothing is seen, until that is another reason."""
        if failure != self._failure:
            log.warning("spark.not_followed", error=failure)
        self._failure = failure

    async def _check_once(self) -> None:
        context, submitted = self._context(), frozenset(self._submitted())
        if context is not self._known:
            self._known, self._waiting, self._probe = context, WaitingJobs(), None
            self._busy, self._question, self._is_forgotten = set(), None, False
        if context is not None:
            seen = await self._call(_slots_now, context, submitted)
            await self._follow(context, submitted, seen)

    async def _follow(self, context: SparkContext, submitted: frozenset[str], seen: _Slots) -> None:
        now, executors = time.monotonic(), seen.executors
        late = self._waiting.look(
            now, submitted=submitted, running=seen.running, executors=executors
        )
        self._note(context, now, submitted, seen)
        self._request.look(now, context, waits=not submitted <= seen.running)
        if late and seen.running:
            await self._make_do(context, late, seen.running)
        if self._moves:
            await self._move(context, seen.running)
        self._tell(late, seen.running)
        waits = bool(submitted) and not seen.running
        is_doubtful = late or (waits and not executors)
        is_lost = await self._ask_master(context) if is_doubtful else None
        if self._restarts.look(now, waits=waits, executors=executors, is_forgotten=is_lost):
            self._times_restarted += 1
            log.warning("spark.restarting", bundles=sorted(submitted))
            await self._call(self._restart)
        self._count_more(context, in_use=len(seen.running) if submitted <= seen.running else 0)

    async def _ask_master(self, context: SparkContext) -> bool | None:
        """
        Whether the application is forgotten, by the last answer.

        Masters are asked one after the other, and may take long. Until they have answered once it
        is not: they would have no new one register either.
        """
        if self._question is None:
            loop = asyncio.get_running_loop()
            self._question = loop.run_in_executor(self._threads, is_forgotten, context)
        await asyncio.wait({self._question}, timeout=_ANSWERS_WITHIN_S)
        if self._question.done():
            question, self._question = self._question, None
            self._is_forgotten = question.result()
        return self._is_forgotten

    def _note(
        self, context: SparkContext, now: float, submitted: frozenset[str], seen: _Slots
    ) -> None:
        """Tells metrics what runs; an executor without a task may have been given back."""
        self._warmth.note(
            context,
            now,
            is_idle=not submitted,
            runs=bool(seen.running),
            executors=seen.executors,
        )
        self._lost += len(self._busy - seen.processes.keys())
        self._busy = {place for place, tasks in seen.processes.items() if tasks}
        self._last.use = SparkUse(
            executors=seen.executors,
            running=len(seen.running),
            waiting=len(submitted - seen.running),
            slots_missing=self._slots.missing,
            lost=self._lost,
            moved=self._moved,
            restarts=self._times_restarted,
            is_warm=self._warmth.is_reached,
        )

    async def _make_do(
        self, context: SparkContext, late: Collection[str], running: Collection[str]
    ) -> None:
        """
        Has fewer bundles take all partitions.

        A bundle that is to give its partitions away must run for that: only its next task makes
        sure that its last one, in an executor that was lost, writes nothing any more. If it does
        not get to run, another one makes room once, and begins again behind it.
        """
        now = time.monotonic()
        if self._slots.narrow(len(running)):
            self._makes_room_at = now + _HAND_OVER_S
        elif now >= self._makes_room_at:
            self._makes_room_at = math.inf
            flows = {_flow_of(job) for job in late}
            nearest = sorted(running, key=lambda job: (_flow_of(job) not in flows, job))
            for job in nearest[: len(late)]:
                await self._call(cancel, context, job)

    async def _move(self, context: SparkContext, running: Collection[str]) -> None:
        """Has jobs leave executors that are to go, for others that are idle."""
        moves = await self._call(jobs_to_move, context, running)
        for group, job in moves.jobs.items():
            log.info("spark.decommissioned", bundle=group)
            self._moved += 1
            await self._call(begin_again, context, job)
        if moves.needs_room and self._probe is None:
            self._ask_for_executor(context)

    def _tell(self, late: Collection[str], running: Collection[str]) -> None:
        """Says once of each job that it waits, and tells its flow, also when it runs again."""
        for job in sorted({*late} - self._reported):
            reason = "the Spark cluster gives this application no executor for it"
            error = f"{reason}: {self._slots.remedy}"
            log.error("spark.no_slot", bundle=job, error=error)
            self._slots.report_waiting(job, error)
        for job in filter(self._slots.is_waiting, running):
            self._slots.report_waiting(job, None)
        self._reported = {*late}

    def _count_more(self, context: SparkContext, *, in_use: int) -> None:
        """Has an empty job wait for the next executor while flows could use one."""
        if self._probe is not None and self._probe.done():
            has_run, self._probe = self._probe.result(), None
            # It may also have had the core of a job that has just ended and begins again.
            if has_run and self._slots.are_used_up(in_use):
                self._slots.widen()
        elif self._probe is None and self._slots.are_used_up(in_use):
            self._ask_for_executor(context)

    def _ask_for_executor(self, context: SparkContext) -> None:
        """Spark asks the cluster for what a job needs, and no executor that is to go runs it."""
        loop = asyncio.get_running_loop()
        self._probe = loop.run_in_executor(self._threads, runs_empty_job, context, _PROBE)

    async def _call(self, call: Callable[..., Any], *arguments: object) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, call, *arguments)


def _flow_of(job: str) -> str:
    return job.rpartition("/")[0]


def _slots_now(context: SparkContext, submitted: frozenset[str]) -> _Slots:
    java: Any = context._jsc  # noqa: SLF001 - PySpark's own tracker does not know executors
    processes = {
        f"{each.host()}:{each.port()}": int(each.numRunningTasks())
        for each in java.sc().statusTracker().getExecutorInfos()
    }
    return _Slots(frozenset(job for job in submitted if is_running(context, job)), processes)
