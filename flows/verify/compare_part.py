"""Compares one part of a partition with its copy: what a Spark task of ``mm2 verify`` runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from flows.verify.compare_keys import NotConfirmed, compare_keys
from flows.verify.compared_logs import ComparedLogs, ReadOffsets
from flows.verify.comparison_spec import ComparedPart, ComparisonSpec, PartResult
from flows.verify.log_reader import connected
from mm2.core.verification.comparison_result import ComparisonResult
from mm2.core.verification.stream_comparison import Side, StreamComparison
from mm2.errors import ClusterError

_AROUND = 20_000
"""Source offsets on both sides of a part of which there may be second copies in it."""


def compare_part(
    spec: ComparisonSpec, parts: list[ComparedPart], index: int, tell: Callable[[int], None]
) -> PartResult:
    """
    Compares a part; what cannot be read or confirmed ends this part only.

    Args:
        tell: is told how many offsets of the part have been read, those of both sides counted.
    """
    try:
        result = asyncio.run(_compare(spec, parts[index], tell))
    except ClusterError as error:
        return PartResult(part=index, failure=str(error), is_unreachable=True)
    except NotConfirmed as error:
        failure = f"{parts[index].where}: {error}"
        return PartResult(part=index, failure=failure, not_confirmed=error.differences)
    except ValueError as error:
        return PartResult(part=index, failure=f"{parts[index].where}: {error}")
    return PartResult(part=index, result=result)


async def _compare(
    spec: ComparisonSpec, part: ComparedPart, tell: Callable[[int], None]
) -> ComparisonResult:
    flow, where = spec.flow, part.where
    async with (
        connected(flow.source, spec.source, where.topic) as source,
        connected(flow.target, spec.target, part.remote_topic) as target,
    ):
        return await compare_logs(ComparedLogs(spec, part, source, target, ReadOffsets(tell)))


async def compare_logs(logs: ComparedLogs) -> ComparisonResult:
    """
    Compares both logs of a part.

    Raises:
        ClusterError: one cannot be read.
        NotConfirmed: they differ, and are written too fast to look at that again.
        ValueError: a batch cannot be read.
    """
    if logs.part.last_values is None:
        return await _compare_streams(logs)
    return await compare_keys(logs, logs.part.last_values, logs.spec.most)


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
    if not end:
        return  # the source does not have the partition, or had written nothing there
    known = await logs.end(Side.SOURCE)
    for span in ((max(0, first - _AROUND), first), (end, min(end + _AROUND, known))):
        async for table, _ in logs.tables(Side.SOURCE, span):
            comparison.learn(table)
