"""
The offsets of one log partition, in memory.

The log decides: of two records with the same key the one with the higher log offset counts, in
whichever order they are applied. So commits may be applied while the log before them is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mm2.core.model import TopicPartition
from mm2.core.offset_manager.commits import StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey

Change = tuple[OffsetKey, StoredOffset | None]
"""A record of the log; None is a tombstone."""


class _Applied(NamedTuple):
    """What the record at an offset of the log says; None for a tombstone."""

    log_offset: int
    stored: StoredOffset | None


class OffsetTable:
    """The last offsets of the groups of a log partition."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[TopicPartition, _Applied]] = {}

    def __len__(self) -> int:
        """How many offsets it holds."""
        return sum(
            each.stored is not None for group in self._groups.values() for each in group.values()
        )

    def apply(self, key: OffsetKey, stored: StoredOffset | None, log_offset: int) -> None:
        """Takes in a record of the log; a tombstone stays known until ``forget_tombstones``."""
        self.apply_all([(key, stored)], log_offset)

    def apply_all(self, changes: Iterable[Change], base_offset: int) -> None:
        """Takes in records that stand one behind the other, the first at ``base_offset``."""
        for log_offset, ((name, where), stored) in enumerate(changes, base_offset):
            group = self._groups.get(name)
            if group is None:
                group = self._groups[name] = {}
            known = group.get(where)
            if known is None or known.log_offset < log_offset:
                group[where] = _Applied(log_offset, stored)

    def forget_tombstones(self) -> None:
        """Drops all of them; nothing older is applied from now on."""
        for name, group in list(self._groups.items()):
            kept = {where: each for where, each in group.items() if each.stored is not None}
            if kept:
                self._groups[name] = kept
            else:
                del self._groups[name]

    def forget_deleted(self, changes: Iterable[Change]) -> None:
        """Drops the tombstones among these changes; nothing older is applied from now on."""
        for (name, where), stored in changes:
            group = self._groups.get(name, {})
            known = group.get(where)
            if stored is None and known is not None and known.stored is None:
                del group[where]
                if not group:
                    del self._groups[name]

    def clear(self) -> None:
        """Forgets everything."""
        self._groups.clear()

    def fetch(
        self, group: str, partitions: Iterable[TopicPartition] | None
    ) -> Mapping[TopicPartition, StoredOffset]:
        """
        What a group has committed.

        Args:
            group: whose offsets.
            partitions: of which partitions, those without an offset are left out; None: of all.
        """
        known = self._groups.get(group, {})
        wanted = known if partitions is None else [each for each in partitions if each in known]
        return {where: stored for where in wanted if (stored := known[where].stored) is not None}

    def groups(self) -> list[str]:
        """The groups that it knows now."""
        return list(self._groups)

    def size_of(self, group: str) -> int:
        """How many offsets and tombstones of a group it has."""
        return len(self._groups.get(group, ()))

    def expired(self, group: str, now_ms: int, retention_ms: int) -> list[TopicPartition]:
        """
        Offsets of a group that expire: at their own time, or once the group is dead.

        A group is dead that has committed nothing for ``retention_ms``. All of its offsets go at
        once: a partition that is idle while its group lives keeps its offset.
        """
        known = self._groups.get(group, {})
        commits = (each.stored.commit_ms for each in known.values() if each.stored is not None)
        is_dead = now_ms - max(commits, default=now_ms) >= retention_ms
        return [
            where
            for where, (_, stored) in known.items()
            if stored is not None
            and (is_dead if stored.expire_ms is None else now_ms >= stored.expire_ms)
        ]
