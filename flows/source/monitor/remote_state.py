"""What a task knows of a remote partition, and what it found missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from mm2.core.model import NO_OFFSET
from mm2.core.positions.log_identity import Lineage
from mm2.core.positions.source_gaps import Gap, GapKind
from mm2.protocol.progress_records import GapReport


@dataclass(slots=True)
class RemoteState:
    """
    The remote log of a partition.

    Attributes:
        topic_id: of the remote topic that holds the copies; None if not known.
        is_there: whether the remote topic is there, and is the one with ``topic_id``.
        end: offset behind the copy of the last mirrored record; -1 if not known.
        cut_at: where the target's log ended, or appended a batch, although it had copies from there
            on: it has lost these. None if it has not. Stored with the position, so that the next
            task copies them again.
    """

    topic_id: UUID | None = None
    is_there: bool = False
    end: int = NO_OFFSET
    cut_at: int | None = None

    def restore(self, lineage: Lineage) -> None:
        """Goes on with the remote log of a stored position."""
        self.topic_id, self.end = lineage.remote_id, lineage.remote_end
        self.cut_at = lineage.cut_at

    def begin(self) -> None:
        """Copies from another position; where its copy will be is not known."""
        self.end, self.cut_at = NO_OFFSET, None

    def cut(self, offset: int) -> None:
        """The target has lost its copies from here on."""
        self.cut_at = offset

    def append_at(self, offset: int) -> bool:
        """A batch was appended at this offset; returns whether that shows that copies are lost."""
        is_cut = NO_OFFSET < offset < self.end and (self.cut_at is None or offset < self.cut_at)
        if is_cut:
            self.cut_at = offset
        return is_cut

    def reach(self, end: int) -> None:
        """The last copy ends before this offset."""
        self.end = end

    def identify(self, topic_id: UUID | None) -> None:
        """The copies are in the topic with this id."""
        self.topic_id = topic_id

    def block(self) -> None:
        """Nothing may be written to it."""
        self.is_there = False

    def unblock(self) -> None:
        """It may be written to."""
        self.is_there = True


@dataclass(slots=True)
class FoundGaps:
    """
    What was found missing of a partition.

    Attributes:
        lost: offsets that were gone before they could be fetched.
        diverged: offsets that the target has and the source no longer has.
    """

    _last: dict[GapKind, GapReport] = field(default_factory=dict)
    lost: int = 0
    diverged: int = 0

    @property
    def reports(self) -> Sequence[GapReport]:
        """The last gap of each kind."""
        return tuple(self._last.values()) if self._last else ()

    def open(self, kind: GapKind) -> GapReport | None:
        """The last gap of a kind, if it is not over."""
        report = self._last.get(kind)
        return report if report is not None and report.is_open else None

    def count(self, gap: Gap) -> None:
        """Adds the offsets of a gap."""
        self.lost += gap.lost
        self.diverged += gap.diverged

    def add(self, kind: GapKind, report: GapReport) -> None:
        """Replaces the last gap of its kind."""
        self._last[kind] = report
