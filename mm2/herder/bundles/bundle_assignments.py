"""
The bundles of one flow: which partitions each has, and that each keeps running.

Assignments go to the control topic, where running tasks pick them up; a partition that came up
while the flow runs joins the lightest bundle, and nobody else notices. A partition that changes
hands is first taken from its bundle, and given to the other once the first reports that it has
drained and committed it (``mm2.core.balancing.partition_handover``). A bundle that has nothing left
ends. With other settings, bundles drain and start again one after the other, so that most
partitions go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

import structlog

from mm2.core.balancing.partition_handover import Handover
from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError
from mm2.herder.bundles.assignment_writer import AssignmentWriter
from mm2.herder.bundles.bundle_supervisor import BundleSupervisor
from mm2.herder.bundles.running_bundles import RunningBundles
from mm2.herder.flow_protocols import BundleRunner
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_records import Assignment, BundleState
from mm2.slot_allocation import FlowSlots
from mm2.stop_deadlines import CONTROL_WRITE_S, bundle_s

log = structlog.get_logger()

_SHOWN: Final = 10
"""Partitions that a log line names."""


class Bundles:
    """
    Runs the bundles of one flow.

    Calls raise ``ClusterError`` if the control topic cannot be written. ``is_stopping`` is true
    once all bundles are to end.

    Args:
        spec_of: makes the specification of bundle ``index``, each time that it starts.
        writable: remote partitions that earlier tasks of bundles may still write to, because they
            could not be fenced.
        group: owns the bundles' tasks.
    """

    def __init__(
        self,
        runner: BundleRunner,
        writer: Writer,
        *,
        slots: FlowSlots,
        spec_of: Callable[[int], BundleSpec],
        control_topic: str,
        epoch: int,
        balance: Balance,
        writable: Mapping[int, Collection[TopicPartition]] | None = None,
        group: asyncio.TaskGroup,
    ) -> None:
        self._assignments = AssignmentWriter(writer, control_topic, epoch, writable)
        self._running = RunningBundles(
            runner,
            slots,
            self._assignments,
            group,
            spec=self._spec,
            held=self._held,
            begin=self._begin,
        )
        self._spec_of = spec_of
        self._balance = balance
        self._handover = Handover()
        self._remotes: dict[TopicPartition, TopicName] = {}
        self._unpublished: set[int] = set()
        self._planning = asyncio.Lock()
        self._publishing = asyncio.Lock()
        self._suspended: set[int] = set()
        self.is_stopping = False

    async def assign(
        self, partitions: Mapping[TopicPartition, TopicName], most: int | None = None
    ) -> None:
        """
        Gives all partitions to bundles, starting bundles as they are needed.

        Args:
            most: most bundles from now on; as many as before if not given.

        Raises:
            ClusterError: the control topic cannot be written; what is missing goes with the next
                assignment.
        """
        async with self._planning:
            self._remotes |= partitions
            self._balance.bundles = most or self._balance.bundles
            # It takes seconds for a million partitions, and others must have their turn.
            placed = await asyncio.to_thread(self._balance.place, list(partitions))
            self._forget_gone(partitions)
        tasks = len([bundle for bundle in placed if bundle])
        await self._publish()
        log.info("flow.assigned", partitions=len(partitions), tasks=tasks)

    def _forget_gone(self, partitions: Mapping[TopicPartition, TopicName]) -> None:
        """Forgets what no bundle has any more; what one still has goes after the next look."""
        if len(self._remotes) > len(partitions):
            held = {each: self._remotes[each] for held in self._handover.held for each in held}
            self._remotes = {**held, **partitions}

    def holders(self) -> set[int]:
        """Numbers of the bundles that have partitions."""
        return {number for number, held in enumerate(self._handover.held) if held}

    async def rebalance(
        self, sums: Mapping[int, float], rates: Callable[[], Mapping[TopicPartition, float]]
    ) -> None:
        """
        Moves partitions if the loads have been uneven for a while.

        Args:
            sums: of the bundles, in bytes per second.
            rates: the same of the partitions, as far as known; asked for where the sums differ.
        """
        async with self._planning:
            if self._handover.is_pending or self._balance.is_certainly_even(sums):
                return
            is_moved = await asyncio.to_thread(self._balance.look, rates())
        if is_moved:
            await self._publish_moves()

    async def reshape(
        self, strategy: Strategy, bundles: int, rates: Mapping[TopicPartition, float]
    ) -> None:
        """
        Goes on with another number of bundles, or another strategy; only what moves is drained.

        Args:
            rates: in bytes per second, as far as known.
        """
        async with self._planning:
            await asyncio.to_thread(self._balance.reshape, strategy, bundles, rates)
        if self._remotes:  # Else all that is known of is what an earlier leader had.
            await self._publish_moves()

    def began(self) -> dict[int, float]:
        """The bundles whose task was submitted, and when, by the loop's clock."""
        return self._running.began()

    async def is_running(self, index: int) -> bool:
        """Whether the task of a bundle has an executor, as far as Spark says soon."""
        return await self._running.is_running(index)

    async def restart(
        self, bundles: Collection[int] | None = None, *, may_drain: bool = True
    ) -> None:
        """
        Has bundles end and start again, one after the other.

        Args:
            bundles: their numbers; None: all that run.
            may_drain: True lets them drain and commit; False cuts them off.
        """
        for index in self._running.numbers if bundles is None else sorted(bundles):
            supervisor = self._running.copying(index)
            if supervisor is not None and not self.is_stopping:
                await self._restart(index, supervisor, self._stop_within_s() if may_drain else 0)
                log.info("bundle.restarted", bundle=supervisor.name)

    async def _restart(self, index: int, supervisor: BundleSupervisor, within_s: float) -> None:
        try:
            self._suspended.add(index)
            try:
                async with self._publishing:
                    await self._write_stop(index)
                await self._running.suspend(supervisor, within_s=within_s)
            finally:
                self._suspended.discard(index)
                self._unpublished.add(index)
                # The stop may come a second time, and is older than this one then.
                self._handover.generation += 1
            await self._publish()
        finally:
            supervisor.resume()

    async def carried_out(self, bundle: int, generation: int) -> None:
        """Learns that a bundle carried out an assignment: what it gave up is free for others."""
        if self._handover.carried_out(bundle, generation) or self._unpublished:
            await self._publish()

    def assignment_read(self, entry: Assignment) -> None:
        """Has a bundle's assignment written again soon, if an older one has come behind it."""
        if self._assignments.is_overwritten(entry) and entry.index < len(self._handover.held):
            self._unpublished.add(entry.index)

    async def _publish_moves(self) -> None:
        moved = self._moved()
        shown = [str(each) for each in moved[:_SHOWN]]
        log.info("flow.rebalanced", partitions=len(moved), first=shown)
        await self._publish()

    def _moved(self) -> list[TopicPartition]:
        holder = {each: n for n, held in enumerate(self._handover.held) for each in held}
        planned = {each: n for n, bundle in enumerate(self._balance.planned) for each in bundle}
        return sorted(each for each, n in planned.items() if holder.get(each, n) != n)

    async def _publish(self) -> None:
        """Writes the assignments that changed; what could not be written is written next time."""
        async with self._publishing:
            if not self.is_stopping:
                self._unpublished |= self._handover.converge(self._balance.planned, self._idle())
            for index in sorted(self._unpublished - self._suspended):
                if not self.is_stopping:
                    await self._publish_one(index)
            for index in range(len(self._handover.held)):
                if not self.is_stopping:
                    await self._start_or_end(index)

    async def _publish_one(self, index: int) -> None:
        await self._write(index, BundleState.RUNNING)
        self._unpublished.discard(index)

    def _idle(self) -> set[int]:
        """Bundles that cannot have copied anything of what they hold."""
        return {n for n in range(len(self._handover.held)) if self._running.copying(n) is None}

    async def _start_or_end(self, index: int) -> None:
        """A bundle runs from its first partition until it has given up its last."""
        is_running = index in self._running
        if self._handover.held[index] and not is_running:
            self._running.start(index)
        elif is_running and index not in self._suspended and self._is_spare(index):
            await self._write_stop(index)
            self._running.end(index, within_s=self._stop_within_s())

    def _is_spare(self, index: int) -> bool:
        planned = self._balance.planned
        return self._handover.is_empty(index) and not (index < len(planned) and planned[index])

    def _spec(self, index: int) -> BundleSpec:
        return replace(
            self._spec_of(index),
            generation=self._assignments.generation(index),
            unsure=self._assignments.writable(index),
        )

    def _held(self, index: int) -> dict[TopicPartition, TopicName]:
        return {each: self._remotes[each] for each in self._handover.held[index]}

    async def _begin(self, index: int) -> None:
        """From now on the bundle copies; its assignment must have been written by then."""
        async with self._publishing:
            if index in self._unpublished:
                await self._publish_one(index)
            self._running.mark_copying(index)

    async def stop(self) -> None:
        """Lets every bundle drain and commit; one that takes too long is ended."""
        self.is_stopping = True
        self._running.end_all()
        may_drain = await self._publish_stops()
        await self._running.finish(within_s=self._stop_within_s(), may_drain=may_drain)
        await self._publish_drained()

    def _stop_within_s(self) -> float:
        return bundle_s(self._spec_of(0).drain_within_s)

    async def _publish_stops(self) -> bool:
        try:
            async with asyncio.timeout(CONTROL_WRITE_S), self._publishing:
                for index in self._running.numbers:
                    await self._write_stop(index)
        except (TimeoutError, ClusterError) as error:
            log.warning("bundle.stop_not_delivered", error=str(error))
            return False
        return True

    async def _publish_drained(self) -> None:
        """So that the next leader need not have the target refuse tasks that have ended."""
        try:
            async with asyncio.timeout(CONTROL_WRITE_S), self._publishing:
                for index in self._running.numbers:
                    if not self._assignments.is_writable(index):
                        await self._write(index, BundleState.STOPPED, is_drained=True)
        except (TimeoutError, ClusterError) as error:
            log.debug("bundle.stop_not_delivered", error=str(error))

    async def _write_stop(self, index: int) -> None:
        self._handover.generation += 1
        await self._write(index, BundleState.STOPPED)

    async def _write(self, index: int, state: BundleState, *, is_drained: bool = False) -> None:
        generation, held = self._handover.generation, self._held(index)
        await self._assignments.write(index, state, generation, held, is_drained=is_drained)
