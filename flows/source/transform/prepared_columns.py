"""
Changes many records together that will be asked for one by one.

Importing this takes half a second: it needs Arrow.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import pyarrow as pa

from flows.source.transform.column_handle import ColumnHandle
from flows.source.transform.message_handler import Handled
from mm2.core.handled_records import SourceRecord
from mm2.core.transforms.column_schema import columns_of, one_row, rows_of

ChangedRows: TypeAlias = tuple[Sequence[pa.RecordBatch], Sequence[bool]]
"""What was made of rows, and of which: of the others it cannot be told when they are together."""


def prepared_columns(
    change: Callable[[pa.RecordBatch], Awaitable[pa.RecordBatch]],
    change_most: Callable[[pa.RecordBatch], Awaitable[ChangedRows]],
) -> ColumnHandle:
    """
    A transform on columns that is told of what it will have to handle one by one.

    Args:
        change: what rows become; it may fail for all because of one.
        change_most: the same of all rows that it does not fail for, with their offsets.
    """
    prepared: dict[tuple[str, int], dict[int, tuple[SourceRecord, list[SourceRecord]]]] = {}

    async def ahead(records: Sequence[SourceRecord]) -> None:
        parts, is_changed = await change_most(columns_of(records))
        found: dict[int, tuple[SourceRecord, list[SourceRecord]]] = {
            record.offset: (record, [])
            for record, is_known in zip(records, is_changed, strict=True)
            if is_known
        }
        for part in parts:
            for each in rows_of(part):
                found[each.offset][1].append(each)
        prepared[records[0].topic, records[0].partition] = found

    async def handle(record: SourceRecord) -> Handled:
        known = prepared.get((record.topic, record.partition), {}).pop(record.offset, None)
        # What is left of a topic that was deleted and created again is of other records.
        if known is not None and known[0] == record:
            return known[1]
        return rows_of(await change(one_row(record)))

    return ColumnHandle(handle, change, ahead=ahead)
