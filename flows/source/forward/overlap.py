"""
What the target has already, beyond the committed position.

A task that is killed leaves records on the target which its last committed position does not know
of. Copied again they would be duplicates, which at least once allows; but they can be recognised: a
position record has in its header at which offset of the remote partition the next record went
(``Lineage.remote_end``). What stands there from that offset on is compared, record by record, with
what the source has behind the position. As far as both are equal it need not be copied again. At
the first difference copying begins, so nothing is ever passed over that the target does not hold.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Iterator
from typing import Final

from flows.source.forward.recode import each_record
from flows.source.forward.record_batch import Batch, split
from flows.source.forward.record_body import DecodedRecord
from mm2.core.model import NO_OFFSET
from mm2.kafka.wire.compression import TooLarge

_BATCH_BYTES: Final = 4 << 20
"""Of a batch, even if it is more than what is left: what we write is not larger as a rule."""

_OF_RECORD: Final = 16
"""Bytes that are kept of each record."""


class Overlap:
    """
    Records at the end of a remote partition, as fingerprints in order, and where they are.

    They are read one fetch at a time: the next when all of the last one were found.

    Args:
        unread: their offsets, from the one behind the committed position on.
        most: bytes of them that are compared, decompressed.
        used_up: called when there is more to be read before anything can be compared.

    Attributes:
        unread: offsets that are still to be read; none are left once something cannot be.
        most: bytes that may still be compared.
        passed: how many records of the source were found here.
        end: remote offset behind the last record that was found; -1 if there is none.
    """

    def __init__(self, unread: range, most: int, used_up: Callable[[], None]) -> None:
        self.unread, self.most = unread, most
        self.passed, self.end = 0, NO_OFFSET
        self._used_up = used_up
        self._prints, self._ends = array("q"), array("q")
        self._at = 0

    @property
    def is_used_up(self) -> bool:
        """Whether all that was read was found, and there is more to be read."""
        return self._at == len(self._prints) and bool(self.unread)

    @property
    def is_over(self) -> bool:
        """Whether all were found."""
        return self._at == len(self._prints) and not self.unread

    def holds_next(self, record: DecodedRecord) -> bool:
        """
        Whether the target has this record next; if so, the one behind it is next.

        Not to be asked when it is used up.
        """
        if self._at == len(self._prints) or self._prints[self._at] != _fingerprint(record):
            return False
        self.end = self._ends[self._at]
        self._at += 1
        self.passed += 1
        if self.is_used_up:
            self._used_up()
        return True

    async def read_on(self, data: memoryview) -> None:
        """
        Continues with more records; only when it is used up.

        Nothing is read behind a batch that is too large, cannot be read or may have been aborted:
        what follows will be copied twice.

        ``data`` starts at the first unread offset; it is empty if it cannot be read.
        """
        prints, ends, unread = array("q"), array("q"), range(0)
        try:
            for batch in split(data):
                for record in self._records(batch):
                    prints.append(_fingerprint(record))
                    ends.append(record.offset + 1)
                unread = range(batch.last_offset + 1, self.unread.stop)
                await asyncio.sleep(0)  # for others, who go on copying
        except ValueError:
            unread = range(0)
        self._prints, self._ends, self._at, self.unread = prints, ends, 0, unread

    def _records(self, batch: Batch) -> Iterator[DecodedRecord]:
        if batch.is_control:
            return
        most = max(self.most, _BATCH_BYTES)
        if batch.is_transactional or self.most <= 0 or batch.count * _OF_RECORD > most:
            raise TooLarge(most)
        for record in each_record(batch, most):
            self.most -= max(len(record.body), _OF_RECORD)
            if record.offset >= self.unread.start:
                yield record


def _fingerprint(record: DecodedRecord) -> int:
    return hash((record.timestamp, record.body))
