"""
One search for offsets that have expired, in pieces, so that a large table holds nobody up.

What a piece has found stays right until it is deleted: ``applied`` hears of all that changes the
table meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mm2.core.model import TopicPartition
from mm2.core.offset_manager.committed_offset_records import OffsetKey
from mm2.core.offset_manager.offset_table import Change, OffsetTable

_PIECE: Final = 1_000
"""Groups and offsets that are looked at in one piece; a group is never divided."""

_ENOUGH: Final = 20_000
"""Offsets that are deleted before more are looked for; about as many as a batch takes."""


class Expiry:
    """
    What expires in a table, of the groups that it has at the start.

    Args:
        table: which has been loaded; only ``applied`` may tell of changes.
        now_ms: when the search began.
        retention_ms: after so long without a commit a group is dead.
    """

    def __init__(self, table: OffsetTable, now_ms: int, retention_ms: int) -> None:
        self._table = table
        self._times = now_ms, retention_ms
        self._groups = iter(table.groups())
        self._found: dict[str, dict[TopicPartition, None]] = {}
        self._count = 0
        self._has_seen_all = False

    @property
    def is_over(self) -> bool:
        """Whether all groups have been looked at, and what has expired is deleted."""
        return self._has_seen_all and not self._found

    def look(self) -> None:
        """Looks at some more groups, unless enough is found already."""
        looked = 0
        while looked < _PIECE and self._count < _ENOUGH:
            group = next(self._groups, None)
            if group is None:
                self._has_seen_all = True
                return
            looked += 1 + self._table.size_of(group)
            if found := self._table.expired(group, *self._times):
                self._found[group] = dict.fromkeys(found)
                self._count += len(found)

    def to_delete(self) -> Iterator[OffsetKey]:
        """The offsets of the next batch and more; none before enough is found for one."""
        if self._has_seen_all or self._count >= _ENOUGH:
            for group, found in self._found.items():
                for where in found:
                    yield OffsetKey(group, where)

    def applied(self, changes: Iterable[Change]) -> None:
        """A group that has committed lives, until the next search; the rest is deleted."""
        for (group, where), stored in changes:
            found = self._found.get(group)
            if found is None:
                continue
            if stored is not None:
                self._count -= len(self._found.pop(group))
            elif where in found:
                del found[where]
                self._count -= 1
                if not found:
                    del self._found[group]
