"""Commits that wait for the next batch of a log partition."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from mm2.core.offset_manager.commits import OffsetError
from mm2.core.offset_manager.committed_offset_records import OffsetKey, encode_key, encode_value
from mm2.core.offset_manager.offset_table import Change
from mm2.kafka.logs.exclusive_log import LogRecord

MOST_COMMIT_BYTES: Final = 8 << 20
"""Of one commit's records. Brokers refuse less, by ``max.message.bytes`` of the topic."""

MOST_WAITING_BYTES: Final = 2 * MOST_COMMIT_BYTES

_TOGETHER: Final = 1_000
"""Offsets of several commits that go into one batch at most; a commit of more goes alone."""

_TOGETHER_BYTES: Final = 1_000_000
"""Bytes of several commits: just below Kafka's default of ``max.message.bytes``."""

_RECORD_BYTES: Final = 16
"""The most that a record has beside its key and its value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueuedCommit:
    """
    A commit on its way into the log.

    Attributes:
        changes: what it does to the table.
        records: the same as the log holds it.
        size: bytes of the records.
        answer: for the client.
    """

    changes: Sequence[Change]
    records: Sequence[LogRecord]
    size: int
    answer: asyncio.Future[OffsetError] = field(default_factory=asyncio.Future)

    @classmethod
    def of(cls, changes: Sequence[Change]) -> Self | None:
        """
        Encodes a commit; None if it is too large.

        Raises:
            struct.error: a value does not fit its field.
        """
        records: list[LogRecord] = []
        size = 0
        for key, stored in changes:
            record = encode_key(key), None if stored is None else encode_value(stored)
            size += _size(record)
            if size > MOST_COMMIT_BYTES:
                return None
            records.append(record)
        return cls(changes=changes, records=records, size=size)

    @classmethod
    def tombstones(cls, keys: Iterable[OffsetKey]) -> Self:
        """Deletes the first of these keys, as many as a batch takes."""
        changes: list[Change] = []
        records: list[LogRecord] = []
        size = 0
        for key in keys:
            record = encode_key(key), None
            if records and size + _size(record) > _TOGETHER_BYTES:
                break
            size += _size(record)
            changes.append((key, None))
            records.append(record)
        return cls(changes=changes, records=records, size=size)


class CommitQueue:
    """Commits in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: deque[QueuedCommit] = deque()
        self._size = 0

    def add(self, commit: QueuedCommit) -> bool:
        """Whether there is room for it; only then it is added."""
        if self._size + commit.size > MOST_WAITING_BYTES:
            return False
        self._waiting.append(commit)
        self._size += commit.size
        return True

    def next_batch(self) -> list[QueuedCommit]:
        """Takes the commits of the next batch; drops those that have been answered meanwhile."""
        batch: list[QueuedCommit] = []
        count = size = 0
        while self._waiting:
            first = self._waiting[0]
            if not first.answer.done():
                count, size = count + len(first.records), size + first.size
                if batch and (count > _TOGETHER or size > _TOGETHER_BYTES):
                    break
                batch.append(first)
            self._size -= self._waiting.popleft().size
        return batch

    def clear(self) -> list[QueuedCommit]:
        """Takes all of them."""
        commits, self._waiting, self._size = list(self._waiting), deque(), 0
        return commits


def _size(record: LogRecord) -> int:
    key, value = record
    return len(key) + len(value or b"") + _RECORD_BYTES
