"""
A chain of transforms on columns of Arrow, for those that need no record as an object.

What becomes of records is the same as with ``TransformChain``. What fails there for one record
fails here for all: it is then to be tried record by record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mm2.core.transforms.column_schema import HEADERS_TYPE
from mm2.core.transforms.headers import DropHeaders, InsertHeader
from mm2.core.transforms.predicates import HasHeaderKey, RecordIsTombstone, TopicNameMatches
from mm2.core.transforms.routers import Filter, RegexRouter, TimestampRouter
from mm2.core.transforms.transform_chain import Step

_Flags: TypeAlias = NDArray[np.bool_]
_Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ColumnChain:
    """Transforms in the order in which they are applied, all of them on columns."""

    steps: Sequence[Step]

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """
        The records after all transforms; the batch has the columns of ``SCHEMA``.

        Raises:
            TransformError: a transform cannot be applied to some record.
            PatternTimeout: a pattern takes too long.
        """
        for step in self.steps:
            if not len(batch):
                break
            chosen = np.ones(len(batch), np.bool_)
            if step.predicate is not None:
                chosen = _TESTS[type(step.predicate)](step.predicate, batch) != step.negated
            if chosen.any():
                batch = _CHANGES[type(step.transform)](step.transform, batch, chosen)
        return batch


def on_columns(steps: Sequence[Step]) -> ColumnChain | None:
    """The same steps on columns; None if one of them needs records one by one."""
    is_possible = all(
        type(step.transform) in _CHANGES
        and (step.predicate is None or type(step.predicate) in _TESTS)
        for step in steps
    )
    return ColumnChain(steps) if is_possible else None


def _is_tombstone(_: RecordIsTombstone, batch: pa.RecordBatch) -> _Flags:
    return flags_of(batch.column("value").is_null())


def _has_header(predicate: HasHeaderKey, batch: pa.RecordBatch) -> _Flags:
    starts, items = headers_of(batch)
    counts = sums_of(flags_of(pc.equal(items.field(0), predicate.name)))
    found: _Flags = counts[starts[1:]] > counts[starts[:-1]]
    return found


def _has_topic(predicate: TopicNameMatches, batch: pa.RecordBatch) -> _Flags:
    topics = batch.column("topic").dictionary_encode()
    matches = [predicate.matches(topic) for topic in topics.dictionary.to_pylist()]
    found: _Flags = np.array(matches, np.bool_)[topics.indices.to_numpy()]
    return found


def _dropped(_: Filter, batch: pa.RecordBatch, chosen: _Flags) -> pa.RecordBatch:
    return batch.filter(pa.array(~chosen))


def _with_header(transform: InsertHeader, batch: pa.RecordBatch, chosen: _Flags) -> pa.RecordBatch:
    starts, items = headers_of(batch)
    own = pa.array([{"key": transform.name, "value": transform.value}], items.type)
    order = np.insert(np.arange(len(items)), starts[1:][chosen], len(items))
    found = pa.concat_arrays([items, own]).take(pa.array(order))
    return with_headers(batch, starts + sums_of(chosen), found)


def _without_headers(
    transform: DropHeaders, batch: pa.RecordBatch, chosen: _Flags
) -> pa.RecordBatch:
    starts, items = headers_of(batch)
    names = pa.array(sorted(transform.names), pa.string())
    stays = ~flags_of(pc.is_in(items.field(0), names)) | ~np.repeat(chosen, np.diff(starts))
    return with_headers(batch, sums_of(stays)[starts], items.filter(pa.array(stays)))


def _renamed(transform: RegexRouter, batch: pa.RecordBatch, chosen: _Flags) -> pa.RecordBatch:
    topics = batch.column("topic").filter(pa.array(chosen)).dictionary_encode()
    made = [transform.name_of(topic) for topic in topics.dictionary.to_pylist()]
    return _with_topics(batch, chosen, made, topics.indices.to_numpy())


def _named_by_time(
    transform: TimestampRouter, batch: pa.RecordBatch, chosen: _Flags
) -> pa.RecordBatch:
    rows = batch.filter(pa.array(chosen))
    topics = rows.column("topic").dictionary_encode()
    times = rows.column("timestamp").view(pa.int64()).to_numpy()
    step = transform.timestamp_format.step_ms
    starts, which = np.unique(times // step, return_inverse=True)
    indices = topics.indices.to_numpy().astype(np.int64)  # Of 32 bits, their products overflow.
    pairs, order = np.unique(indices * len(starts) + which, return_inverse=True)
    names = topics.dictionary.to_pylist()
    made = [
        transform.name_of(names[pair // len(starts)], int(starts[pair % len(starts)]) * step)
        for pair in pairs.tolist()
    ]
    return _with_topics(batch, chosen, made, order)


def _with_topics(
    batch: pa.RecordBatch, chosen: _Flags, names: list[str], which: _Numbers
) -> pa.RecordBatch:
    made = pa.array(names, pa.string()).take(pa.array(which))
    topics = pc.replace_with_mask(batch.column("topic"), pa.array(chosen), made)
    return _with_column(batch, "topic", topics)


def headers_of(batch: pa.RecordBatch) -> tuple[_Numbers, pa.StructArray]:
    """Where the headers of each record begin and end among those of all."""
    column = batch.column("headers")
    starts = column.offsets.to_numpy().astype(np.int64)
    return starts - starts[0], column.values.slice(int(starts[0]), int(starts[-1] - starts[0]))


def with_headers(batch: pa.RecordBatch, starts: _Numbers, items: pa.StructArray) -> pa.RecordBatch:
    """The same records with other headers, as ``headers_of`` returns them."""
    offsets = pa.array(starts.astype(np.int32))
    return _with_column(
        batch, "headers", pa.ListArray.from_arrays(offsets, items, type=HEADERS_TYPE)
    )


def _with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    at = batch.schema.get_field_index(name)
    return batch.set_column(at, batch.schema.field(at), column)


def flags_of(column: pa.BooleanArray) -> _Flags:
    """A column without nulls."""
    return cast("_Flags", column.to_numpy(zero_copy_only=False))


def sums_of(flags: _Flags) -> _Numbers:
    """How many flags there are before each, and in all."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(flags)])


_CHANGES: Final[Mapping[type, Callable[[Any, pa.RecordBatch, _Flags], pa.RecordBatch]]] = {  # type: ignore[explicit-any]
    Filter: _dropped,
    InsertHeader: _with_header,
    DropHeaders: _without_headers,
    RegexRouter: _renamed,
    TimestampRouter: _named_by_time,
}
_TESTS: Final[Mapping[type, Callable[[Any, pa.RecordBatch], _Flags]]] = {  # type: ignore[explicit-any]
    RecordIsTombstone: _is_tombstone,
    HasHeaderKey: _has_header,
    TopicNameMatches: _has_topic,
}
