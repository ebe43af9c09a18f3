"""What the reports of tasks tell of one partition while a flow is followed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mm2.core.model import NO_OFFSET
from mm2.core.positions.source_gaps import CatchingUp
from mm2.core.rates import WindowedRate
from mm2.protocol.progress_records import BundleProgress, PartitionProgress

_WINDOW_MS: Final = 10_000
_LONGEST_TURN_MS: Final = 60_000
"""That of 1.2 million active partitions. What claims a longer one may not fill the memory."""

_NEVER_MS: Final = 1 << 62


@dataclass(slots=True)
class SeenPartition:
    """
    The reports of a partition.

    Attributes:
        records, bytes, lag: how fast each grows.
        catching_up: since when the copy is behind.
    """

    last: PartitionProgress
    at_ms: int
    task: int = 0
    records: WindowedRate = field(default_factory=lambda: WindowedRate(_WINDOW_MS))
    bytes: WindowedRate = field(default_factory=lambda: WindowedRate(_WINDOW_MS))
    lag: WindowedRate = field(default_factory=lambda: WindowedRate(_WINDOW_MS))
    catching_up: CatchingUp = field(default_factory=CatchingUp)

    def take(self, progress: PartitionProgress, report: BundleProgress) -> None:
        """Takes in what a task reports of it."""
        run, at_ms = report.run, report.time_ms
        turn_ms = min(report.turn_ms, _LONGEST_TURN_MS)
        self.last, self.at_ms, self.task = progress, at_ms, report.bundle
        self.records.observe(progress.records, run=run, at_ms=at_ms, turn_ms=turn_ms)
        self.bytes.observe(progress.bytes, run=run, at_ms=at_ms, turn_ms=turn_ms)
        if progress.end != NO_OFFSET:
            self.lag.observe(progress.lag, run=None, at_ms=at_ms, turn_ms=turn_ms)
            reached = progress.end - progress.lag
            self.catching_up.look(reached, progress.end, now_ms=at_ms, retention_ms=_NEVER_MS)

    def behind_ms(self, now_ms: int) -> int | None:
        """
        For how long the copy has not been complete; None if not known.

        Of a copy that was not complete since it is followed, this is the age of what was copied
        last.
        """
        if self.last.end == NO_OFFSET:
            return None
        if not self.last.lag:
            return 0
        oldest_ms = self.last.replication_ms[0] if self.last.replication_ms else 0
        return max(oldest_ms, now_ms - self.catching_up.caught_up_ms, 0)
