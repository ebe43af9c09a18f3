"""Records as columns of digests: 49 bytes each, whatever they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
Digests: TypeAlias = NDArray[np.uint64]
Flags: TypeAlias = NDArray[np.bool_]

FIELDS: Final = ("key", "value", "headers", "timestamp")
"""The parts of a record that are compared, by the names that reports use."""

_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class RecordTable:
    """
    Consecutive records of a partition, in the order of the log.

    Attributes:
        offsets: ascending.
        timestamps: in ms.
        keys: digests; 0 for None.
        values: digests; 0 for None.
        headers: digests of all headers of a record together; 0 for none.
        append_times: whether the broker has set the timestamp.
        contents: one digest of key, value and headers.
    """

    offsets: Numbers
    timestamps: Numbers
    keys: Digests
    values: Digests
    headers: Digests
    append_times: Flags
    contents: Digests

    @classmethod
    def of(
        cls,
        offsets: Numbers,
        timestamps: Numbers,
        digests: Digests,
        append_times: Flags,
    ) -> RecordTable:
        """
        Makes a table.

        Args:
            digests: three columns: key, value, headers; each made with a key of its own.
        """
        keys, values, headers = (np.ascontiguousarray(digests[:, at]) for at in range(3))
        contents = keys ^ values ^ headers
        return cls(offsets, timestamps, keys, values, headers, append_times, contents)

    def __len__(self) -> int:
        return len(self.offsets)

    def part(self, start: int, end: int | None = None) -> RecordTable:
        """The records from one place to another."""
        return self.take(slice(start, end))

    def take(self, which: slice[int, int | None, None] | Flags | Numbers) -> RecordTable:
        """Some of the records."""
        return RecordTable(
            self.offsets[which],
            self.timestamps[which],
            self.keys[which],
            self.values[which],
            self.headers[which],
            self.append_times[which],
            self.contents[which],
        )

    def timed_contents(self) -> Digests:
        """One digest of key, value, headers and timestamp."""
        return self.contents ^ (self.timestamps.astype(np.uint64) + np.uint64(1)) * _SPREAD

    def row(self, at: int) -> tuple[int, int, int, int]:
        """Digests of key, value and headers of a record, and its timestamp."""
        numbers = (self.keys[at], self.values[at], self.headers[at], self.timestamps[at])
        key, value, headers, timestamp = map(int, numbers)
        return key, value, headers, timestamp


def joined(tables: Sequence[RecordTable]) -> RecordTable:
    """One table of the records of several."""
    if len(tables) == 1:
        return tables[0]
    if not tables:
        return NO_RECORDS
    return RecordTable(
        np.concatenate([each.offsets for each in tables]),
        np.concatenate([each.timestamps for each in tables]),
        np.concatenate([each.keys for each in tables]),
        np.concatenate([each.values for each in tables]),
        np.concatenate([each.headers for each in tables]),
        np.concatenate([each.append_times for each in tables]),
        np.concatenate([each.contents for each in tables]),
    )


NO_RECORDS: Final = RecordTable.of(
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty((0, 3), np.uint64),
    np.empty(0, np.bool_),
)
