"""
How far a flow has copied the logs that there are now.

A topic that was deleted and created again, or whose end was cut off, is another log: positions in
the former one mean nothing in it.
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
    The positions of a flow: the last copied offset of each source partition.

    ``lineages`` has the logs that they are of, as far as that is known.
    """

    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    lineages: Mapping[TopicPartition, Lineage] = field(default_factory=dict)

    def end(self, where: TopicPartition) -> int:
        """The source offset behind the last copied record, of whichever log."""
        return self.positions.get(where, NO_OFFSET) + 1

    def may_be_about(self, where: TopicPartition, logs: Logs, log_end: int) -> bool:
        """Whether a position may be one in the log that there is now."""
        lineage = self.lineages.get(where)
        known = UNKNOWN_LOGS if lineage is None else Logs(lineage.topic_id, lineage.remote_id)
        return self.end(where) <= log_end and not known.conflicts_with(logs)

    def first_to_copy(self, where: TopicPartition, log_range: tuple[int, int], logs: Logs) -> int:
        """
        The first offset of a source partition that is not copied.

        Of a log that is not the one that was copied, this is the very first: where its copy begins
        is not known.
        """
        start, end = log_range
        return max(start, self.end(where)) if self.may_be_about(where, logs, end) else start
