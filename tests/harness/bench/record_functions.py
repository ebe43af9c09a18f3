"""Functions that add a header to each record: for the benchmark of transforms."""

from __future__ import annotations

import pyarrow as pa

from mm2.core.handled_records import SourceRecord

_NAME, _VALUE = "mirrored-from", b"A"


def marked(record: SourceRecord) -> list[SourceRecord]:
    """A message handler."""
    return [record.replace(headers=(*record.headers, (_NAME, _VALUE)))]


def marked_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """An Arrow function, for records that have no headers yet."""
    rows, kind = batch.num_rows, batch.schema.field("headers").type
    names, values = pa.array([_NAME] * rows, pa.string()), pa.array([_VALUE] * rows, pa.binary())
    headers = pa.ListArray.from_arrays(
        pa.array(range(rows + 1), pa.int32()),
        pa.StructArray.from_arrays([names, values], fields=list(kind.value_type)),
        type=kind,
    )
    return batch.set_column(batch.schema.get_field_index("headers"), "headers", headers)
