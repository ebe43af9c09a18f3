"""
Finds out where no record lies between two offsets, of many groups and partitions at once.

Offsets with nothing but the marker of a transaction or a gap between them are the same to a reader.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from mm2.core.model import TopicPartition
from mm2.failover.move_route import ClusterClients
from mm2.kafka.logs.first_records import Range, first_records
from mm2.kafka.logs.records import Record

FirstRecords: TypeAlias = Callable[
    [Mapping[TopicPartition, Range]], Awaitable[Mapping[TopicPartition, Record | None]]
]
"""Says which record is the first in each range; what is not known is left out."""


class FirstRecordQuery(Protocol):
    """Makes what finds first records on a cluster."""

    def __call__(self, side: ClusterClients, *, read_committed: bool) -> FirstRecords:
        """
        Returns it.

        Args:
            side: the cluster.
            read_committed: whether aborted records do not count.
        """


class OffsetRange(NamedTuple):
    """Offsets of a partition, without the last."""

    where: TopicPartition
    first: int
    end: int


async def without_records(stretches: Iterable[OffsetRange], look: FirstRecords) -> set[OffsetRange]:
    """
    Those of the stretches that certainly hold no record.

    All partitions are asked about together, and the stretches of one as well: the first record
    between the first of their offsets and the last mostly decides them all.

    Args:
        stretches: any number, also several of one partition.
        look: finds first records.

    Raises:
        ClusterError: the cluster does not answer, or refuses.
    """
    open_, empty = set(stretches), set[OffsetRange]()
    while open_:
        found = await look(_hulls(open_))
        empty |= {each for each in open_ if _is_empty(each, found)}
        open_ = {each for each in open_ if _says_nothing(each, found)}
    return empty


def look_at(side: ClusterClients, *, read_committed: bool) -> FirstRecords:
    """Looks on a real cluster."""

    async def look(
        ranges: Mapping[TopicPartition, Range],
    ) -> Mapping[TopicPartition, Record | None]:
        return await first_records(side.alias, side.consumer, ranges, read_committed=read_committed)

    return look


def _hulls(stretches: Iterable[OffsetRange]) -> dict[TopicPartition, Range]:
    hulls: dict[TopicPartition, Range] = {}
    for where, first, end in stretches:
        least, most = hulls.get(where, (first, end))
        hulls[where] = (min(least, first), max(most, end))
    return hulls


def _is_empty(stretch: OffsetRange, found: Mapping[TopicPartition, Record | None]) -> bool:
    record = found.get(stretch.where, ...)
    if record is ...:
        return False
    return record is None or record.offset >= stretch.end or stretch.first >= stretch.end


def _says_nothing(stretch: OffsetRange, found: Mapping[TopicPartition, Record | None]) -> bool:
    """A record before a stretch does not tell whether there is one in it."""
    record = found.get(stretch.where)
    return record is not None and record.offset < stretch.first and stretch.first < stretch.end
