"""Headers of provenance on columns of Arrow: what ``Provenance`` makes of each record."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mm2.core.model import TopicName
from mm2.core.transforms.column_schema import columns_of, rows_of
from mm2.core.transforms.column_steps import flags_of, headers_of, sums_of, with_headers
from mm2.core.transforms.provenance import HEADERS, Provenance


def marked_columns(
    provenance: Provenance, batch: pa.RecordBatch, topic: TopicName
) -> pa.RecordBatch:
    """
    The records with headers, without those that are not copied, in the same order.

    Records that have such headers already are looked at one by one: mostly those that come from
    the target, and are left out.

    Args:
        topic: its name on the flow's source.
    """
    starts, items = headers_of(batch)
    ours = sums_of(flags_of(pc.is_in(items.field(0), pa.array(HEADERS))))
    is_new = ours[starts[1:]] == ours[starts[:-1]]
    new = batch.filter(pa.array(is_new))
    is_taken = provenance.takes(provenance.flow.source, provenance.source_id)
    made = _with_own(provenance, new, topic) if is_taken else new.slice(0, 0)
    if is_new.all():
        return made
    others = (provenance.marked(each, topic) for each in rows_of(batch.filter(pa.array(~is_new))))
    return in_order(made, columns_of(each for each in others if each is not None))


def in_order(some: pa.RecordBatch, others: pa.RecordBatch) -> pa.RecordBatch:
    """Records of two batches in the order of their offsets."""
    (rows,) = pa.Table.from_batches([some, others]).combine_chunks().to_batches() or [some]
    return rows.take(np.argsort(rows.column("offset").to_numpy(), kind="stable"))


def _with_own(provenance: Provenance, batch: pa.RecordBatch, topic: TopicName) -> pa.RecordBatch:
    count, (starts, items) = len(batch), headers_of(batch)
    columns = [
        pc.cast(each, pa.string())
        for each in (
            batch.column("partition"),
            batch.column("offset"),
            batch.column("timestamp").view(pa.int64()),
        )
    ]
    headers = provenance.own_headers(topic, *columns)
    values = pa.concat_arrays(
        pa.repeat(each, count) if isinstance(each, str) else each for each in headers.values()
    )
    number = len(headers)
    by_record = np.arange(number * count).reshape(number, count).T.ravel()
    own = pa.StructArray.from_arrays(
        [
            pa.array(list(headers)).take(pa.array(np.tile(np.arange(number), count))),
            values.cast(pa.binary()).take(pa.array(by_record)),
        ],
        fields=list(items.type),
    )
    ends, appended = np.repeat(starts[1:], number), len(items) + np.arange(len(own))
    order = np.insert(np.arange(len(items)), ends, appended)
    found = pa.concat_arrays([items, own]).take(pa.array(order))
    return with_headers(batch, starts + number * np.arange(count + 1), found)
