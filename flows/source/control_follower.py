"""What a task learns from the control topic: its assignment, a limit, a stop, who leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

import structlog

from flows.source.fetch.rate_limit import RateLimit
from flows.source.superseded import entry_of, raise_if_superseded
from flows.source.task_lease import TaskLease
from mm2.core.balancing.rate_division import FlowRate
from mm2.core.model import SOURCE_CONNECTOR
from mm2.errors import Fenced, SchemaError
from mm2.kafka.logs.log_tail import LogTail
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.command_records import ConnectorState, LiveSettings, RateDivision
from mm2.protocol.control_codec import ControlRecord
from mm2.protocol.control_records import Assignment, BundleState, Lease
from mm2.protocol.desired_state import DesiredState
from mm2.stop_deadlines import OPENING_S
from mm2.telemetry.levels import take_levels

log = structlog.get_logger()

T = TypeVar("T")


class ControlFollower:
    """
    Follows the control topic on behalf of one bundle.

    A task that was started again sees all assignments of its epoch, of which only the last counts:
    earlier ones may name partitions that another bundle has now. A write that is repeated may put
    an earlier one behind the last; generations grow within an epoch, and show it.

    The flow's byte rate is shared by the bundles that have partitions
    (``mm2.core.balancing.rate_division``).

    Args:
        limit: gets this bundle's share of the flow's byte rate, whenever it changes.
        lease: is renewed as long as the leader leads.

    Attributes:
        stop: set when the bundle must drain and end.
    """

    def __init__(self, spec: BundleSpec, limit: RateLimit, lease: TaskLease) -> None:
        self._spec = spec
        self.limit = limit
        self.lease = lease
        self._settings: LiveSettings | None = None
        self._paced: Callable[[LiveSettings], None] = lambda _: None
        self._rate = FlowRate(spec.index, spec.byte_rate_limit)
        self._tail = LogTail(spec.flow.target, spec.target, spec.control_topic)
        self._running: Assignment | None = None
        self._generations = {spec.index: spec.generation}
        self._numbers: dict[str, int] = {}
        self._is_stopped = False
        self._desired = DesiredState()
        self._is_left = asyncio.Event()
        self._news = asyncio.Event()
        self.stop = asyncio.Event()

    def pace(self, paced: Callable[[LiveSettings], None]) -> None:
        """Calls ``paced`` with settings from now on, and with those that came before."""
        self._paced = paced
        if self._settings is not None:
            paced(self._settings)

    @property
    def tasks(self) -> int:
        """How many tasks of the flow have partitions, as far as is known."""
        return self._rate.sharers

    async def follow(self) -> None:
        """
        Follows the topic until cancelled.

        Raises:
            Fenced: a higher epoch leads the flow, or no node; or operators stopped it, and this
                task was not heard for so long that its positions may have been changed.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read_backlog(), name="control-backlog")
            group.create_task(self._leave(), name="control-left")
            async for record in self._tail:
                try:
                    self._take(entry_of(record))
                except SchemaError as error:
                    log.error("control.unreadable", offset=record.offset, error=str(error))

    async def unless_stopped(self, opening: Coroutine[None, None, T]) -> T | None:
        """
        Awaits what opens the task; None if it is to stop, and a cluster still does not answer.

        Such a task has nothing to drain. One that is open sends a final report.

        Raises:
            Exception: whatever ``opening`` raises, in a group.
        """
        async with asyncio.TaskGroup() as group:
            doing = group.create_task(opening, name="opening")
            stopping = group.create_task(self.stop.wait(), name="stopping")
            await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({doing}, timeout=OPENING_S)
            doing.cancel()
            stopping.cancel()
        return None if doing.cancelled() else doing.result()

    async def next_assignment(self) -> Assignment:
        """Waits for an assignment that has not been handed out; older unseen ones are left out."""
        await self._tail.caught_up.wait()
        while True:
            await self._news.wait()
            self._news.clear()
            if self._running is not None and not self._is_unwanted:
                return self._running

    async def _read_backlog(self) -> None:
        await self._tail.caught_up.wait()
        self._end_if_stopped()

    async def _leave(self) -> None:
        """Ends a task that is not heard while it drains, or was not when it was stopped."""
        await self._is_left.wait()
        await self.lease.until_ended()
        raise Fenced(str(self._spec.flow), "the flow was stopped while this task was not heard")

    def _take(self, entry: ControlRecord | None) -> None:
        match entry:
            case Lease() | Assignment() if entry.epoch >= self._spec.epoch:
                raise_if_superseded(self._spec, entry)
                if isinstance(entry, Assignment):
                    self._assigned(entry)
                else:
                    self.lease.renewed(entry.lasts_ms)
            case LiveSettings() if self._is_newest("settings", entry):
                self._rate.configured = entry.byte_rate_limit
                self._settings = entry
                self._paced(entry)
                take_levels(entry.log_levels)
                self._share()
            case RateDivision() if self._is_newest("shares", entry):
                self._rate.divided(entry.portions)
                self._share()
            case _:
                # What operators want, whether a leader is there to pass it on or not.
                self._desired = self._desired.then(entry)
        self._end_if_stopped()

    @property
    def _is_unwanted(self) -> bool:
        return self._desired.state_of(SOURCE_CONNECTOR) is not ConnectorState.RUNNING

    def _is_newest(self, kind: str, entry: LiveSettings | RateDivision) -> bool:
        """Not of another leader, and not an earlier one that was written a second time."""
        if entry.epoch != self._spec.epoch or entry.number < self._numbers.get(kind, 0):
            return False
        self._numbers[kind] = entry.number
        return True

    def _share(self) -> None:
        self.limit.change(self._rate.share)

    def _assigned(self, entry: Assignment) -> None:
        newest = self._generations.get(entry.index, 0)
        if entry.generation < newest:
            log.warning(
                "control.assignment_outdated",
                bundle=entry.index,
                generation=entry.generation,
                newest=newest,
            )
            return
        self._generations[entry.index] = entry.generation
        self._rate.holds(entry.index, something=bool(entry.partitions))
        self._share()
        if entry.index != self._spec.index:
            return
        self._is_stopped = entry.state is BundleState.STOPPED
        if not self._is_stopped:
            self._running = entry
            self._news.set()
        self._end_if_stopped()

    def _end_if_stopped(self) -> None:
        """Of the backlog only the last word counts."""
        if not self._tail.caught_up.is_set():
            return
        if self._desired.state_of(SOURCE_CONNECTOR) is ConnectorState.STOPPED:
            self.lease.let_end()
            self._is_left.set()
        if self._is_stopped or self._is_unwanted:
            self.stop.set()
