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

import structlog

from mm2.core.balancing.partition_handover import Handover
from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError
from mm2.herder.bundles.bundle_supervisor import BundleSupervisor
from mm2.herder.flow_protocols import BundleRunner
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_records import Assignment, BundleState, encode_assignment
from mm2.slot_allocation import FlowSlots
from mm2.stop_deadlines import CONTROL_WRITE_S, bundle_s
from mm2.supervision import keep_running

log = structlog.get_logger()


class Bundles:
    """
    Runs the bundles of one flow.

    Args:
        runner: runs single bundles.
        writer: of the target cluster, for the control topic.
        slots: one for each bundle that runs.
        spec_of: makes the specification of bundle ``index``, each time that it starts.
        control_topic: where assignments go.
        epoch: of this leader.
        balance: decides which bundle gets what.
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
        self._runner = runner
        self._writer = writer
        self._slots = slots
        self._spec_of = spec_of
        self._topic = control_topic
        self._epoch = epoch
        self._balance = balance
        self._group = group
        self._handover = Handover()
        self._remotes: dict[TopicPartition, TopicName] = {}
        self._untold: set[int] = set()
        self._written: dict[int, int] = {}
        # What tasks of a bundle may write to, from their start until they end as they should.
        self._writable = {index: set(remotes) for index, remotes in (writable or {}).items()}
        self._heard: dict[int, tuple[int, int]] = {}
        self._telling = asyncio.Lock()
        self._keepers: dict[int, BundleSupervisor] = {}
        # Those of them that have copied nothing yet, because Spark or a slot is waited for.
        self._waiting: dict[int, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._resting: set[int] = set()
        self._stopping = asyncio.Event()

    async def assign(
        self, partitions: Mapping[TopicPartition, TopicName], most: int | None = None
    ) -> None:
        """
        Gives all partitions to bundles, starting bundles as they are needed.

        Args:
            partitions: everything to copy, with the remote topics.
            most: most bundles from now on; as many as before if not given.

        Raises:
            ClusterError: the control topic cannot be written; what is missing goes with the next
                assignment.
        """
        self._remotes |= partitions
        self._balance.bundles = most or self._balance.bundles
        tasks = len([bundle for bundle in self._balance.place(list(partitions)) if bundle])
        await self._publish()
        log.info("flow.assigned", partitions=len(partitions), tasks=tasks)

    def holders(self) -> set[int]:
        """Numbers of the bundles that have partitions."""
        return {number for number, held in enumerate(self._handover.held) if held}

    async def rebalance(self, rates: Mapping[TopicPartition, float]) -> None:
        """
        Moves partitions if the loads have been uneven for a while.

        Args:
            rates: bytes per second of the partitions, as far as known.

        Raises:
            ClusterError: as for ``assign``.
        """
        if not self._handover.is_pending and self._balance.look(rates):
            moved = self._moved()
            log.info("flow.rebalanced", partitions=len(moved), moved=[str(each) for each in moved])
            await self._publish()

    async def reshape(
        self, strategy: Strategy, bundles: int, rates: Mapping[TopicPartition, float]
    ) -> None:
        """
        Goes on with another number of bundles, or another strategy; only what moves is drained.

        Args:
            strategy: from now on.
            bundles: most bundles from now on.
            rates: bytes per second of the partitions, as far as known.

        Raises:
            ClusterError: as for ``assign``.
        """
        self._balance.reshape(strategy, bundles, rates)
        if not self._remotes:  # All that is known of is what an earlier leader had.
            return
        moved = self._moved()
        log.info("flow.rebalanced", partitions=len(moved), moved=[str(each) for each in moved])
        await self._publish()

    async def restart(self, bundles: Collection[int] | None = None) -> None:
        """
        Has bundles drain, commit and start again, one after the other.

        Args:
            bundles: their numbers; None: all that run.

        Raises:
            ClusterError: the control topic cannot be written.
        """
        for index in sorted(self._keepers if bundles is None else bundles):
            keeper = self._keepers.get(index)
            if keeper is not None and index not in self._waiting and not self._stopping.is_set():
                await self._restart(index, keeper)
                log.info("bundle.restarted", bundle=keeper.name)

    async def _restart(self, index: int, keeper: BundleSupervisor) -> None:
        try:
            self._resting.add(index)
            try:
                async with self._telling:
                    await self._write_stop(index)
                await keeper.suspend(within_s=self._stop_within_s())
            finally:
                self._resting.discard(index)
                self._untold.add(index)
                # The word to stop may come a second time, and is older than this one then.
                self._handover.generation += 1
            await self._publish()
        finally:
            keeper.resume()

    async def carried_out(self, bundle: int, generation: int) -> None:
        """
        Learns that a bundle has carried out an assignment: what it gave up is free for others.

        Raises:
            ClusterError: as for ``assign``.
        """
        if self._handover.carried_out(bundle, generation) or self._untold:
            await self._publish()

    def heard(self, entry: Assignment) -> None:
        """
        Has a bundle's assignment written again, soon after, if an older one has come behind it.

        An older leader wrote that, or it was written twice because an answer was lost. In a
        compacted topic, and to a task that starts, only the last word counts.
        """
        age = entry.epoch, entry.generation
        if age >= self._heard.get(entry.index, (self._epoch, 0)):
            self._heard[entry.index] = age
        elif entry.index < len(self._handover.held):
            self._untold.add(entry.index)

    def _moved(self) -> list[TopicPartition]:
        """Partitions that are wanted in another bundle than they are in."""
        holder = {each: n for n, held in enumerate(self._handover.held) for each in held}
        wanted = {each: n for n, bundle in enumerate(self._balance.wanted) for each in bundle}
        return sorted(each for each, n in wanted.items() if holder.get(each, n) != n)

    async def _publish(self) -> None:
        """Writes the assignments that changed; what could not be written is written next time."""
        async with self._telling:
            if self._stopping.is_set():
                return
            self._untold |= self._handover.converge(self._balance.wanted, self._idle())
            for index in sorted(self._untold - self._resting):
                await self._write(index, BundleState.RUNNING)
                self._untold.discard(index)
            for index in range(len(self._handover.held)):
                await self._start_or_end(index)

    def _idle(self) -> set[int]:
        """Bundles that cannot have copied anything of what they hold."""
        return set(range(len(self._handover.held))) - self._keepers.keys() | self._waiting.keys()

    async def _start_or_end(self, index: int) -> None:
        """A bundle runs from its first partition until it has given up its last."""
        if self._handover.held[index] and index not in self._keepers:
            self._start(index)
        elif index in self._keepers and index not in self._resting and self._is_spare(index):
            await self._write_stop(index)
            self._keepers.pop(index).end()
            if waiting := self._waiting.pop(index, None):
                waiting.cancel()

    def _is_spare(self, index: int) -> bool:
        wanted = self._balance.wanted
        return self._handover.is_empty(index) and not (index < len(wanted) and wanted[index])

    def _start(self, index: int) -> None:
        name = self._spec_of(index).name
        earlier = [task for task in self._tasks if task.get_name() == name]

        async def keep() -> None:
            if earlier:
                await asyncio.wait(earlier)
            with structlog.contextvars.bound_contextvars(task=index):
                # Flows that come while Spark starts have a share of the slots before any is taken.
                await keep_running(name, self._runner.start)
                async with self._slots.acquire(index):
                    await keep_running(name, lambda: self._begin(index))
                    await keeper.run()

        async def job() -> None:
            spec = self._spec_now(index)
            self._note_writable(index)
            totals = await self._runner.run(spec)
            if totals.get("drained"):
                del self._writable[index]
            log.info("bundle.ended", bundle=name, **totals)

        keeper = self._keepers[index] = BundleSupervisor(name, job)
        task = self._group.create_task(keep(), name=name)
        self._waiting[index] = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _spec_now(self, index: int) -> BundleSpec:
        return replace(
            self._spec_of(index),
            generation=self._written.get(index, 0),
            unsure=tuple(sorted(self._writable.get(index, ()))),
        )

    def _note_writable(self, index: int) -> None:
        remotes = {
            TopicPartition(self._remotes[each], each.partition)
            for each in self._handover.held[index]
        }
        self._writable.setdefault(index, set()).update(remotes)

    async def _begin(self, index: int) -> None:
        """From now on the bundle copies; its assignment must have been written by then."""
        async with self._telling:
            if index in self._untold:
                await self._write(index, BundleState.RUNNING)
                self._untold.discard(index)
            del self._waiting[index]

    async def stop(self) -> None:
        """Lets every bundle drain and commit; one that takes too long is ended."""
        self._stopping.set()
        for keeper in self._keepers.values():
            keeper.end()
        for task in self._waiting.values():
            task.cancel()
        within_s = self._stop_within_s()
        if await self._tell_to_stop() and self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        late = list(self._tasks)
        for task in late:
            log.error("bundle.not_drained", bundle=task.get_name(), within_s=within_s)
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        await self._tell_what_is_drained()

    def _stop_within_s(self) -> float:
        return bundle_s(self._spec_of(0).drain_within_s)

    async def _tell_to_stop(self) -> bool:
        try:
            async with asyncio.timeout(CONTROL_WRITE_S), self._telling:
                for index in self._keepers:
                    await self._write_stop(index)
        except (TimeoutError, ClusterError) as error:
            log.warning("bundle.stop_not_delivered", error=str(error))
            return False
        return True

    async def _tell_what_is_drained(self) -> None:
        """So that the next leader need not have the target refuse tasks that have ended."""
        try:
            async with asyncio.timeout(CONTROL_WRITE_S), self._telling:
                for index in self._keepers.keys() - self._writable.keys():
                    await self._write(index, BundleState.STOPPED, is_drained=True)
        except (TimeoutError, ClusterError) as error:
            log.debug("bundle.stop_not_delivered", error=str(error))

    async def _write_stop(self, index: int) -> None:
        self._handover.generation += 1
        await self._write(index, BundleState.STOPPED)

    async def _write(self, index: int, state: BundleState, *, is_drained: bool = False) -> None:
        # A stopped bundle's record keeps its partitions: the next leader leaves them where they
        # are.
        held, generation = self._handover.held[index], self._handover.generation
        if index in self._writable:
            self._note_writable(index)
        key, value = encode_assignment(
            Assignment(
                index=index,
                epoch=self._epoch,
                generation=generation,
                state=state,
                partitions={each: self._remotes[each] for each in held},
                is_drained=is_drained,
            )
        )
        await self._writer.send(self._topic, key, value, partition=0)
        self._written[index] = generation
