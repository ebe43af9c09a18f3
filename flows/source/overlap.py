"""
What the target has already, beyond the committed position.

A task that is killed leaves records on the target which its last committed position does not know
of. Copied again they would be duplicates, which at least once allows; but they can be told: a
position record says, in its header, at which offset of the remote partition the next record went
(``Lineage.remote_end``). What stands there from that offset on is compared, record by record, with
what the source has behind the position. As far as both are equal it need not be copied again. At
the first difference copying begins, so nothing is ever passed over that the target does not hold.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Iterable, Mapping
from typing import Final

from flows.source.batch import Batch, split
from flows.source.recode import Record, each_record
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.kafka.wire.client import WireClient
from mm2.kafka.wire.codecs import TooLarge
from mm2.kafka.wire.codes import Code
from mm2.kafka.wire.fetch import FetchRequest
from mm2.kafka.wire.list_offsets import LATEST

_MOST_BYTES: Final = 64 << 20
"""Of all tails that one task reads, decompressed, so that a start does not take long."""

_LEAST_BYTES: Final = 1 << 20
"""Of the tail of one partition."""

_BATCH_BYTES: Final = 4 << 20
"""Of a batch, even if it is more than what is left: what we write is not larger as a rule."""

_OF_RECORD: Final = 16
"""Bytes that are kept of each record."""

_FETCH_BYTES: Final = 4 << 20
_WAIT_MS: Final = 100


class Overlap:
    """
    Records at the end of a remote partition, as fingerprints in order, and where they are.

    Args:
        records: from the offset behind the committed position on.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._prints, self._ends = array("q"), array("q")
        self._at = 0
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Adds a record behind the others."""
        self._prints.append(_fingerprint(record))
        self._ends.append(record.offset + 1)

    @property
    def passed(self) -> int:
        """How many records of the source were found here."""
        return self._at

    @property
    def end(self) -> int:
        """Remote offset behind the last record that was found; -1 if there is none."""
        return self._ends[self._at - 1] if self._at else NO_OFFSET

    @property
    def is_over(self) -> bool:
        """Whether all were found."""
        return self._at == len(self._prints)

    def holds_next(self, record: Record) -> bool:
        """Whether the target has this record next; if so, the one behind it is next."""
        if self.is_over or self._prints[self._at] != _fingerprint(record):
            return False
        self._at += 1
        return True


def _fingerprint(record: Record) -> int:
    return hash((record.timestamp, record.body))


async def find_overlaps(
    target: WireClient, ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Overlap]:
    """
    Reads what remote partitions hold from the given offsets on.

    Of a long tail only the beginning is read, and nothing behind a batch that is too large; what is
    not read will be copied twice.

    Args:
        target: which has the partitions.
        ends: for each, the offset behind the record that the committed position speaks of.

    Raises:
        Unavailable: the target does not answer.
    """
    known = {where: end for where, end in ends.items() if end != NO_OFFSET}
    found = await target.list_offsets(known, LATEST)
    longer = {where: (known[where], end) for where, end in found.items() if end > known[where]}
    most = max(_MOST_BYTES // max(len(longer), 1), _LEAST_BYTES)
    return {
        where: await _read(target, where, first, end, most)
        for where, (first, end) in longer.items()
    }


async def _read(
    target: WireClient, where: TopicPartition, position: int, end: int, most: int
) -> Overlap:
    found = Overlap()
    while position < end and most > 0 and (node := target.leader(where)) is not None:
        request = FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=_FETCH_BYTES,
            read_committed=False,
            topics={where.topic: [(where.partition, position, _FETCH_BYTES)]},
        )
        (answer,) = (await target.fetch(node, request)).partitions
        batches = list(split(answer.records)) if answer.error == Code.NONE else []
        if not batches:
            break
        for batch in batches:
            if batch.is_control:
                continue
            if batch.is_transactional or most <= 0:  # it may have been aborted
                return found
            try:
                most -= _add(found, batch, position, max(most, _BATCH_BYTES))
            except ValueError:
                return found  # it is too large, or cannot be read
            await asyncio.sleep(0)  # for others, who go on copying
        position = batches[-1].last_offset + 1
    return found


def _add(found: Overlap, batch: Batch, position: int, most: int) -> int:
    """How many bytes the records have, which are added."""
    if batch.count * _OF_RECORD > most:
        raise TooLarge(most)
    size = 0
    for record in each_record(batch, most):
        size += max(len(record.body), _OF_RECORD)
        if record.offset >= position:
            found.add(record)
    return size
