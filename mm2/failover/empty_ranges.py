"""
Finds out where no record lies between two offsets, of many groups and partitions at once.

Offsets with nothing but the marker of a transaction or a gap between them are the same to a reader.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from mm2.client.group_survey import ClusterClients
from mm2.core.model import TopicPartition
from mm2.kafka.logs.first_records import Range, first_records
from mm2.kafka.logs.records import Record

FirstRecords: TypeAlias = Callable[
    [Mapping[TopicPartition, Range]], Awaitable[Mapping[TopicPartition, Record | None]]
]
"""Finds the first record in each range; what is not known is left out."""


class FirstRecordQuery(Protocol):
    """Makes what finds first records on a cluster."""

    def __call__(self, side: ClusterClients, *, read_committed: bool) -> FirstRecords:
        """Returns it; with ``read_committed`` aborted records do not count."""


class OffsetRange(NamedTuple):
    """Offsets of a partition, without the last."""

    where: TopicPartition
    first: int
    end: int


async def without_records(ranges: Iterable[OffsetRange], query: FirstRecords) -> set[OffsetRange]:
    """
    Those of the ranges that certainly hold no record; there may be several of one partition.

    All partitions are asked about together, and the ranges of one as well: the first record
    between the first of their offsets and the last mostly decides them all.

    Raises:
        ClusterError: the cluster does not answer, or refuses.
    """
    open_, empty = set(ranges), set[OffsetRange]()
    while open_:
        found = await query(_hulls(open_))
        empty |= {each for each in open_ if _is_empty(each, found)}
        open_ = {each for each in open_ if _is_open(each, found)}
    return empty


def query_records(side: ClusterClients, *, read_committed: bool) -> FirstRecords:
    """Asks a real cluster."""

    async def query(
        ranges: Mapping[TopicPartition, Range],
    ) -> Mapping[TopicPartition, Record | None]:
        return await first_records(side.alias, side.consumer, ranges, read_committed=read_committed)

    return query


def _hulls(ranges: Iterable[OffsetRange]) -> dict[TopicPartition, Range]:
    hulls: dict[TopicPartition, Range] = {}
    for where, first, end in ranges:
        least, most = hulls.get(where, (first, end))
        hulls[where] = (min(least, first), max(most, end))
    return hulls


def _is_empty(range_: OffsetRange, found: Mapping[TopicPartition, Record | None]) -> bool:
    record = found.get(range_.where, ...)
    if record is ...:
        return False
    return record is None or record.offset >= range_.end or range_.first >= range_.end


def _is_open(range_: OffsetRange, found: Mapping[TopicPartition, Record | None]) -> bool:
    """A record before a range does not decide whether there is one in it."""
    record = found.get(range_.where)
    return record is not None and record.offset < range_.first and range_.first < range_.end
