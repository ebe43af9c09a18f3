"""The offsets at which a flow would begin to copy partitions if it were started now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from mm2.config.flow_config import FlowConfig
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.positions.start_rules import Begin, Start, parse_reset, start_of


class SourceLogs(Protocol):
    """The cluster that is asked."""

    async def known_offsets(
        self, partitions: Iterable[TopicPartition], at: int
    ) -> dict[TopicPartition, int]:
        """The first offsets at or after a time in ms; -1 where there is none."""


async def first_offsets(
    config: FlowConfig,
    source: SourceLogs,
    positions: Mapping[TopicPartition, int],
    logs: Mapping[TopicPartition, tuple[int, int]],
    now_ms: int,
) -> dict[TopicPartition, int]:
    """
    The first offset of each partition that would be copied.

    Where a leader does not tell the offset of a time, all of the log counts.

    Args:
        positions: the last offset of each that is copied.
        logs: where each log begins and ends.

    Raises:
        ClusterError: no leader answers, or one refuses us.
    """
    reset = parse_reset(config.data.reset)
    starts = {
        where: Start(Begin.OFFSET, positions[where] + 1)
        if where in positions
        else start_of(where, config.source.starts, reset)
        for where in logs
    }
    dated = await _dated(source, starts, now_ms)
    return {where: _first(start, dated.get(where), logs[where]) for where, start in starts.items()}


async def _dated(
    source: SourceLogs, starts: Mapping[TopicPartition, Start], now_ms: int
) -> dict[TopicPartition, int]:
    """Offsets of the starts that are times."""
    by_time: dict[int, list[TopicPartition]] = {}
    for where, start in starts.items():
        if start.begin is Begin.TIME:
            by_time.setdefault(start.number, []).append(where)
        elif start.begin is Begin.AGO:
            by_time.setdefault(max(0, now_ms - start.number), []).append(where)
    found: dict[TopicPartition, int] = {}
    for time_ms, partitions in by_time.items():
        found |= await source.known_offsets(partitions, time_ms)
    return found


def _first(start: Start, dated: int | None, log: tuple[int, int]) -> int:
    begin, end = log
    if start.begin is Begin.OFFSET:
        return min(max(start.number, begin), end)
    if start.begin is Begin.LATEST or dated == NO_OFFSET:
        return end
    return begin if dated is None else min(max(dated, begin), end)
