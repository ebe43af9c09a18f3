"""Records as tables of digests, without any Kafka."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mm2.core.verification.comparison_result import ComparisonResult
from mm2.core.verification.record_table import RecordTable
from mm2.core.verification.stream_comparison import ComparisonRules, Side, StreamComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record; None is no key, value or headers."""

    key: str | None = None
    value: str | None = None
    headers: str | None = None
    timestamp: int = 1_000


def rows(count: int, first: int = 0) -> list[Row]:
    """Records that differ."""
    return [Row(key=f"k{n}", value=f"v{n}", timestamp=n) for n in range(first, first + count)]


def table(records: Sequence[Row], first: int = 0, *, append_time: bool = False) -> RecordTable:
    """Records with consecutive offsets."""
    digests = [
        [_digest("k", each.key), _digest("v", each.value), _digest("h", each.headers)]
        for each in records
    ]
    return RecordTable.of(
        np.arange(first, first + len(records), dtype=np.int64),
        np.array([each.timestamp for each in records], np.int64),
        np.array(digests, np.uint64).reshape(-1, 3),
        np.full(len(records), append_time, np.bool_),
    )


def compare(
    source: RecordTable,
    remote: RecordTable,
    rules: ComparisonRules | None = None,
    *,
    step: int = 1000,
) -> ComparisonResult:
    """What a comparison finds that is given so many records at a time."""
    comparison = StreamComparison(rules or ComparisonRules(), most=20)
    logs = {Side.SOURCE: source, Side.REMOTE: remote}
    at = dict.fromkeys(Side, 0)
    while (side := comparison.wants()) is not None:
        part = logs[side].part(at[side], at[side] + step)
        at[side] += step
        comparison.add(side, part) if len(part) else comparison.end(side)
    comparison.finish()
    return comparison.result


def _digest(tag: str, text: str | None) -> int:
    if text is None:
        return 0
    return int.from_bytes(hashlib.blake2b(f"{tag}{text}".encode(), digest_size=8).digest())
