"""What changes many records at a time, as columns of Arrow, and one alone as others do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import structlog

from flows.source.forward.record_batch import Batch
from flows.source.forward.record_body import DecodedRecord
from flows.source.transform.message_handler import Handle, Handled, source_record
from mm2.core.handled_records import SourceRecord
from mm2.core.model import TopicPartition
from mm2.errors import Mm2Error
from mm2.kafka.wire.compiled import Compiled, RecordsSection

if TYPE_CHECKING:
    import pyarrow as pa

log = structlog.get_logger()

Ahead: TypeAlias = Callable[[Sequence[SourceRecord]], Awaitable[None]]
"""Gets many records that will be handled one by one, and may prepare them."""

Sections: TypeAlias = Mapping[TopicPartition, Sequence[RecordsSection]]

LEAST_ROWS: Final = 32
"""
Where changing rows together fails, fewer are not halved: they are tried one by one, which is
faster then.
"""

_ENOUGH_AHEAD: Final = 1024
"""Records that are told of at once, at least, if there are as many."""

_compiled: Final = Compiled("flows.source.transform.column_parts", "changed_parts")


class ChangedPart(NamedTuple):
    """
    Source offsets, and what becomes of their records.

    Attributes:
        sections: for batches, by where they go; None if that is to be tried record by record.
        left_out: of how many records nothing is made.
    """

    covers: range
    sections: Sections | None = None
    left_out: int = 0


class ColumnPart(NamedTuple):
    """
    What becomes of records as columns.

    Attributes:
        problem: why they are to be tried record by record.
    """

    made: ChangedPart
    problem: str = ""


def compile_columns() -> None:
    """Waits until the code for columns is compiled."""
    _compiled.wait()


@dataclass(frozen=True, slots=True)
class ColumnHandle:
    """
    A ``Handle`` that has another way for many records.

    Attributes:
        handle: what one record becomes.
        change: what rows become: the same, each with the offset that it was made of, in ascending
            order. If that cannot be told for all of them it raises anything. It may be
            asynchronous.
        least: so many records at least are worth it; fewer are handled one by one.
        ahead: is told of records that will be handled one by one.
        failed: partitions of the target for which it was logged that rows could not be changed.
    """

    handle: Handle
    change: Callable[[pa.RecordBatch], pa.RecordBatch | Awaitable[pa.RecordBatch]]
    least: int = 1
    ahead: Ahead | None = None
    failed: set[TopicPartition] = field(default_factory=set)

    def __call__(self, record: SourceRecord) -> Handled | Awaitable[Handled]:
        """What one record becomes."""
        return self.handle(record)

    async def parts(
        self,
        batches: Sequence[Batch],
        cover: range,
        target: TopicPartition,
        most: int,
        most_plain: int,
    ) -> AsyncIterator[ChangedPart]:
        """
        What becomes of the records of batches, as ``column_parts.changed_parts`` says.

        If they are few, and until that is compiled, they are to be tried record by record.
        """
        changed_parts = _compiled.get()
        if changed_parts is None or sum(batch.count for batch in batches) < self.least:
            yield ChangedPart(cover)
            return
        parts: AsyncIterator[ColumnPart] = changed_parts(
            batches, cover, self, target, most=most, most_plain=most_plain
        )
        async for part in parts:
            if part.problem and target not in self.failed:
                self.failed.add(target)
                log.warning("source.columns_failed", remote=str(target), reason=part.problem)
            yield part.made


@dataclass(frozen=True, slots=True)
class PreparedHandle:
    """A ``Handle`` for records one by one, with what is to be told of many of them before."""

    handle: Handle
    ahead: Ahead

    def __call__(self, record: SourceRecord) -> Handled | Awaitable[Handled]:
        """What one record becomes."""
        return self.handle(record)


def ahead_of(handle: Handle | None) -> Ahead | None:
    """What a transform has to be told of records that it will have to handle one by one."""
    return handle.ahead if isinstance(handle, ColumnHandle | PreparedHandle) else None


async def prepare(
    handle: Handle | None,
    target: TopicPartition,
    batches: Sequence[Batch],
    decode: Callable[[Batch], Sequence[DecodedRecord]],
) -> int:
    """
    Tells a transform what it will have to handle one by one, if it wants to know.

    Returns:
        How many of the batches it knows of, from the first one on: at least that one.
    """
    ahead, known = ahead_of(handle), 0
    if ahead is None:
        return len(batches)
    records: list[DecodedRecord] = []
    # What cannot be read or taken fails again, for the batch or record that is to blame.
    with suppress(ValueError):
        while known < len(batches) and len(records) < _ENOUGH_AHEAD:
            records += decode(batches[known])
            known += 1
    with suppress(ValueError, Mm2Error):
        if records:
            await ahead([source_record(target, record) for record in records])
    return max(known, 1)
