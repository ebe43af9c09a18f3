"""
Keeps the entries of a flow's connectors in Connect's status topic up to date.

The flow's leader writes them: on change only, and over those of earlier leaders. Tools that know
Connect's status topic read it, and so does Kafka's own MirrorMaker when it takes the flow over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Final

import structlog

from mm2 import __version__
from mm2.aligned_waits import aligned
from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.config.text.expressions import hide
from mm2.core.connect.status_records import StatusChange
from mm2.errors import ClusterError
from mm2.herder.copy_log import CopyLog
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.status.status_diff import Key, StatusDiff
from mm2.herder.status.status_topic import StatusEntries
from mm2.herder.status.totals_keeper import TotalsKeeper
from mm2.herder.view.flow_follower import FlowFollower
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.led_flow import LedFlow
from mm2.protocol.desired_state import DesiredState
from mm2.stop_deadlines import STATUS_S
from mm2.supervision import keep_running

log = structlog.get_logger()

_BEGIN_AFTER_S: Final = 5.0
"""The first records of a node that has just started go before its statuses."""

_EVERY_S: Final = 1.0
_PARTITIONS_IN_A_SECOND: Final = 500
"""Thousands of partitions are evaluated less often."""

_ACTIVE_ROUNDS: Final = 20
"""Evaluations after an activity: tasks take up to so many seconds to drain or to start."""


class StatusKeeper:
    """
    Writes the states of a flow's connectors whenever this node leads the flow.

    Args:
        entries: opens the entries of the flow's connectors; called in each term of leadership.
        owner: of this node's leases; while another node leads it writes nothing.
        worker_id: of this node in status entries (C480).
        companion: runs meanwhile, with the same snapshot, until cancelled.
    """

    def __init__(
        self,
        config: Callable[[], FlowConfig],
        entries: Callable[[FlowConfig], StatusEntries],
        *,
        owner: str,
        worker_id: str,
        companion: Callable[[FlowSnapshot], Coroutine[object, object, None]] | None = None,
    ) -> None:
        self._config = config
        self._snapshot: FlowSnapshot | None = None
        self._companion = companion
        self._open = entries
        self._interval = AdaptiveInterval()
        self._diff = StatusDiff(config, owner=owner, worker_id=worker_id, release=__version__)

    @property
    def led(self) -> LedFlow | None:
        """The flow, while this node leads it."""
        if self._snapshot is None:
            return None
        return LedFlow(self._config(), self._snapshot, self._diff.failures(now_ms()))

    def report_failure(self, key: Key, reason: str | None) -> None:
        """Notes why a connector or task has failed; None: it starts."""
        self._diff.note_failure(key, reason and hide(reason), now_ms())
        self._interval.note_activity()

    @asynccontextmanager
    async def writing(self, term: LeadershipTerm, group: asyncio.TaskGroup) -> AsyncIterator[None]:
        """
        Writes while a leader works, in a task of ``group``; then writes the final states.

        These are not written if the leader was cancelled or is suspended: others may lead already.
        """
        entries = self._open(self._config())
        follower = FlowFollower(self._config(), nodes=False, control_topic=term.control_topic)
        self._snapshot = follower.snapshot
        totals = TotalsKeeper(self._config().herder.names.control_topic, term, follower.snapshot)
        part = keep_running("status", lambda: self._run(entries, follower, totals))
        try:
            task = group.create_task(part, name="status")
            try:
                yield
            finally:
                task.cancel()
                await asyncio.wait([task])
            if not term.is_suspended:
                await asyncio.gather(totals.end(), self._end(entries, follower.snapshot))
        finally:
            self._snapshot = None
            await entries.close()

    async def _run(
        self, entries: StatusEntries, follower: FlowFollower, totals: TotalsKeeper
    ) -> None:
        """Writes until cancelled; what cannot be written is tried again a second later."""
        await asyncio.sleep(_BEGIN_AFTER_S)
        snapshot = follower.snapshot
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(follower.run(), name="status-follower")
            await follower.until_ready()
            tasks.create_task(CopyLog(follower.view).run(), name="copy-log")
            tasks.create_task(totals.run(), name="totals")
            if self._companion is not None:
                tasks.create_task(self._companion(snapshot), name="status-companion")
            while True:
                await entries.load(snapshot)
                if entries.is_enabled:
                    await _write(entries, snapshot, self._diff.changes(snapshot, now_ms()))
                await self._interval.until_due(snapshot)

    async def _end(self, entries: StatusEntries, snapshot: FlowSnapshot) -> None:
        """Takes some seconds at most; after that others see from the lease that no node leads."""
        if not entries.is_enabled:
            return
        try:
            async with asyncio.timeout(STATUS_S):
                await entries.load(snapshot)
                changes = self._diff.final_changes(snapshot, entries.target)
                await _write(entries, snapshot, changes)
                await entries.close()
        except TimeoutError as error:
            log.warning("status.not_written", error=str(error))


async def _write(
    entries: StatusEntries, snapshot: FlowSnapshot, changes: Iterable[StatusChange]
) -> None:
    try:
        await entries.write(snapshot, changes)
    except ClusterError as error:
        log.warning("status.not_written", error=str(error))


class AdaptiveInterval:
    """
    Once a second after an activity, and less often for large flows without one.

    Activities are changes of the desired state, and starts and failures of connectors and tasks.
    """

    def __init__(self) -> None:
        self._desired: DesiredState | None = None
        self._active_rounds = 0

    def note_activity(self) -> None:
        """Notes that something has failed, or starts."""
        self._active_rounds = _ACTIVE_ROUNDS

    async def until_due(self, snapshot: FlowSnapshot) -> None:
        """Waits until states are to be evaluated again."""
        await asyncio.sleep(aligned(_EVERY_S))
        waited_s = _EVERY_S
        while (
            not self._is_active(snapshot)
            and waited_s < len(snapshot.partitions) / _PARTITIONS_IN_A_SECOND
        ):
            await asyncio.sleep(aligned(_EVERY_S))
            waited_s += _EVERY_S
        self._active_rounds = max(0, self._active_rounds - 1)

    def _is_active(self, snapshot: FlowSnapshot) -> bool:
        if snapshot.desired is not self._desired:
            self._desired = snapshot.desired
            self.note_activity()
        return self._active_rounds > 0
