"""
Transforms on columns of Arrow: the user's function, and Connect's where they can be.

Importing this takes half a second.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

import pyarrow as pa

from flows.source.transform.column_handle import ColumnHandle, PreparedHandle, ahead_of
from flows.source.transform.connect_transforms import handled_before, through_chain
from flows.source.transform.message_handler import Handle
from mm2.core.transforms import TransformChain
from mm2.core.transforms.arrow_function import Change, load_function
from mm2.core.transforms.column_schema import one_row, rows_of
from mm2.core.transforms.column_steps import on_columns
from mm2.errors import TransformError

_WORTH_IT: Final = 64
"""Records for which a batch of columns takes as long as their objects do."""


def user_function(path: str, arguments: str) -> ColumnHandle:
    """
    The Arrow function under an import path, which gets a single record as a batch of one row.

    Raises:
        ConfigError: it cannot be loaded.
    """
    return of_function(load_function(path, arguments))


def of_function(change: Change) -> ColumnHandle:
    """A function of batches as what becomes of records."""
    return ColumnHandle(lambda record: rows_of(change(one_row(record))), change)


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
