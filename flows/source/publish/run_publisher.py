"""
Publishes where exactly the target has the records of the source (``mm2.core.translation.runs``).

Runs go to ``mm2-offset-runs.<other cluster>.internal`` a few times a second, and always before the
positions that stand behind them: a task that takes over then goes on where they end, and nothing is
missing in between. In a transaction they follow it, because before its end they may not be true; a
task that is killed just then leaves a hole. Where there is a hole translations are approximate, and
never wrong. So nothing is ever held up by a topic that cannot be written.

Whoever translates decodes all that is written, in a process that has more to do. So a block that
fills slowly is not rewritten for each of its runs, and what a task writes has a limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import structlog

from flows.source.mirrored_partition import MirroredPartition
from mm2.clock import now_ms
from mm2.core.model import TopicPartition
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.run_tracker import RunTracker
from mm2.core.translation.runs import Block, BlockName, TaskTenure
from mm2.errors import ClusterError
from mm2.kafka.writer import Writer
from mm2.supervision import is_set_within

log = structlog.get_logger()

_ROUND_S: Final = 0.2
_BLOCKS_IN_A_SECOND: Final = 1_000
"""Thousands of busy partitions take turns more slowly, so that the work stays small."""

_RUNS_IN_A_SECOND: Final = 20_000
"""Of one task; decoding them takes less than a tenth of a core."""

_ALL_S: Final = 2.0
"""So often blocks are written that have hardly grown; others as soon as they are worth it."""

_COUNT_S: Final = 60.0
"""How often dropped runs are logged."""

BATCH_BYTES: Final = 256 << 10
"""Of the writer: the other cluster may be far away, and a round of thousands has no time."""

_WAIT_S: Final = 1.0
"""How long positions wait for the runs before them; and before that as long for their turn."""

_PAUSE_S: Final = 5.0
"""After a failure."""


class RunPublisher:
    """
    Publishes the runs of a task.

    Args:
        partitions: of the task; may change at any time.
        is_transactional: whether each commit leaves a marker on the target.
        epoch: of the leader that started the task.
        producer_epoch: of the task's transactional id.
    """

    def __init__(
        self,
        topic: str,
        writer: Writer,
        partitions: Mapping[TopicPartition, MirroredPartition],
        *,
        is_transactional: bool,
        epoch: int = 0,
        producer_epoch: int = 0,
    ) -> None:
        self._epoch, self._producer_epoch = epoch, producer_epoch
        self._topic = topic
        self._writer = writer
        self._partitions = partitions
        self._is_transactional = is_transactional
        self._due = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._pause_until = 0.0
        self._recently_written: set[tuple[TopicPartition, BlockName]] | None = None
        self._copied: dict[TopicPartition, MirroredPartition] = {}
        self._all_at = self._count_at = 0.0
        self._given_up = 0

    @property
    def topic(self) -> str:
        """Where they are published."""
        return self._topic

    def tracker(self, generation: int) -> RunTracker:
        """What gathers the runs of one more partition, which an assignment gave to the task."""
        tenure = TaskTenure(self._epoch, generation, self._producer_epoch, now_ms())
        return RunTracker(is_transactional=self._is_transactional, tenure=tenure)

    def wake(self, partition: MirroredPartition | None = None) -> None:
        """Publishes soon what there is of a partition, or of all."""
        if partition is None:
            self._all_at = 0.0
            self._copied.update(self._partitions)
        else:
            self._copied[partition.source] = partition
        self._due.set()

    async def run(self) -> None:
        """Publishes what is new, until cancelled."""
        while True:
            await self._until_due()
            await asyncio.sleep(self._pause_until - _now())
            self._due.clear()
            await asyncio.sleep(await self._round())

    async def _until_due(self) -> None:
        """Waits for news, and no longer than what was left out may wait."""
        if self._copied:
            await is_set_within(self._due, self._all_at - _now())
        else:
            await self._due.wait()

    async def publish_before_commit(self, partitions: Iterable[MirroredPartition]) -> None:
        """Publishes before positions are committed, if that does not take long."""
        partitions = list(partitions)
        try:
            async with asyncio.timeout(_WAIT_S) as patience, self._one_at_a_time:
                # What others write before has its own time: over a long way that is a while.
                patience.reschedule(_now() + _WAIT_S)
                await self._publish(partitions)
        except TimeoutError:
            # On its way all the same, or next to be written: no reason to pause.
            for partition in partitions:
                self.wake(partition)
            log.info("offset_runs.late", topic=self._topic, within_s=_WAIT_S)

    @contextmanager
    def recording_writes(self) -> Iterator[None]:
        """Remembers meanwhile which blocks are written: ``write_cleanup`` leaves them alone."""
        self._recently_written = set()
        try:
            yield
        finally:
            self._recently_written = None

    async def write_cleanup(
        self, due: Mapping[TopicPartition, Iterable[tuple[BlockName, Block | None]]]
    ) -> int:
        """
        Writes sparse blocks and tombstones, but for blocks that were written meanwhile.

        Returns how many.

        Raises:
            ClusterError: the cluster refuses them.
        """
        async with self._one_at_a_time:
            records = [
                (encode_key(where, *name), None if block is None else encode_value(block))
                for where, each in due.items()
                for name, block in each
                if (where, name) not in (self._recently_written or ())
            ]
            if records:
                await self._writer.send_all(self._topic, records, partition=0)
            return len(records)

    async def _round(self) -> float:
        """Publishes what is new and worth it; returns how many seconds later the next is due."""
        now = _now()
        is_for_all = now >= self._all_at
        async with self._one_at_a_time:
            # Not before: what was given up meanwhile is another task's.
            partitions = self._active()
            if is_for_all:
                self._copied.clear()
            blocks = await self._publish(partitions, grown=not is_for_all)
        if is_for_all:
            self._all_at = now + _ALL_S
            self._count_given_up(partitions)
        runs = sum(len(block.runs) for block in blocks)
        return max(_ROUND_S, len(blocks) / _BLOCKS_IN_A_SECOND, runs / _RUNS_IN_A_SECOND)

    def _active(self) -> list[MirroredPartition]:
        """The partitions of which something was copied since all of that was published."""
        return [each for at, each in self._copied.items() if self._partitions.get(at) is each]

    async def _publish(
        self, partitions: Iterable[MirroredPartition], *, grown: bool = False
    ) -> list[Block]:
        """Publishes what is new of some partitions, and returns it; by one at a time only."""
        partitions = list(partitions)
        if _now() < self._pause_until:
            self._leave_out(partitions)
            return []
        taken = [(each, blocks) for each in partitions if (blocks := _take(each, grown=grown))]
        try:
            if taken:
                await self._write(taken)
        except ClusterError as error:
            _give_back(taken)
            self._leave_out(each for each, _ in taken)
            self._failed(str(error))
        except BaseException:
            _give_back(taken)
            raise
        return [block for _, blocks in taken for block in blocks]

    async def _write(self, taken: Iterable[tuple[MirroredPartition, list[Block]]]) -> None:
        records = [
            (encode_key(partition.source, *block.name), encode_value(block))
            for partition, blocks in taken
            for block in blocks
        ]
        if self._recently_written is not None:
            self._recently_written |= {
                (p.source, block.name) for p, blocks in taken for block in blocks
            }
        await self._writer.send_all(self._topic, records, partition=0)

    def _leave_out(self, partitions: Iterable[MirroredPartition]) -> None:
        self._copied.update((each.source, each) for each in partitions)

    def _failed(self, error: str) -> None:
        self._pause_until = _now() + _PAUSE_S
        self._due.set()
        log.warning("offset_runs.failed", topic=self._topic, error=error)

    def _count_given_up(self, partitions: Iterable[MirroredPartition]) -> None:
        """Logs at intervals how many runs were dropped because they came too fast."""
        for tracker in (each.runs for each in partitions if each.runs is not None):
            self._given_up += tracker.given_up
            tracker.given_up = 0
        if self._given_up and _now() >= self._count_at:
            log.warning("offset_runs.dropped", topic=self._topic, runs=self._given_up)
            self._count_at, self._given_up = _now() + _COUNT_S, 0


def _now() -> float:
    return asyncio.get_running_loop().time()


def _take(partition: MirroredPartition, *, grown: bool) -> list[Block]:
    if partition.runs is None:
        return []
    partition.runs.cover(partition.runs_end)
    return partition.runs.take(grown=grown)


def _give_back(taken: Iterable[tuple[MirroredPartition, list[Block]]]) -> None:
    for partition, blocks in taken:
        if partition.runs is not None:
            partition.runs.give_back(blocks)
