"""Records of batches as rows of Arrow, with the columns of Spark's own Kafka connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from flows.source.forward.record_body import read_nullable, read_varint
from flows.verify.log_reader import LogPart
from mm2.core.model import TopicPartition
from mm2.kafka.wire.record_kernel import (
    END,
    HAS_APPEND_TIME,
    HEADERS_AT,
    KEY_AT,
    KEY_SIZE,
    OFFSET,
    TIMESTAMP,
    VALUE_AT,
    VALUE_SIZE,
    locate,
)

_ROWS: Final = 10_000
_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_TIME: Final = pa.timestamp("us", tz="UTC")
_IN_MS: Final = 1000


def arrow_batches(
    part: LogPart, where: TopicPartition, span: tuple[int, int], *, headers: bool
) -> Iterator[pa.RecordBatch]:
    """
    The records of a range.

    Names of headers that are not UTF-8 get replacement characters: Spark's strings are Unicode.

    Args:
        span: the first offset, and the one behind the last.

    Raises:
        ValueError: the records cannot be read.
    """
    rows = locate(part.data)
    rows = rows[(rows[:, OFFSET] >= span[0]) & (rows[:, OFFSET] < span[1])]
    for at in range(0, len(rows), _ROWS):
        yield _batch(part.data, rows[at : at + _ROWS], where, headers=headers)


def _batch(data: bytes, rows: Any, where: TopicPartition, *, headers: bool) -> pa.RecordBatch:
    count = len(rows)
    columns = {
        "key": _binary(data, rows[:, KEY_AT], rows[:, KEY_SIZE]),
        "value": _binary(data, rows[:, VALUE_AT], rows[:, VALUE_SIZE]),
        "topic": pa.array([where.topic] * count, pa.string()),
        "partition": pa.array([where.partition] * count, pa.int32()),
        "offset": pa.array(rows[:, OFFSET].copy(), pa.int64()),
        "timestamp": pa.array(rows[:, TIMESTAMP] * _IN_MS, pa.int64()).cast(_TIME),
        "timestampType": pa.array((rows[:, HAS_APPEND_TIME] != 0).astype("int32"), pa.int32()),
    }
    if headers:
        spans = zip(rows[:, HEADERS_AT].tolist(), rows[:, END].tolist(), strict=True)
        found = [_headers(data[start:end]) for start, end in spans]
        columns["headers"] = pa.array(found, _HEADERS)
    return pa.RecordBatch.from_pydict(columns)


def _binary(data: bytes, starts: Any, sizes: Any) -> pa.Array:
    spans = zip(starts.tolist(), sizes.tolist(), strict=True)
    return pa.array(
        [data[start : start + size] if size >= 0 else None for start, size in spans], pa.binary()
    )


def _headers(data: bytes) -> list[dict[str, object]] | None:
    """None where there are none, as in Spark's own connector."""
    count, at = read_varint(data, 0)
    found: list[dict[str, object]] = []
    for _ in range(count):
        key, at = read_nullable(data, at)
        value, at = read_nullable(data, at)
        found.append({"key": (key or b"").decode(errors="replace"), "value": value})
    return found or None
