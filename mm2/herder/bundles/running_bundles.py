"""The tasks of a flow's bundles: each waits for Spark and a slot, and runs until it is to end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress

import structlog

from mm2.core.model import TopicName, TopicPartition
from mm2.herder.bundles.assignment_writer import AssignmentWriter
from mm2.herder.bundles.bundle_supervisor import BundleSupervisor
from mm2.herder.flow_protocols import BundleRunner
from mm2.protocol.bundle_spec import BundleSpec
from mm2.slot_allocation import FlowSlots
from mm2.supervision import keep_running

log = structlog.get_logger()


class RunningBundles:
    """
    Starts and ends bundles.

    Args:
        assignments: notes what the tasks may write to.
        spec: of a bundle whose job begins now.
        begin: awaited before a bundle begins to copy.
    """

    def __init__(
        self,
        runner: BundleRunner,
        slots: FlowSlots,
        assignments: AssignmentWriter,
        group: asyncio.TaskGroup,
        *,
        spec: Callable[[int], BundleSpec],
        held: Callable[[int], Mapping[TopicPartition, TopicName]],
        begin: Callable[[int], Awaitable[None]],
    ) -> None:
        self._runner = runner
        self._slots = slots
        self._assignments = assignments
        self._group = group
        self._spec = spec
        self._held = held
        self._begin = begin
        self._supervisors: dict[int, BundleSupervisor] = {}
        # Those of them that have copied nothing yet, because Spark or a slot is waited for.
        self._waiting: dict[int, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def numbers(self) -> list[int]:
        """Of all bundles that were started and are not to end, in order."""
        return sorted(self._supervisors)

    def __contains__(self, index: int) -> bool:
        """Whether a bundle was started, and is not to end."""
        return index in self._supervisors

    def began(self) -> dict[int, float]:
        """The bundles whose job is under way, and when it was submitted, by the loop's clock."""
        found = ((index, each.began) for index, each in self._supervisors.items())
        return {index: began for index, began in found if began is not None}

    async def is_running(self, index: int) -> bool:
        """Whether the job of a bundle has an executor."""
        return await self._runner.is_running(self._spec(index).name)

    def copying(self, index: int) -> BundleSupervisor | None:
        """The supervisor of a bundle that may have copied something; None for others."""
        return None if index in self._waiting else self._supervisors.get(index)

    def start(self, index: int) -> None:
        """Starts a bundle, when an earlier one of its number has ended."""
        name = self._spec(index).name
        earlier = self._named(name)
        supervisor = self._supervisors[index] = BundleSupervisor(name, lambda: self._job(index))

        async def run() -> None:
            if earlier:
                await asyncio.wait(earlier)
            with structlog.contextvars.bound_contextvars(task=index):
                # Flows that come while Spark starts have a share of the slots before any is taken.
                await keep_running(name, self._runner.start)
                async with self._slots.acquire(index, name):
                    await keep_running(name, lambda: self._begin(index))
                    await supervisor.run()

        task = self._waiting[index] = self._group.create_task(run(), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def mark_copying(self, index: int) -> None:
        """Notes that a bundle copies from now on."""
        del self._waiting[index]

    async def _job(self, index: int) -> None:
        spec = self._spec(index)
        self._assignments.begins(index, self._held(index))
        totals = await self._runner.run(spec)
        if totals.get("drained"):
            self._assignments.has_drained(index)
        log.info("bundle.ended", bundle=spec.name, **totals)

    def end(self, index: int, *, within_s: float) -> None:
        """Lets the job of a bundle be its last, which is cut off if it takes longer."""
        supervisor = self._supervisors.pop(index)
        supervisor.end()
        if waiting := self._waiting.pop(index, None):
            waiting.cancel()
        # Its process may hang, and another bundle of this number would wait for it.
        ending = self._end_in_time(self._named(supervisor.name), within_s)
        self._group.create_task(ending, name=f"{supervisor.name}/end")

    def _named(self, name: str) -> list[asyncio.Task[None]]:
        return [task for task in self._tasks if task.get_name() == name]

    async def _end_in_time(self, tasks: list[asyncio.Task[None]], within_s: float) -> None:
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=within_s)
            _cut_off(late, within_s)

    def end_all(self) -> None:
        """Lets each job be the last of its bundle."""
        for supervisor in self._supervisors.values():
            supervisor.end()
        for task in self._waiting.values():
            task.cancel()

    async def suspend(self, supervisor: BundleSupervisor, *, within_s: float) -> None:
        """Waits until the job of a bundle, whose stop is written, has ended."""
        is_waiting = await self._is_waiting(supervisor.name)
        await supervisor.suspend(within_s=0 if is_waiting else within_s)

    async def finish(self, *, within_s: float, may_drain: bool) -> None:
        """
        Waits until all have ended.

        Args:
            within_s: what takes longer is cut off.
            may_drain: False cuts all off at once: they do not know that they are to end.
        """
        if may_drain and (tasks := list(self._tasks)):
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await asyncio.gather(*map(self._end_waiting, tasks))
                    await asyncio.wait(tasks)
        late = list(self._tasks)
        _cut_off(late, within_s)
        await asyncio.gather(*late, return_exceptions=True)

    async def _end_waiting(self, task: asyncio.Task[None]) -> None:
        if await self._is_waiting(task.get_name()):
            task.cancel()

    async def _is_waiting(self, name: str) -> bool:
        """
        Whether a job, whose stop is written, has nothing to drain because it has no executor.

        What was seen last may be a second old. A job that begins after it was asked for here reads
        its stop before it copies anything.
        """
        return self._slots.is_waiting(name) and not await self._runner.is_running(name)


def _cut_off(tasks: Collection[asyncio.Task[None]], within_s: float) -> None:
    for task in tasks:
        log.error("bundle.not_drained", bundle=task.get_name(), within_s=within_s)
        task.cancel()
