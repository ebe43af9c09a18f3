"""
Translates offsets of the source into offsets of the copy (Java: ``OffsetSyncStore``).

For each source partition 64 syncs are kept, ever sparser towards the past: slot ``i`` holds a sync
at most 2**i offsets older than the newest, give or take. A translation never guesses: what lies
behind a sync is translated to one past it, so that consumers read again rather than skip (C243).

Syncs are compared by identity, not by value: a sync that is delivered twice is two syncs (C449).
"""

from __future__ import annotations

from typing import Final

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicPartition

SLOTS: Final = 64
TOO_OLD: Final = -1
"""Translation of an offset that lies before every sync that is kept (C241)."""

_LARGEST: Final = 2**63 - 1
_LAST: Final = SLOTS - 1


class OffsetSyncStore:
    """
    The syncs of one flow.

    Args:
        must_read_to_end: forget, for each partition, all but the last sync that stood in the topic
            before the start. Needed when no earlier checkpoints are known, because translations
            could otherwise fall behind those that were handed out before (C238).
    """

    def __init__(self, *, must_read_to_end: bool) -> None:
        self._must_read_to_end = must_read_to_end
        self._read_to_end = False
        self._syncs: dict[TopicPartition, list[OffsetSync]] = {}

    def backlog_read(self) -> None:
        """Notes that the topic has been read up to its end at the start: translations begin."""
        self._read_to_end = True

    def handle(self, sync: OffsetSync) -> None:
        """Takes in the next sync of the topic."""
        slots = self._syncs.get(sync.partition)
        forget = self._must_read_to_end and not self._read_to_end
        if slots is None or forget or sync.upstream_offset < slots[0].upstream_offset:
            # The first sync, or the source's offsets began anew: older ones say nothing (C251).
            self._syncs[sync.partition] = [sync] * SLOTS
        else:
            _insert(slots, sync)

    def translate(self, partition: TopicPartition, upstream_offset: int) -> int | None:
        """
        Returns the offset downstream that is safe for ``upstream_offset`` (C241).

        Returns:
            None if nothing is known of the partition or the backlog is not read; TOO_OLD if the
            offset lies before all that is known.
        """
        slots = self._syncs.get(partition)
        if slots is None or not self._read_to_end:
            return None
        for sync in slots:
            if sync.upstream_offset == upstream_offset:
                return sync.downstream_offset
            if sync.upstream_offset < upstream_offset:
                return sync.downstream_offset + 1
        return TOO_OLD

    def reverse(self, partition: TopicPartition, downstream_offset: int) -> int | None:
        """
        Returns the offset of the source that is safe for a reader of the copy; Java has no such.

        Whoever is past the copy of a synced record has read all up to that record. As ever, what
        lies behind it is read again.

        Returns:
            None if nothing is known of the partition or the backlog is not read; TOO_OLD if the
            offset lies before all that is known.
        """
        slots = self._syncs.get(partition)
        if slots is None or not self._read_to_end:
            return None
        for sync in slots:
            if sync.downstream_offset == downstream_offset:
                return sync.upstream_offset
            if sync.downstream_offset < downstream_offset:
                return sync.upstream_offset + 1
        return TOO_OLD

    def newest(self, partition: TopicPartition) -> OffsetSync | None:
        """Returns the last sync of a partition, whether or not the backlog is read (C245)."""
        slots = self._syncs.get(partition)
        return None if slots is None else slots[0]

    def slots(self, partition: TopicPartition) -> tuple[OffsetSync, ...]:
        """Returns the 64 syncs of a partition, the newest first; empty if there are none."""
        return tuple(self._syncs.get(partition, ()))


def invariant_b(newer: OffsetSync, older: OffsetSync, i: int, j: int) -> bool:
    """Tells whether slot ``j`` is recent enough beside slot ``i`` < ``j`` (C246)."""
    bound = older.upstream_offset + 2**j - 2**i
    return newer is older or bound > _LARGEST or newer.upstream_offset <= bound


def invariant_c(newer: OffsetSync, older: OffsetSync, i: int, j: int) -> bool:
    """Tells whether slots ``i`` < ``j`` are far enough apart (C247); ``j`` plays no part."""
    del j
    bound = older.upstream_offset + 2 ** max(i - 2, 0)
    return newer is older or (bound <= _LARGEST and newer.upstream_offset >= bound)


def _insert(slots: list[OffsetSync], sync: OffsetSync) -> None:
    """
    Puts ``sync`` first and moves the others back as far as the invariants ask (C252).

    One pass: ``source`` walks the old slots in front of the one being replaced, looking for the
    newest sync that may stand there.
    """
    old = tuple(slots)
    slots[0] = candidate = sync
    source = 0
    for slot in range(1, SLOTS):
        while True:
            offered = old[source]
            separated = invariant_c(slots[slot - 1], offered, slot - 1, slot)
            fits = (
                separated
                and invariant_b(slots[slot - 1], offered, slot - 1, slot)
                and (slot == _LAST or invariant_c(offered, old[slot + 1], slot, slot + 1))
            )
            if fits:
                candidate = offered
            skipped = not separated or offered is old[source + 1]
            if fits or skipped:
                source += 1
            if source >= slot or not skipped:
                break
        if invariant_b(slots[slot - 1], old[slot], slot - 1, slot):
            return
        slots[slot] = candidate
