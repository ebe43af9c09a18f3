"""Rules of exactly-once mirroring (KIP-618, KIP-656) that need no cluster to be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mm2.core.model import GroupId, SourceAndTarget, TopicPartition
from mm2.core.positions.log_identity import Lineage

MIRROR_GROUP_PREFIX: Final = "__mm2-"
"""Such groups hold positions of flows; they are not translated."""


def mirror_group(flow: SourceAndTarget) -> GroupId:
    """The group without members that holds a flow's positions on its target (KIP-656)."""
    return GroupId(f"{MIRROR_GROUP_PREFIX}{flow}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """
    When a transaction ends.

    Attributes:
        most_s: it takes no more batches after so many seconds.
        most_bytes: or after so many bytes.
        ends_when_drained: or as soon as everything fetched so far has been written, as with
            ``transaction.boundary=poll``.
    """

    most_s: float
    most_bytes: int
    ends_when_drained: bool

    def is_reached(self, *, age_s: float, size: int, is_drained: bool) -> bool:
        """Whether a transaction of that age and size shall be committed now."""
        return (
            age_s >= self.most_s
            or size >= self.most_bytes
            or (is_drained and self.ends_when_drained)
        )


def latest_positions(
    records: Mapping[TopicPartition, int | None],
    lineages: Mapping[TopicPartition, Lineage],
    group: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """
    Where to go on: Connect's record, or the group's offset where that may count.

    Our transactions write both, and a lineage with the record. The group cannot say which log its
    offset is of, so it is heard only where no record says more: where there is none, or where the
    one there is ours and knows no log either, as with sources too old for that; then the later
    counts, for the flow may have run at least once meanwhile. A record without any lineage was
    written by somebody else after ours, Java say, who does not touch the group: it counts even if
    it is behind, and so does a reset.

    Args:
        records: Connect's records: upstream offset of the last record mirrored; None was reset.
        group: the group's offsets, by source partition: upstream offset of the next record.

    Returns:
        Upstream offset of the last record mirrored.
    """
    known = {where: offset for where, offset in records.items() if offset is not None}
    for where, following in group.items():
        if where not in records or (where in known and _knows_no_log(lineages.get(where))):
            known[where] = max(following - 1, known.get(where, following - 1))
    return known


def _knows_no_log(lineage: Lineage | None) -> bool:
    return lineage is not None and not lineage.is_known
