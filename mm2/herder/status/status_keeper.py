"""
Keeps the flow's records in the Connect status topic up to date.

Whoever leads the flow writes it: on change only, and what others have left there when this node
takes the lead. Tools that know Connect's status topic read it, and Kafka's own MirrorMaker when it
takes the flow over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Final, Protocol

import structlog

from mm2 import __version__
from mm2.config.flow_config import FlowConfig
from mm2.config.text.expressions import hide
from mm2.errors import ClusterError
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.status.status_diff import Key, StatusDiff, Written
from mm2.herder.view.flow_follower import FlowFollower
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_topics import now_ms
from mm2.protocol.desired_state import DesiredState
from mm2.stop_deadlines import STATUS_S
from mm2.supervision import keep_running

log = structlog.get_logger()

_BEGIN_AFTER_S: Final = 5.0
"""A node that has just started has better things to do: its first records wait for Spark."""

_EVERY_S: Final = 1.0
_PARTITIONS_IN_A_SECOND: Final = 500
"""Thousands of partitions are evaluated less often."""

_LIVELY_LOOKS: Final = 20
"""As long as it may take until tasks have drained, or have begun."""


class StatusStore(Protocol):
    """Where it stands what the connectors of a flow do."""

    @property
    def is_there(self) -> bool:
        """Whether there is such a place."""

    async def look(self, snapshot: FlowSnapshot) -> None:
        """Has the snapshot show what stands there, once that is known."""

    def last_words(self, snapshot: FlowSnapshot, ledger: StatusDiff) -> Iterable[Written]:
        """What to write when this node has given the flow up."""

    async def write(self, snapshot: FlowSnapshot, records: Iterable[Written]) -> None:
        """
        Writes, and knows it at once.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """

    async def close(self) -> None:
        """Closes what it has opened for this flow; may be called more than once."""


class StatusKeeper:
    """
    Writes what the connectors of a flow do, whenever this node leads it.

    Args:
        config: the flow, as this node's file has it now.
        store: where it stands.
        owner: of this node's leases; under others' it writes nothing.
        worker_id: how Connect names this node (C480).
        also: what else runs meanwhile, given the snapshot; until cancelled.
    """

    def __init__(
        self,
        config: Callable[[], FlowConfig],
        store: StatusStore,
        *,
        owner: str,
        worker_id: str,
        also: Callable[[FlowSnapshot], Coroutine[object, object, None]] | None = None,
    ) -> None:
        self._config = config
        self._also = also
        self._store = store
        self._looks = AdaptiveInterval()
        self._ledger = StatusDiff(config, owner=owner, worker_id=worker_id, release=__version__)

    def report_failure(self, key: Key, reason: str | None) -> None:
        """
        Notes that a connector or task begins, or why it has failed.

        Args:
            key: which.
            reason: why it has failed; None if it begins.
        """
        self._ledger.heard(key, reason and hide(reason), now_ms())
        self._looks.news()

    @asynccontextmanager
    async def writing(self, term: LeadershipTerm, group: asyncio.TaskGroup) -> AsyncIterator[None]:
        """
        Writes while a leader works, in a task of ``group``.

        After that it is written what the leader leaves behind; not so when it was cancelled, or
        the term is in doubt, because then others may lead already.
        """
        follower = FlowFollower(self._config(), nodes=False, board=term.control_topic)
        part = keep_running("status", lambda: self._run(follower))
        try:
            task = group.create_task(part, name="status")
            try:
                yield
            finally:
                task.cancel()
                await asyncio.wait([task])
            if not term.is_in_doubt:
                await self._end(follower.snapshot)
        finally:
            await self._store.close()

    async def _run(self, follower: FlowFollower) -> None:
        """Writes until cancelled; what cannot be written is tried again a second later."""
        if not self._store.is_there and self._also is None:
            return
        await asyncio.sleep(_BEGIN_AFTER_S)
        snapshot = follower.snapshot
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(follower.run(), name="status-follower")
            await follower.until_ready()
            if self._also is not None:
                tasks.create_task(self._also(snapshot), name="also-told")
            while True:
                await self._store.look(snapshot)
                await self._write(snapshot, self._ledger.changes(snapshot, now_ms()))
                await self._looks.until_due(snapshot)

    async def _end(self, snapshot: FlowSnapshot) -> None:
        """Takes no longer than some seconds; if the cluster is away, others see that themselves."""
        if not self._store.is_there:
            return
        try:
            async with asyncio.timeout(STATUS_S):
                await self._store.look(snapshot)
                await self._write(snapshot, self._store.last_words(snapshot, self._ledger))
                await self._store.close()
        except TimeoutError as error:
            log.warning("status.not_written", error=str(error))

    async def _write(self, snapshot: FlowSnapshot, records: Iterable[Written]) -> None:
        try:
            await self._store.write(snapshot, records)
        except ClusterError as error:
            log.warning("status.not_written", error=str(error))


class AdaptiveInterval:
    """
    Once a second while something happens, and less often for large flows that just go on.

    Something happens when operators want something else, and when something fails or begins.
    """

    def __init__(self) -> None:
        self._steering: DesiredState | None = None
        self._lively = 0

    def news(self) -> None:
        """Notes that something has failed, or begins."""
        self._lively = _LIVELY_LOOKS

    async def until_due(self, snapshot: FlowSnapshot) -> None:
        """
        Waits until states are to be evaluated again.

        Args:
            snapshot: of the flow.
        """
        await asyncio.sleep(_EVERY_S)
        waited_s = _EVERY_S
        while (
            not self._is_lively(snapshot)
            and waited_s < len(snapshot.partitions) / _PARTITIONS_IN_A_SECOND
        ):
            await asyncio.sleep(_EVERY_S)
            waited_s += _EVERY_S
        self._lively = max(0, self._lively - 1)

    def _is_lively(self, snapshot: FlowSnapshot) -> bool:
        if snapshot.steering is not self._steering:
            self._steering = snapshot.steering
            self.news()
        return self._lively > 0
