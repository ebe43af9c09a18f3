"""
The slots of this node's Spark, which all flows that it leads have together.

A bundle has its slot from its beginning to its end, also between two jobs: what runs is never
pushed out by what waits. Each flow gets a share
(``mm2.core.balancing.spark_slots``) and has no more bundles than that, so that a bundle that waits
gets a slot as soon as others have drained.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import structlog

from mm2.core.balancing.spark_slots import SlotLedger, SlotLimit

log = structlog.get_logger()

Refused: TypeAlias = Callable[[int, str | None], None]
"""Called with a bundle that has waited long, and why; with None when it runs after that."""

_ENOUGH: Final = 1 << 31
"""Of a cluster, until it is seen how many tasks it runs."""

_MASTER: Final = "spark.master"
_SAID_AFTER_S: Final = 20.0
"""Until then others may still be draining."""


class Slots:
    """
    Divides slots among flows.

    Args:
        count: how many there are; None if a cluster gives them, as many as it has.
        limit: how many a cluster may give, where a setting says so.
    """

    def __init__(self, count: int | None, *, limit: SlotLimit | None = None) -> None:
        self._is_cluster = count is None
        self._limit = limit
        self._most = max(1, limit.count) if limit is not None else _ENOUGH
        self._count = self._most if count is None else count
        self._ledger = SlotLedger(self._count)
        self._flows: set[FlowSlots] = set()
        self._holders: dict[str, tuple[FlowSlots, int]] = {}
        self._waiting: set[str] = set()
        self._is_news = asyncio.Event()

    def join(self, *, changed: Callable[[], None], refused: Refused) -> FlowSlots:
        """
        What a flow sees of the slots; it takes part in the division once it says what it wants.

        Args:
            changed: called when the flow's share is another than it was.
            refused: told of a bundle that waits for a slot, or for an executor.
        """
        flow = FlowSlots(self, changed, refused)
        self._flows.add(flow)
        return flow

    def request(self, flow: FlowSlots, bundles: int) -> int:
        """
        Has a flow take part in the division; returns how many bundles it may have.

        Args:
            flow: which.
            bundles: how many it can use.
        """
        self._notify(self._ledger.request(flow, bundles))
        return self._ledger.share(flow)

    async def take(self, flow: FlowSlots, bundle: int, job: str) -> None:
        """Waits until a bundle has a slot, in which it runs as this job."""
        while not self._ledger.take(flow, bundle) and self._count != _ENOUGH:
            await self._is_news.wait()
        self._holders[job] = flow, bundle

    def give(self, flow: FlowSlots, bundle: int, job: str) -> None:
        """Takes the slot of a bundle back."""
        self._holders.pop(job, None)
        self._waiting.discard(job)
        self._ledger.give(flow, bundle)
        self._notify(())

    def report_waiting(self, job: str, reason: str | None) -> None:
        """Tells a flow why its job, which has a slot, has no executor; None: it runs."""
        if job in self._holders:
            self._waiting = self._waiting - {job} if reason is None else self._waiting | {job}
            flow, bundle = self._holders[job]
            flow.refused(bundle, reason)

    def is_waiting(self, job: str) -> bool:
        """Whether a job has a slot, and has waited long for an executor."""
        return job in self._waiting

    def leave(self, flow: FlowSlots) -> None:
        """Takes a flow out of the division."""
        self._flows.discard(flow)
        self._notify(self._ledger.leave(flow))

    def are_short(self) -> bool:
        """Whether flows could use more of them than there are."""
        return self.missing > 0

    @property
    def missing(self) -> int:
        """How many more flows could use than there are."""
        return max(0, self._ledger.wanted - self._count)

    def are_used_up(self, running: int) -> bool:
        """Whether flows could use more, which may come, and as many bundles run as may."""
        return self.are_short() and self._count < self._most and running >= self._count

    def narrow(self, count: int) -> bool:
        """Has flows do with fewer slots, at least one; says if they divide partitions anew."""
        is_less = max(1, count) < min(self._count, self._ledger.wanted)
        if is_less:
            self._resize(max(1, count))
        return is_less

    def widen(self) -> None:
        """Gives flows one slot more than they had."""
        if self.are_short():
            self._resize(self._count + 1)

    def _resize(self, count: int) -> None:
        log.info("spark.slots_changed", slots=count, wanted=self._ledger.wanted)
        self._count = count
        self._notify(self._ledger.resize(count))

    def why_none(self) -> str:
        """What to say where there is no slot."""
        remedy = self.remedy
        if self.key != _MASTER:
            remedy = f"raise {self.key}, or lower tasks.max"
        return f"all {self._count} slots of Spark are taken: {remedy}"

    @property
    def key(self) -> str:
        """The setting that keeps them from being more."""
        if self._is_cluster and self._limit is not None and self._count == self._most:
            return self._limit.key
        return _MASTER

    @property
    def remedy(self) -> str:
        """What to do where slots are missing."""
        if self._is_cluster:
            return "add workers, have other applications leave cores free, or lower tasks.max"
        return "give spark.master more, and start the process again, or lower tasks.max"

    def _notify(self, concerned: Iterable[object]) -> None:
        # All waiters check again.
        self._is_news.set()
        self._is_news = asyncio.Event()
        for flow in self._flows.intersection(concerned):
            flow.changed()


class FlowSlots:
    """
    What one flow has of the slots.

    Args:
        slots: of the node.
        changed: called when the flow's share is another than it was.
        refused: told of a bundle that waits for a slot, or for an executor.
    """

    def __init__(self, slots: Slots, changed: Callable[[], None], refused: Refused) -> None:
        self._slots = slots
        self.changed = changed
        self.refused = refused

    def request(self, bundles: int) -> int:
        """Says how many bundles the flow can use; returns how many it may have."""
        return self._slots.request(self, bundles)

    def most(self, tasks_max: int, partitions: int) -> int:
        """
        Wants a slot for each bundle that has something to copy.

        Args:
            tasks_max: most bundles that the flow is to have.
            partitions: how many it has; more bundles than that are of no use.

        Returns:
            Into how many bundles to divide the partitions: one at least, which waits if it has no
            slot.
        """
        requested = min(tasks_max, partitions)
        share = self.request(requested)
        if share == requested:
            return tasks_max
        log.error("spark.too_narrow", tasks=share, tasks_max=tasks_max, key=self._slots.key)
        return max(1, share)

    @asynccontextmanager
    async def acquire(self, bundle: int, job: str) -> AsyncIterator[None]:
        """Waits until there is a slot for a bundle, which has it meanwhile and runs as ``job``."""
        try:
            async with asyncio.TaskGroup() as group:
                complaint = group.create_task(self._complain(bundle), name="no-slot")
                await self._slots.take(self, bundle, job)
                complaint.cancel()
            yield
        finally:
            self._slots.give(self, bundle, job)

    def is_waiting(self, job: str) -> bool:
        """Whether a job has a slot, and has waited long for an executor."""
        return self._slots.is_waiting(job)

    def leave(self) -> None:
        """Wants no slots any more."""
        self._slots.leave(self)

    async def _complain(self, bundle: int) -> None:
        await asyncio.sleep(_SAID_AFTER_S)
        reason = self._slots.why_none()
        log.error("spark.no_slot", bundle=bundle, error=reason)
        self.refused(bundle, reason)
