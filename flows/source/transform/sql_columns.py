"""
Records as columns of Spark's SQL, and back.

Importing this takes half a second: it needs Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from flows.source.transform.column_handle import ColumnHandle
from flows.source.transform.prepared_columns import ChangedRows, prepared_columns
from flows.source.transform.sql_chain import CHAIN
from mm2.core.transforms.column_schema import SCHEMA, as_records
from mm2.errors import TransformError

_TIME: Final = pa.timestamp("us", tz="UTC")
"""Spark knows no other."""

_NO_TIME: Final = pa.scalar(-1, pa.int64()).cast(SCHEMA.field("timestamp").type)
MADE: Final = "made"
"""The field that has the columns of a copy; null where the record is left out."""

FAILED: Final = "failed"
"""The field that says why Spark fails for the record, as bytes of UTF-8; null where it does not."""

STAYS: Final = b""
LEFT_OUT: Final = b"-"
"""What Spark says of a record where expressions only choose; anything else is why it fails."""

_NO_ANSWER: Final = pa.scalar(b"Spark does not say what becomes of the record", pa.binary())


def sql_transform() -> ColumnHandle:
    """What the expressions of the Spark task make of records, in which this runs."""
    chain = CHAIN.get()
    if chain is None:
        raise TransformError("expressions of SQL need a task of Spark's")

    async def answers_of(batch: pa.RecordBatch) -> pa.Array:
        return await chain.evaluate(as_sql(batch, chain.record))

    async def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        return changed(batch, await answers_of(batch))

    async def change_most(batch: pa.RecordBatch) -> ChangedRows:
        answers = await answers_of(batch)
        good = _failed(answers).is_null()
        return [changed(batch.filter(good), answers.filter(good))], good.to_pylist()

    return prepared_columns(change, change_most)


def record_type(columns: Iterable[str]) -> pa.StructType:
    """A record of these columns, with the types that Spark has for them."""
    types = {name: SCHEMA.field(name).type for name in columns}
    return pa.struct({**types, **({"timestamp": _TIME} if "timestamp" in types else {})})


def as_sql(batch: pa.RecordBatch, record: pa.StructType) -> pa.StructArray:
    """The columns of records that expressions see."""
    columns = [_asked(batch.column(field.name)) for field in record]
    return pa.StructArray.from_arrays(columns, fields=list(record))


def changed(batch: pa.RecordBatch, answers: pa.Array) -> pa.RecordBatch:
    """
    What becomes of records, by what Spark says of each.

    Raises:
        TransformError: Spark cannot tell for one of them.
        WrongColumns: a column has what no record can have.
    """
    if failed := _failed(answers).drop_null().to_pylist():
        raise TransformError(_why(failed, len(batch)))
    if not pa.types.is_struct(answers.type):
        return _chosen(batch, pc.equal(answers, STAYS))
    made = answers.field(MADE)
    is_kept = made.is_valid()
    rows = _chosen(batch, is_kept)
    if rows is not batch:
        made = made.filter(is_kept)
    for field, column in zip(made.type, made.flatten(), strict=True):
        at = SCHEMA.get_field_index(field.name)
        rows = rows.set_column(at, field.name, _given(field.name, column))
    return as_records(rows)


def _chosen(batch: pa.RecordBatch, is_kept: pa.BooleanArray) -> pa.RecordBatch:
    """To filter copies all; where none is left out it is the same batch."""
    return batch if is_kept.true_count == len(batch) else batch.filter(is_kept)


def _failed(answers: pa.Array) -> pa.Array:
    """Why records fail, null for those that do not; one that is left out has an answer, too."""
    if pa.types.is_struct(answers.type):
        return pc.if_else(answers.is_valid(), answers.field(FAILED), _NO_ANSWER)
    said = answers.fill_null(_NO_ANSWER)
    is_decided = pc.or_(pc.equal(said, STAYS), pc.equal(said, LEFT_OUT))
    return pc.if_else(is_decided, pa.scalar(None, said.type), said)


def _why(failed: Sequence[bytes], count: int) -> str:
    reason = failed[0].decode("utf-8", "replace")
    if count == 1:
        return reason
    return f"Spark's SQL fails for {len(failed)} of {count} records: {reason}"


def _asked(column: pa.Array) -> pa.Array:
    if not pa.types.is_timestamp(column.type):
        return column
    return pc.if_else(pc.equal(column, _NO_TIME), None, column).cast(_TIME)


def _given(name: str, column: pa.Array) -> pa.Array:
    if name != "timestamp":
        return column
    return pc.fill_null(column.cast(_NO_TIME.type, safe=False), _NO_TIME)
