"""
Rules of exactly-once mirroring (KIP-618, KIP-656) that need no cluster to be told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mm2.core.model import GroupId, SourceAndTarget, TopicPartition

MIRROR_GROUP_PREFIX: Final = "__mm2-"
"""Such groups hold positions of flows; they are nobody's to translate."""


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
    records: Mapping[TopicPartition, int | None], group: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """
    Where to go on: the later of the two places that hold a position.

    Both are written in the same transactions. They differ when the flow has run at least once
    meanwhile, which writes records only; when the group's offsets have expired; and when somebody
    has reset a position, which counts.

    Args:
        records: Connect's records: upstream offset of the last record mirrored; None was reset.
        group: the group's offsets, by source partition: upstream offset of the next record.

    Returns:
        Upstream offset of the last record mirrored.
    """
    known = {where: offset for where, offset in records.items() if offset is not None}
    for where, following in group.items():
        if records.get(where, following) is not None:
            known[where] = max(following - 1, known.get(where, following - 1))
    return known
