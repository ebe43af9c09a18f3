"""
Publishes where exactly the target has the records of the source (``mm2.core.runs``).

Runs go to ``mm2-offset-runs.<other cluster>.internal`` a few times a second, and always before the
positions that stand behind them: a task that takes over then goes on where they end, and nothing is
missing in between. In a transaction they follow it, because before its end they may not be true; a
task that is killed just then leaves a hole. Where there is a hole translations are approximate, and
never wrong. So nothing is ever held up by a topic that cannot be written.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from flows.source.partition import Mirrored
from mm2.core.model import TopicPartition
from mm2.core.run_codec import encode_key, encode_value
from mm2.core.run_tracker import RunTracker
from mm2.core.runs import Block
from mm2.errors import ClusterError
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_ROUND_S: Final = 0.2
_BLOCKS_IN_A_SECOND: Final = 1_000
"""Thousands of busy partitions take turns more slowly, so that the work stays small."""

_WAIT_S: Final = 1.0
"""How long positions wait for the runs before them."""

_PAUSE_S: Final = 5.0
"""After a failure."""


class OffsetRuns:
    """
    Publishes the runs of a task.

    Args:
        topic: where to.
        writer: a producer of the cluster that has the topic.
        partitions: of the task; may change at any time.
        is_transactional: whether each commit leaves a marker on the target.
    """

    def __init__(
        self,
        topic: str,
        writer: Writer,
        partitions: Mapping[TopicPartition, Mirrored],
        *,
        is_transactional: bool,
    ) -> None:
        self._topic = topic
        self._writer = writer
        self._partitions = partitions
        self._is_transactional = is_transactional
        self._due = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._pause_until = 0.0
        self._lately: set[tuple[TopicPartition, int]] = set()

    @property
    def topic(self) -> str:
        """Where they are published."""
        return self._topic

    def tracker(self) -> RunTracker:
        """What gathers the runs of one more partition."""
        return RunTracker(is_transactional=self._is_transactional)

    def wake(self) -> None:
        """Publishes soon: something was copied."""
        self._due.set()

    async def run(self) -> None:
        """Publishes what is new, until cancelled."""
        while True:
            await self._due.wait()
            await asyncio.sleep(self._pause_until - time.monotonic())
            self._due.clear()
            written = await self.write(list(self._partitions.values()))
            await asyncio.sleep(max(_ROUND_S, written / _BLOCKS_IN_A_SECOND))

    async def settle(self, partitions: Iterable[Mirrored]) -> None:
        """Publishes before positions are committed, if that does not take long."""
        try:
            async with asyncio.timeout(_WAIT_S):
                await self.write(partitions)
        except TimeoutError:
            self._failed(f"not written within {_WAIT_S:g} s")

    async def write(self, partitions: Iterable[Mirrored]) -> int:
        """Publishes what is new of some partitions; returns how many blocks that is."""
        if time.monotonic() < self._pause_until:
            return 0
        async with self._one_at_a_time:
            taken = [(each, blocks) for each in partitions if (blocks := _take(each))]
            try:
                if taken:
                    await self._write(taken)
            except ClusterError as error:
                _give_back(taken)
                self._failed(str(error))
            except BaseException:
                _give_back(taken)
                raise
            return sum(len(blocks) for _, blocks in taken)

    def watch(self) -> None:
        """From now on remembers which blocks are written, so that ``tidy`` leaves them alone."""
        self._lately.clear()

    async def tidy(self, due: Mapping[TopicPartition, Iterable[tuple[int, Block | None]]]) -> int:
        """
        Writes sparse blocks and tombstones, but for blocks that were written since ``watch``.

        Returns how many.

        Raises:
            ClusterError: the cluster refuses them.
        """
        async with self._one_at_a_time:
            records = [
                (encode_key(where, start), None if block is None else encode_value(block))
                for where, each in due.items()
                for start, block in each
                if (where, start) not in self._lately
            ]
            if records:
                await self._writer.send_all(self._topic, records, partition=0)
            return len(records)

    async def _write(self, taken: Iterable[tuple[Mirrored, list[Block]]]) -> None:
        records = [
            (encode_key(partition.source, block.start), encode_value(block))
            for partition, blocks in taken
            for block in blocks
        ]
        self._lately |= {(p.source, block.start) for p, blocks in taken for block in blocks}
        await self._writer.send_all(self._topic, records, partition=0)

    def _failed(self, error: str) -> None:
        self._pause_until = time.monotonic() + _PAUSE_S
        self._due.set()
        log.warning("offset_runs.failed", topic=self._topic, error=error)


def _take(partition: Mirrored) -> list[Block]:
    if partition.runs is None:
        return []
    partition.runs.cover(partition.told)
    return partition.runs.take()


def _give_back(taken: Iterable[tuple[Mirrored, list[Block]]]) -> None:
    for partition, blocks in taken:
        if partition.runs is not None:
            partition.runs.give_back(blocks)
