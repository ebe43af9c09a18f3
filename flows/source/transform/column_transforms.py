"""
Transforms on columns of Arrow: the user's function, and Connect's where they can be.

Importing this takes half a second.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flows.source.transform.column_handle import (
    LEAST_ROWS,
    ColumnHandle,
    PreparedHandle,
    ahead_of,
)
from flows.source.transform.connect_transforms import handled_before, through_chain
from flows.source.transform.message_handler import Handle, sparing_heartbeats
from flows.source.transform.prepared_columns import ChangedRows, prepared_columns
from mm2.core.handled_records import SourceRecord
from mm2.core.internal_records import HEARTBEAT_SIZE, is_heartbeat
from mm2.core.model import TopicName
from mm2.core.transforms import TransformChain
from mm2.core.transforms.arrow_function import Change, load_function
from mm2.core.transforms.column_schema import rows_of
from mm2.core.transforms.column_steps import on_columns
from mm2.core.transforms.provenance import Provenance
from mm2.core.transforms.provenance_columns import in_order, marked_columns
from mm2.errors import TransformError

_WORTH_IT: Final = 64
"""Records for which a batch of columns takes as long as their objects do."""

_HEARTBEAT_SIZES: Final = pa.array([HEARTBEAT_SIZE], pa.int32())


def user_function(path: str, arguments: str) -> ColumnHandle:
    """
    The Arrow function under an import path, which gets a single record as a batch of one row.

    Raises:
        ConfigError: it cannot be loaded.
    """
    return of_function(load_function(path, arguments))


def of_function(change: Change) -> ColumnHandle:
    """A function of batches as what becomes of records."""

    async def changed(batch: pa.RecordBatch) -> pa.RecordBatch:
        return change(batch)

    async def change_most(batch: pa.RecordBatch) -> ChangedRows:
        parts = list(_changed_parts(change, batch))
        made = [part for part, _ in parts if part is not None]
        return made, [part is not None for part, count in parts for _ in range(count)]

    return prepared_columns(changed, change_most)


def _changed_parts(
    change: Change, batch: pa.RecordBatch
) -> Iterator[tuple[pa.RecordBatch | None, int]]:
    """What parts of the rows become, and how many rows they are; None where it fails for few."""
    try:
        yield change(batch), len(batch)
    except (Exception, SystemExit):  # noqa: BLE001 - the user's code, which is asked again
        if len(batch) < LEAST_ROWS:
            yield None, len(batch)
            return
        middle = len(batch) // 2
        for half in (batch.slice(0, middle), batch.slice(middle)):
            yield from _changed_parts(change, half)


def sparing_columns(handle: ColumnHandle) -> ColumnHandle:
    """The same for records some of which are heartbeats: these stay as they are."""

    async def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        beats = _heartbeats_of(batch)
        if beats.true_count == len(batch) > 0:
            return batch
        made = handle.change(batch.filter(pc.invert(beats)) if beats.true_count else batch)
        made = await made if isinstance(made, Awaitable) else made
        return in_order(made, batch.filter(beats)) if beats.true_count else made

    async def prepare(records: Sequence[SourceRecord]) -> None:
        others = [each for each in records if not is_heartbeat(each.key, each.value)]
        if handle.ahead is not None and others:
            await handle.ahead(others)

    ahead = None if handle.ahead is None else prepare
    return ColumnHandle(sparing_heartbeats(handle), change, ahead=ahead)


def _heartbeats_of(batch: pa.RecordBatch) -> pa.BooleanArray:
    """Which records are heartbeats: few are as long as these, and only such are looked at."""
    keys, values = batch.column("key"), batch.column("value")
    may_be = pc.is_in(pc.binary_length(values), value_set=_HEARTBEAT_SIZES)
    found = may_be.to_numpy(zero_copy_only=False).copy()
    for at in np.flatnonzero(found):
        found[at] = is_heartbeat(keys[at].as_py(), values[at].as_py())
    return pa.array(found)


def with_provenance(
    handle: Handle,
    provenance: Provenance,
    topic: TopicName,
    left_out: Callable[[SourceRecord], None],
) -> ColumnHandle:
    """
    Headers of provenance, as ``handle`` adds them to records one by one.

    Args:
        left_out: learns of the first row of a batch with records that are not copied.
    """

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        made = marked_columns(provenance, batch, topic)
        if len(made) < len(batch):
            missing = ~np.isin(batch.column("offset").to_numpy(), made.column("offset").to_numpy())
            (first,) = rows_of(batch.slice(int(np.argmax(missing)), 1))
            left_out(first)
        return made

    return ColumnHandle(handle, change, _WORTH_IT)


def of_chain(chain: TransformChain, topic: str) -> Handle:
    """What the chain makes of the records of a topic, on columns if all of it can be."""
    handle = through_chain(chain)
    try:
        columns = on_columns(chain.steps_of(topic))
    except TransformError:
        return handle
    return handle if columns is None else ColumnHandle(handle, columns.apply, _WORTH_IT)


def followed_by(chain: TransformChain, first: Handle) -> Handle:
    """What the chain makes of the records that ``first`` returns."""
    handle, columns = handled_before(chain, first), on_columns(chain.steps)
    if columns is None or not isinstance(first, ColumnHandle):
        ahead = ahead_of(first)
        return handle if ahead is None else PreparedHandle(handle, ahead)

    async def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        made = first.change(batch)
        return columns.apply(await made if isinstance(made, Awaitable) else made)

    return ColumnHandle(handle, change, ahead=first.ahead)
