"""Records as columns of Arrow: which columns there are, and what may stand in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from mm2.core.handled_records import SourceRecord

HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_TIME: Final = pa.timestamp("ms", tz="UTC")
SCHEMA: Final = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS_TYPE, nullable=False),
        pa.field("timestamp", _TIME, nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
    ]
)
"""A timestamp of -1 ms is none, as in Kafka."""

_NO_TIME: Final = -1


class WrongColumns(ValueError):
    """Columns that are no records; the message says why."""


def as_records(batch: pa.RecordBatch) -> pa.RecordBatch:
    """
    The columns of ``SCHEMA``, in its order; a list of headers that is null becomes an empty one.

    Raises:
        WrongColumns: one of them is missing, has another type, nulls where none may be, or
            impossible times.
    """
    if not isinstance(batch, pa.RecordBatch):
        raise WrongColumns(f"a pyarrow.RecordBatch is needed, not {type(batch).__name__}")
    columns = [_checked(batch, field) for field in SCHEMA]
    earliest = pc.min(columns[SCHEMA.get_field_index("timestamp")].view(pa.int64())).as_py()
    if earliest is not None and earliest < _NO_TIME:
        raise WrongColumns(f"column timestamp has {earliest} ms: write -1 for none")
    return pa.record_batch(columns, schema=SCHEMA)


def one_row(record: SourceRecord) -> pa.RecordBatch:
    """
    A record as columns.

    Raises:
        ValueError: the name of a header is not UTF-8.
    """
    headers = [{"key": name, "value": value} for name, value in record.headers]
    times = pa.array([record.timestamp], pa.int64()).view(_TIME)
    rest: list[tuple[object, pa.DataType]] = [
        (record.topic, pa.string()),
        (record.partition, pa.int32()),
        (record.offset, pa.int64()),
    ]
    columns = [pa.array([each], kind) for each, kind in rest]
    data = [pa.array([each], pa.binary()) for each in (record.key, record.value)]
    return pa.record_batch([*data, pa.array([headers], HEADERS_TYPE), times, *columns], SCHEMA)


def columns_of(records: Iterable[SourceRecord]) -> pa.RecordBatch:
    """
    Records as columns.

    Raises:
        ValueError: the name of a header is not UTF-8.
    """
    rows = (
        {
            **{name: getattr(record, name) for name in SCHEMA.names},
            "headers": [{"key": name, "value": value} for name, value in record.headers],
        }
        for record in records
    )
    return pa.RecordBatch.from_pylist(list(rows), schema=SCHEMA)


def rows_of(batch: pa.RecordBatch) -> list[SourceRecord]:
    """The records of a batch that ``as_records`` has returned."""
    at = SCHEMA.get_field_index("timestamp")
    times = batch.column(at).view(pa.int64())
    found = batch.set_column(at, "timestamp", times).to_pylist()
    return [
        SourceRecord(
            **{**row, "headers": tuple((each["key"], each["value"]) for each in row["headers"])}
        )
        for row in found
    ]


def _checked(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    count = batch.schema.names.count(field.name)
    if count != 1:
        raise WrongColumns(f"it has {count or 'no'} columns {field.name}, and needs one")
    column = batch.column(field.name)
    if not _has_type(column.type, field.type):
        raise WrongColumns(f"column {field.name} is {column.type}: cast it to {field.type}")
    if field.name == "headers":
        return _checked_headers(column)
    if column.null_count and not field.nullable:
        raise WrongColumns(f"column {field.name} has a null")
    return column


def _checked_headers(column: pa.Array) -> pa.Array:
    items = column.flatten()
    if items.null_count or items.field(0).null_count:
        raise WrongColumns("column headers has a header that is null, or whose key is")
    if column.null_count:
        column = pc.coalesce(column, pa.scalar([], column.type))
    return column if column.type.equals(HEADERS_TYPE) else column.cast(HEADERS_TYPE)


def _has_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether it is the same, whatever lists and structs say of nulls and call their items."""
    if not pa.types.is_list(wanted) or not pa.types.is_list(found):
        return bool(found.equals(wanted))
    item = found.value_type
    return pa.types.is_struct(item) and [(each.name, each.type) for each in item] == [
        (each.name, each.type) for each in wanted.value_type
    ]
