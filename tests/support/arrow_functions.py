"""Arrow functions as users write them; tests name them by their import path."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def _with(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    return batch.set_column(batch.schema.get_field_index(name), name, column)


def fan_out(batch: pa.RecordBatch) -> pa.RecordBatch:
    """As ``user_handlers.fan_out``: as many copies as the value's number modulo 4."""
    numbers = [int(value or b"0") for value in batch.column("value").to_pylist()]
    rows = [row for row, number in enumerate(numbers) for _ in range(number % 4)]
    values = [b"%d.%d" % (number, n) for number in numbers for n in range(number % 4)]
    return _with(batch.take(pa.array(rows, pa.int64())), "value", pa.array(values, pa.binary()))


def shout(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Values in capitals, without those that are ``drop``; fails where one is ``bad``."""
    texts = batch.column("value").cast(pa.string())
    if pc.any(pc.equal(texts, "bad")).as_py():
        raise ValueError("no such record")
    batch = _with(batch, "value", pc.utf8_upper(texts).cast(pa.binary()))
    return batch.filter(pc.not_equal(texts, "drop"))


class Marks:
    """Puts the argument before each value."""

    def init(self, args: str) -> None:
        """Takes what is put there."""
        self._mark = args.encode()

    def handle(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What becomes of a batch."""
        values = batch.column("value")
        mark = pa.scalar(self._mark, pa.binary())
        return _with(batch, "value", pc.binary_join_element_wise(mark, values, b""))


def spread(batch: pa.RecordBatch) -> pa.RecordBatch:
    """As ``user_handlers.spread``: odd numbers elsewhere, every third number to both topics."""
    rows, topics, partitions = [], [], []
    columns = [batch.column(name).to_pylist() for name in ("value", "topic", "partition")]
    for row, (value, topic, partition) in enumerate(zip(*columns, strict=True)):
        number = int(value or b"0")
        stays = number % 3 == 0 or number % 2 == 0
        goes = number % 3 == 0 or number % 2 == 1
        for is_here, where in ((stays, (topic, partition)), (goes, (f"{topic}.more", 0))):
            if is_here:
                rows.append(row)
                topics.append(where[0])
                partitions.append(where[1])
    made = batch.take(pa.array(rows, pa.int64()))
    made = _with(made, "topic", pa.array(topics, pa.string()))
    return _with(made, "partition", pa.array(partitions, pa.int32()))


def renames_a_column(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Not what is needed."""
    return batch.rename_columns(["k", *batch.schema.names[1:]])


def as_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Values of another type."""
    return _with(batch, "value", batch.column("value").cast(pa.string()))


def as_table(batch: pa.RecordBatch) -> pa.Table:
    """No batch."""
    return pa.Table.from_batches([batch])


def backwards(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows in another order."""
    return batch.take(pa.array(range(len(batch) - 1, -1, -1), pa.int64()))


def ends_the_process(batch: pa.RecordBatch) -> pa.RecordBatch:
    """It would, were it asked in the main thread."""
    raise SystemExit(len(batch))


def by_time(batch: pa.RecordBatch) -> pa.RecordBatch:
    """As ``user_handlers.by_time``: as many copies as the timestamp modulo 3."""
    copies = batch.column("timestamp").view(pa.int64()).to_numpy() % 3
    return batch.take(pa.array(np.repeat(np.arange(len(batch)), copies)))


def json_copies(batch: pa.RecordBatch) -> pa.RecordBatch:
    """As many copies as the field ``n`` of a value says; fails where there is none."""
    counts = [json.loads(value or b"{}")["n"] for value in batch.column("value").to_pylist()]
    return batch.take(pa.array(np.repeat(np.arange(len(batch)), counts)))


def bare(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Without headers."""
    nothing = pa.array([None] * len(batch), batch.schema.field("headers").type)
    return _with(batch, "headers", nothing)
