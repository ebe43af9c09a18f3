"""Divides a flow's byte rate among its tasks, by what they make of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

from mm2.core.balancing.loads import Loads
from mm2.core.balancing.rate_division import differ, portions
from mm2.core.model import TopicPartition
from mm2.protocol.progress_records import BundleProgress

EVALUATE_EVERY_S: Final = 2.0
_WINDOW_MS: Final = 4_000
_LEAST_CHANGE: Final = 0.05
"""Portions that change by less are not worth a record."""

Publish = Callable[[Mapping[int, float]], Awaitable[None]]


class RateShares:
    """Follows what the tasks of one leader report."""

    def __init__(self, holders: Callable[[], Collection[int]], publish: Publish) -> None:
        self._holders = holders
        self._publish = publish
        self._loads = Loads(_WINDOW_MS)
        self._holder: dict[TopicPartition, int] = {}
        self._shares: dict[int, float] = {}
        self._published: dict[int, float] = {}
        self._now_ms = 0

    def observe(self, progress: BundleProgress) -> None:
        """Learns what a task has copied, and what it may."""
        share = progress.pace.byte_rate_limit
        if share is None:
            self._shares.pop(progress.bundle, None)
            return
        self._shares[progress.bundle] = share
        self._now_ms = max(self._now_ms, progress.time_ms)
        run = (progress.bundle, progress.pid)
        for each in progress.partitions:
            source = each.source
            self._loads.observe(source, run=run, total=each.bytes, at_ms=progress.time_ms)
            self._holder[source] = progress.bundle

    async def evaluate(self) -> None:
        """Publishes the tasks' portions, if they should be others."""
        used: dict[int, float] = {}
        for partition, rate in self._loads.rates(self._now_ms).items():
            task = self._holder[partition]
            used[task] = used.get(task, 0.0) + rate
        holders = self._holders()
        sharing = {task: share for task, share in self._shares.items() if task in holders}
        # Before all of them have reported it is not known what there is to share.
        found = _rounded(portions(sharing, used)) if len(sharing) == len(holders) > 1 else {}
        if found and differ(self._published, found, by=_LEAST_CHANGE):
            await self._publish(found)
            self._published = found


def _rounded(found: Mapping[int, float]) -> dict[int, float]:
    """Short in a record."""
    return {task: round(each, 4) for task, each in found.items()}
