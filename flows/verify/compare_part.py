"""Compares one part of a partition with its copy: what a Spark task of ``mm2 verify`` runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from flows.verify.comparison_spec import ComparedPart, ComparisonSpec, PartResult
from flows.verify.log_reader import LogPart, LogReader, connected
from mm2.core.model import TopicPartition
from mm2.core.verification.comparison_result import ComparisonResult
from mm2.core.verification.last_values import LastValueRules, LastValues, compare_last_values
from mm2.core.verification.record_table import RecordTable
from mm2.core.verification.stream_comparison import Side, StreamComparison
from mm2.errors import ClusterError
from mm2.kafka.wire.record_kernel import HAS_APPEND_TIME, OFFSET, TIMESTAMP, digest, locate
from mm2.kafka.wire.requests.list_offsets import LATEST
from mm2.kafka.wire.wire_client import WireClient

_AROUND = 20_000
"""Source offsets on both sides of a part of which there may be second copies in it."""


def compare_part(spec: ComparisonSpec, parts: list[ComparedPart], index: int) -> PartResult:
    """Compares a part; a cluster that cannot be read ends this part only."""
    try:
        result = asyncio.run(_compare(spec, parts[index]))
    except ClusterError as error:
        return PartResult(part=index, failure=str(error), is_unreachable=True)
    except ValueError as error:
        return PartResult(part=index, failure=f"{parts[index].where}: {error}")
    return PartResult(part=index, result=result)


async def _compare(spec: ComparisonSpec, part: ComparedPart) -> ComparisonResult:
    flow, where = spec.flow, part.where
    async with (
        connected(flow.source, spec.source, where.topic) as source,
        connected(flow.target, spec.target, part.remote_topic) as target,
    ):
        return await compare_logs(ComparedLogs(spec, part, source, target))


class ComparedLogs(NamedTuple):
    """Both logs of a part."""

    spec: ComparisonSpec
    part: ComparedPart
    source: WireClient
    target: WireClient

    def tables(
        self, side: Side, span: tuple[int, int] | None = None
    ) -> AsyncGenerator[tuple[RecordTable, bool], None]:
        """Records of one side, each time with whether some before them were deleted meanwhile."""
        is_source = side is Side.SOURCE
        range_ = self.part.range
        span = span or (range_.source if is_source else range_.remote)
        remote = TopicPartition(self.part.remote_topic, self.part.where.partition)
        reader = LogReader(
            self.source if is_source else self.target,
            self.part.where if is_source else remote,
            span,
            # What a transaction of a task has left unfinished is no copy.
            read_committed=self.spec.source_committed if is_source else True,
            most_plain=self.spec.most_plain,
        )
        return _tables(reader, span, self.spec.digest_key)


async def compare_logs(logs: ComparedLogs) -> ComparisonResult:
    """
    Compares both logs of a part.

    Raises:
        ClusterError: one cannot be read.
        ValueError: a batch cannot be read.
    """
    if logs.part.last_values is None:
        return await _compare_streams(logs)
    return await _compare_last_values(logs, logs.part.last_values)


async def _tables(
    reader: LogReader, span: tuple[int, int], key: tuple[int, int]
) -> AsyncGenerator[tuple[RecordTable, bool], None]:
    async for part in reader.parts():
        yield await asyncio.to_thread(_table, part, span, key), part.is_behind_gap


def _table(part: LogPart, span: tuple[int, int], key: tuple[int, int]) -> RecordTable:
    rows = locate(part.data)
    rows = rows[(rows[:, OFFSET] >= span[0]) & (rows[:, OFFSET] < span[1])]
    return RecordTable.of(
        rows[:, OFFSET].copy(),
        rows[:, TIMESTAMP].copy(),
        digest(part.data, rows, key),
        rows[:, HAS_APPEND_TIME] != 0,
    )


async def _compare_streams(logs: ComparedLogs) -> ComparisonResult:
    comparison = StreamComparison(logs.part.range.rules, logs.spec.most)
    async with (
        aclosing(logs.tables(Side.SOURCE)) as source,
        aclosing(logs.tables(Side.REMOTE)) as remote,
    ):
        while (side := comparison.wants()) is not None:
            tables = source if side is Side.SOURCE else remote
            if (read := await anext(tables, None)) is None:
                comparison.end(side)
                continue
            table, is_behind_gap = read
            if is_behind_gap:
                comparison.open_start(side)
            comparison.add(side, table)
    if comparison.has_unknown():
        await _learn_around(logs, comparison)
    comparison.finish()
    return comparison.result


async def _learn_around(logs: ComparedLogs, comparison: StreamComparison) -> None:
    """A second copy of a record of the part before or behind is one, too."""
    first, end = logs.part.range.source
    ends = await logs.source.list_offsets(
        [logs.part.where], LATEST, read_committed=logs.spec.source_committed
    )
    known = ends.get(logs.part.where, end)
    for span in ((max(0, first - _AROUND), first), (end, min(end + _AROUND, known))):
        async for table, _ in logs.tables(Side.SOURCE, span):
            comparison.learn(table)


async def _compare_last_values(logs: ComparedLogs, rules: LastValueRules) -> ComparisonResult:
    result, last = ComparisonResult(most=logs.spec.most), {side: LastValues() for side in Side}
    for side in Side:
        async for table, is_behind_gap in logs.tables(side):
            if is_behind_gap:
                last[side].open_start()
            last[side].add(table)
            if side is Side.SOURCE:
                result.source_records += len(table)
            else:
                result.remote_records += len(table)
    compare_last_values(last[Side.SOURCE], last[Side.REMOTE], rules, result)
    return result
