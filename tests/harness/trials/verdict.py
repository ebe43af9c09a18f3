"""What a group that has moved reads twice, and what it never reads; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Where = tuple[str, int]
"""A topic of the source, and a partition."""

Log = Sequence[tuple[int, int]]
"""Offset and number of each record of a partition, in order."""

WasRead = Callable[[int], bool | None]
"""Whether the group has read the record of a number; None: nobody can tell."""

FROM_THE_START: Final = -1
"""The position of a group that has committed nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    What follows from where a group goes on in one partition.

    Attributes:
        reread: numbers of records that it had read, and reads again.
        skipped: numbers of records that it had not read, and never reads.
        first: number of the first record that it reads; None when there is none yet.
    """

    reread: tuple[int, ...]
    skipped: tuple[int, ...]
    first: int | None


def judge(log: Log, position: int, was_read: WasRead) -> Verdict:
    """Judges a group that goes on at ``position`` of a log."""
    # A log may hold a record twice, where its mirror guarantees no more than at least once.
    ahead = dict.fromkeys(number for offset, number in log if offset >= position)
    behind = dict.fromkeys(number for offset, number in log if offset < position)
    return Verdict(
        reread=tuple(number for number in ahead if was_read(number) is True),
        skipped=tuple(n for n in behind if n not in ahead and was_read(n) is False),
        first=next(iter(ahead), None),
    )


def read_up_to(offsets: Mapping[int, int], position: int) -> WasRead:
    """Whether a group read a record on the cluster where it was, by the records' offsets there."""
    return lambda number: offsets[number] < position


def read_in_copy(offsets: Mapping[int, int], copy: Iterable[tuple[int, int]], at: int) -> WasRead:
    """
    Whether a group that read a copy up to offset ``at`` has read a record of the original.

    Copies keep the order, so two records bound what was read: the last one before ``at`` and the
    first one behind it. What lies between them in the original has no copy any more.

    Args:
        offsets: of the numbers in the original.
        copy: offset in the copy and number.
        at: where the group stood in the copy.
    """
    known = list(copy)
    last = max((offsets[number] for offset, number in known if offset < at), default=-1)
    later = (offsets[number] for offset, number in known if offset >= at)
    first = min(later, default=last + 1)

    def was_read(number: int) -> bool | None:
        if offsets[number] <= last:
            return True
        return False if offsets[number] >= first else None

    return was_read
