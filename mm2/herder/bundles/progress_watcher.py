"""What the leader of a flow reads in its tasks' reports: who carried out what, and the loads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

import structlog

from mm2.clock import now_ms
from mm2.core.balancing.loads import BundleLoads, Loads
from mm2.core.model import ClusterAlias, TopicPartition
from mm2.errors import SchemaError
from mm2.herder.bundles.bundle_assignments import Bundles
from mm2.herder.bundles.rate_shares import EVALUATE_EVERY_S, RateShares
from mm2.herder.bundles.silent_tasks import SilentTasks
from mm2.herder.bundles.task_count import TaskCount
from mm2.kafka.logs.log_tail import LogTail
from mm2.protocol.progress_records import BundleProgress, decode_progress, is_of_bundle
from mm2.protocol.task_events import decode_events, is_of_events
from mm2.supervision import run_periodically
from mm2.telemetry.logs import relay

log = structlog.get_logger()

_LEAST_WINDOW_MS: Final = 1000
_FOLLOW_EVERY: Final = timedelta(minutes=1)
"""Where no partitions are to move because of their loads alone."""


class ProgressWatcher:
    """
    Follows the progress topic on behalf of a leader.

    Args:
        bundles: of the flow; gets what was carried out, and rebalances.
        target: alias of the cluster that holds the topic.
        epoch: of the leader; reports of others do not count.
        silent: learns who has reported.
        balance_every: how often loads are compared, and how far back they are averaged; None never
            compares them.
        tasks: follows the load; None if their number is fixed.
        changed: called when the load asks for another number of tasks.
    """

    def __init__(
        self,
        bundles: Bundles,
        *,
        target: ClusterAlias,
        consumer: Mapping[str, str],
        topic: str,
        epoch: int,
        silent: SilentTasks,
        balance_every: timedelta | None,
        shares: RateShares,
        tasks: TaskCount | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._bundles = bundles
        self._tail = LogTail(target, consumer, topic, from_end=True)
        self._silent = silent
        self._epoch = epoch
        self._balance_every = balance_every
        self._shares = shares
        self._tasks, self._changed = tasks, changed
        window = balance_every or timedelta(minutes=1)
        window_ms = max(_LEAST_WINDOW_MS, window // timedelta(milliseconds=1))
        self._loads, self._sums = Loads(window_ms), BundleLoads(window_ms)

    async def run(self) -> None:
        """Follows until cancelled."""
        async with asyncio.TaskGroup() as group:
            if self._balance_every is not None:
                seconds = self._balance_every.total_seconds()
                group.create_task(
                    run_periodically(seconds, self._rebalance, name="rebalance", at_once=False),
                    name="rebalance",
                )
            if self._tasks is not None:
                seconds = (self._balance_every or _FOLLOW_EVERY).total_seconds()
                group.create_task(
                    run_periodically(seconds, self._follow_load, name="tasks", at_once=False),
                    name="tasks",
                )
            group.create_task(
                run_periodically(
                    EVALUATE_EVERY_S, self._shares.evaluate, name="shares", at_once=False
                ),
                name="shares",
            )
            async for record in self._tail:
                self._silent.read(record.offset)
                if is_of_events(record.key):
                    for line in decode_events(record.value):
                        relay(line)
                if not is_of_bundle(record.key):
                    continue
                try:
                    progress = decode_progress(record.value)
                except SchemaError as error:
                    log.warning("progress.unreadable", offset=record.offset, error=str(error))
                else:
                    await self._take(progress)

    async def _take(self, progress: BundleProgress) -> None:
        if progress.epoch != self._epoch or self._bundles.is_stopping:
            return
        self._silent.heard(progress.bundle)
        self._shares.observe(progress)
        if self._tasks is not None:
            self._tasks.observe(progress)
        run = (progress.bundle, progress.pid)
        at_ms = progress.time_ms
        added = [
            self._loads.observe(each.source, run=run, total=each.bytes, at_ms=at_ms)
            for each in progress.partitions
        ]
        self._sums.add(progress.bundle, sum(added), at_ms=at_ms)
        await self._bundles.carried_out(progress.bundle, progress.generation)

    def rates(self) -> Mapping[TopicPartition, float]:
        """Bytes per second of the partitions, as far as they have been seen for long enough."""
        return self._loads.rates(now_ms())

    async def _follow_load(self) -> None:
        if self._tasks is not None and not self._bundles.is_stopping and self._tasks.look():
            self._changed()

    async def _rebalance(self) -> None:
        # A task that hangs would seem to have no load, and be given more.
        if self._bundles.is_stopping or self._silent.are_late():
            return
        await self._bundles.rebalance(self._sums.rates(now_ms()), self.rates)
