"""Both logs of a part, read as digests of their records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

from flows.verify.ask_again import ask_again
from flows.verify.comparison_spec import ComparedPart, ComparisonSpec
from flows.verify.log_reader import LogPart, LogReader
from mm2.core.model import TopicPartition
from mm2.core.verification.record_table import RecordTable
from mm2.core.verification.stream_comparison import Side
from mm2.errors import Unavailable
from mm2.kafka.wire.record_kernel import HAS_APPEND_TIME, OFFSET, TIMESTAMP, digest, locate
from mm2.kafka.wire.requests.list_offsets import LATEST
from mm2.kafka.wire.wire_client import WireClient

Span = tuple[int, int]
"""The first offset, and the one behind the last."""


class ReadOffsets:
    """
    How many offsets of a part have been read.

    Args:
        tell: is told each time it is more.
    """

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._read = dict.fromkeys(Side, 0)

    def reached(self, side: Side, offsets: int) -> None:
        """Notes that so many of one side have been."""
        self._read[side] = offsets
        self._tell(sum(self._read.values()))


class ComparedLogs(NamedTuple):
    """Both logs of a part."""

    spec: ComparisonSpec
    part: ComparedPart
    source: WireClient
    target: WireClient
    read: ReadOffsets

    def span(self, side: Side) -> Span:
        """What of a log belongs to the part."""
        range_ = self.part.range
        return range_.source if side is Side.SOURCE else range_.remote

    def tables(
        self, side: Side, span: Span | None = None
    ) -> AsyncGenerator[tuple[RecordTable, bool], None]:
        """Records of one side, each time with whether some before them were deleted meanwhile."""
        whole = self.span(side)
        span = span or whole
        reader = LogReader(
            self._client(side),
            self._where(side),
            span,
            read_committed=self._read_committed(side),
            most_plain=self.spec.most_plain,
        )
        tables = _tables(reader, span, self.spec.digest_key)
        return self._followed(tables, side) if span == whole else tables

    async def _followed(
        self, tables: AsyncGenerator[tuple[RecordTable, bool], None], side: Side
    ) -> AsyncGenerator[tuple[RecordTable, bool], None]:
        first, _ = self.span(side)
        async with aclosing(tables):
            async for table, is_behind_gap in tables:
                yield table, is_behind_gap
                if len(table):
                    self.read.reached(side, int(table.offsets[-1]) + 1 - first)

    async def end(self, side: Side) -> int:
        """
        The offset behind the last record of a log, as it is now.

        Raises:
            ClusterError: the leader does not answer for a minute, or refuses.
        """
        return await ask_again(self._client(side), partial(self._known_end, side))

    async def _known_end(self, side: Side) -> int:
        client, where = self._client(side), self._where(side)
        ends = await client.list_offsets([where], LATEST, read_committed=self._read_committed(side))
        if where not in ends:
            raise Unavailable(client.alias, f"no answer about {where}")
        return ends[where]

    def _client(self, side: Side) -> WireClient:
        return self.source if side is Side.SOURCE else self.target

    def _where(self, side: Side) -> TopicPartition:
        where = self.part.where
        if side is Side.SOURCE:
            return where
        return TopicPartition(self.part.remote_topic, where.partition)

    def _read_committed(self, side: Side) -> bool:
        # What a transaction of a task has left unfinished is no copy.
        return self.spec.source_committed if side is Side.SOURCE else True


async def _tables(
    reader: LogReader, span: Span, key: tuple[int, int]
) -> AsyncGenerator[tuple[RecordTable, bool], None]:
    async for part in reader.parts():
        yield await asyncio.to_thread(_table, part, span, key), part.is_behind_gap


def _table(part: LogPart, span: Span, key: tuple[int, int]) -> RecordTable:
    rows = locate(part.data)
    rows = rows[(rows[:, OFFSET] >= span[0]) & (rows[:, OFFSET] < span[1])]
    return RecordTable.of(
        rows[:, OFFSET].copy(),
        rows[:, TIMESTAMP].copy(),
        digest(part.data, rows, key),
        rows[:, HAS_APPEND_TIME] != 0,
    )
