"""
How far a flow has copied the logs that there are now.

A topic that was deleted and made anew, or whose end was cut off, is another log: what was noted of
the former says nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """
    The positions of a flow.

    Attributes:
        positions: the last offset of each source partition that is copied.
        lineages: the logs that they speak of, as far as that is known.
    """

    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    lineages: Mapping[TopicPartition, Lineage] = field(default_factory=dict)

    def end(self, where: TopicPartition) -> int:
        """The source offset behind the last copied record, of whichever log."""
        return self.positions.get(where, NO_OFFSET) + 1

    def speaks_of(self, where: TopicPartition, logs: Logs, end: int) -> bool:
        """
        Whether a position may be one in the log that there is now.

        Args:
            where: partition of the source.
            logs: the topics that there are now.
            end: of the source's log.
        """
        lineage = self.lineages.get(where)
        noted = UNKNOWN_LOGS if lineage is None else Logs(lineage.topic_id, lineage.remote_id)
        return self.end(where) <= end and not noted.conflicts_with(logs)
