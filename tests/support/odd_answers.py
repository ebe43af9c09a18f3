"""
Handlers and Arrow functions that answer as nobody should: how, the records' values say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.transforms.column_schema import SCHEMA

LARGE: Final = Random(1).randbytes(3_000_000)
"""What no target takes in one batch."""

MANY: Final = 10_000
_LATEST: Final = (1 << 63) - 1


def _raises(error: BaseException) -> Callable[[SourceRecord], object]:
    def answer(_: SourceRecord) -> object:
        raise error

    return answer


_TAKEN: Final[Mapping[bytes, tuple[int, Callable[[SourceRecord], object]]]] = {
    b"none made": (0, lambda _: []),
    b"generator": (2, lambda record: (record for _ in range(2))),
    b"many": (MANY, lambda record: [record] * MANY),
    b"tombstone": (1, lambda record: [record.replace(value=None)]),
    b"bytearray": (1, lambda record: [record.replace(value=bytearray(b"bytearray"))]),
    b"lists": (1, lambda record: [record.replace(headers=[["h", b"v"]])]),
    b"other offset": (1, lambda record: [record.replace(offset=7)]),
    b"of its own": (1, lambda r: [TargetRecord(topic=r.topic, key=r.key, value=r.value)]),
    b"elsewhere": (1, lambda record: [record, record.replace(topic=f"{record.topic}.more")]),
}
"""Words, how many copies are to arrive, and what a handler answers."""

_REFUSED: Final[Mapping[bytes, Callable[[SourceRecord], object]]] = {
    b"error": _raises(ValueError("no such record")),
    b"cancelled": _raises(asyncio.CancelledError()),
    b"exit": _raises(SystemExit()),
    b"interrupt": _raises(KeyboardInterrupt()),
    b"nothing": lambda _: None,
    b"text": lambda _: "text",
    b"record": lambda record: record,
    b"tuples": lambda _: [("a", "b")],
    b"no topic": lambda record: [record, record.replace(topic="no such/topic")],
    b"number": lambda record: [record.replace(topic=7)],
    b"partition": lambda record: [record, record.replace(partition=99)],
    b"value": lambda record: [record.replace(value="text")],
    b"headers": lambda record: [record.replace(headers=None)],
    b"header": lambda record: [record.replace(headers=(("h", "v"),))],
    b"time": lambda record: [record.replace(timestamp=-5)],
    b"no key": lambda record: [record.replace(key=None)],
    b"large": lambda record: [record.replace(headers=(("h", LARGE),))],
    b"late": lambda record: [record.replace(timestamp=_LATEST)],
}
"""Words, and what a handler answers, of which no target takes anything exactly once."""


def handle(record: SourceRecord) -> object:
    """What becomes of a record."""
    word = record.value or b""
    _, answer = _TAKEN.get(word, (1, _REFUSED.get(word, lambda record: [record])))
    return answer(record)


def _column(name: str, value: object) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """All rows have a value in a column."""

    def answer(batch: pa.RecordBatch) -> pa.RecordBatch:
        at, kind = SCHEMA.get_field_index(name), SCHEMA.field(name).type
        return batch.set_column(at, name, pa.array([value] * len(batch), kind))

    return answer


def _later(batch: pa.RecordBatch) -> pa.RecordBatch:
    offsets = pc.add(batch.column("offset"), 100_000)
    return batch.set_column(SCHEMA.get_field_index("offset"), "offset", offsets)


def _elsewhere(batch: pa.RecordBatch) -> pa.RecordBatch:
    topics = pc.binary_join_element_wise(batch.column("topic").cast(pa.string()), "more", ".")
    at = SCHEMA.get_field_index("topic")
    return batch.set_column(at, "topic", topics.cast(SCHEMA.field("topic").type))


def _exits(_: pa.RecordBatch) -> pa.RecordBatch:
    raise SystemExit


_TAKEN_ROWS: Final[Mapping[bytes, tuple[int, Callable[[pa.RecordBatch], object]]]] = {
    b"none made": (0, lambda batch: batch.slice(0, 0)),
    b"twice": (2, lambda batch: pa.concat_batches([batch, batch])),
    b"many": (MANY, lambda batch: batch.take(pa.array(np.zeros(MANY, np.int64)))),
    b"no headers": (1, _column("headers", None)),
    b"no time": (1, _column("timestamp", -1)),
    b"more columns": (1, lambda batch: batch.append_column("more", batch.column("key"))),
    b"elsewhere": (0, _elsewhere),
}

_REFUSED_ROWS: Final[Mapping[bytes, Callable[[pa.RecordBatch], object]]] = {
    b"unknown": _later,
    b"no offset": _column("offset", None),
    b"no topic": _column("topic", None),
    b"no partition": _column("partition", None),
    b"partition": _column("partition", 99),
    b"minus": _column("partition", -1),
    b"time": _column("timestamp", None),
    b"early": _column("timestamp", -5),
    b"header": _column("headers", [None]),
    b"name": _column("headers", [{"key": None, "value": b"v"}]),
    b"columns": lambda batch: batch.drop_columns(["key"]),
    b"two keys": lambda batch: batch.append_column("key", batch.column("key")),
    b"types": lambda batch: batch.drop_columns(["offset"]).append_column(
        "offset", batch.column("partition")
    ),
    b"table": lambda batch: pa.Table.from_batches([batch]),
    b"nothing": lambda _: None,
    b"exit": _exits,
    b"large": _column("headers", [{"key": "h", "value": LARGE}]),
}


def change(batch: pa.RecordBatch) -> Any:
    """What becomes of rows: the first one with a word decides, alone or not."""
    rows = [word for word in batch.column("value").to_pylist() if word in WORDS["change"]]
    if not rows:
        return batch
    if len(batch) > 1:  # in the order of the values, so that offsets are not
        return batch.take(pa.array(range(len(batch) - 1, -1, -1), pa.int64()))
    _, answer = _TAKEN_ROWS.get(rows[0], (1, _REFUSED_ROWS.get(rows[0])))
    assert answer is not None
    return answer(batch)


WORDS: Final[Mapping[str, Mapping[bytes, int | None]]] = {
    name: {**{word: count for word, (count, _) in taken.items()}, **dict.fromkeys(refused)}
    for name, taken, refused in (
        ("handle", _TAKEN, _REFUSED),
        ("change", _TAKEN_ROWS, _REFUSED_ROWS),
    )
}
"""By the function's name: words, and how many copies are to arrive; None is a dead letter."""
