"""Says of one connector of a worker what it does, for as long as this worker leads it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Final

import structlog

from mm2 import __version__
from mm2.connect.connector import Connector
from mm2.connect.lag_group import LagGroup
from mm2.connect.resting import words_at_rest
from mm2.connect.status_board import StatusBoard
from mm2.core.connect_configs import TargetState
from mm2.errors import ClusterError
from mm2.herder.flow_topics import now_ms
from mm2.herder.flow_view import FlowFollower
from mm2.herder.looks import Looks
from mm2.herder.status_ledger import Key, StatusLedger, Written
from mm2.herder.supervision import keep_running

log = structlog.get_logger()

_BEGIN_AFTER_S: Final = 5.0
"""A worker that has just started has better things to do: its first records wait for Spark."""

_GIVE_UP_WITHIN_S: Final = 3.0


class StatusKeeper:
    """
    Does for a connector what ``mm2.herder.status_topic`` does for a flow of dedicated nodes.

    Args:
        connector: the connector.
        board: the worker's status topic.
        owner: of this worker's leases; under others' it writes nothing.
        wanted: what is wanted of the connector; None if it was deleted.
        hide: takes out of reasons what nobody is to read.
    """

    def __init__(
        self,
        connector: Connector,
        board: StatusBoard,
        *,
        owner: str,
        wanted: Callable[[], TargetState | None],
        hide: Callable[[str], str],
    ) -> None:
        self._connector = connector
        self._board = board
        self._wanted = wanted
        self._hide = hide
        self._lag_group = LagGroup.of(connector)
        self._looks = Looks()
        self._ledger = StatusLedger(
            lambda: connector.flow, owner=owner, worker_id=owner, release=__version__
        )

    def hear(self, key: Key, reason: str | None) -> None:
        """
        Learns that the connector or a task begins, or why it has failed.

        Args:
            key: which.
            reason: why it has failed; None if it begins.
        """
        self._ledger.heard(key, reason and self._hide(reason), now_ms())
        self._looks.news()

    async def beside(self, work: Coroutine[object, object, None]) -> None:
        """
        Awaits what a leader does, and writes meanwhile.

        When it ends, the connector is said to be what is wanted of it, or to be run by nobody; not
        so when it is cancelled, because then others may lead already.
        """
        follower = FlowFollower(self._connector.flow, nodes=False)
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(
                keep_running("status", lambda: self._run(follower)), name="status"
            )
            await work
            writing.cancel()
        await self._end(follower)

    async def _run(self, follower: FlowFollower) -> None:
        if not self._board.is_there and self._lag_group is None:
            return
        await asyncio.sleep(_BEGIN_AFTER_S)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(follower.run(), name="status-follower")
            await follower.until_ready()
            if self._lag_group is not None:
                positions = self._lag_group.keep(follower.picture)
                tasks.create_task(positions, name="lag-group")
            await self._board.loaded()
            while True:
                self._look(follower)
                await self._write(self._ledger.changes(follower.picture, now_ms()))
                await self._looks.until_due(follower.picture)

    def _look(self, follower: FlowFollower) -> None:
        connector = self._connector
        follower.picture.statuses = self._board.table_of(connector.name, connector.kind.part)

    async def _end(self, follower: FlowFollower) -> None:
        """Takes no longer than some seconds; if the cluster is away, others see that themselves."""
        self._look(follower)
        try:
            async with asyncio.timeout(_GIVE_UP_WITHIN_S):
                await self._write(self._last_words(follower))
        except TimeoutError as error:
            log.warning("status.not_written", error=str(error))

    def _last_words(self, follower: FlowFollower) -> Iterator[Written]:
        wanted = self._wanted()
        if wanted is TargetState.STARTED:
            yield from self._ledger.ends(follower.picture)
            return
        yield from words_at_rest(follower.picture.statuses, wanted)

    async def _write(self, records: Iterable[Written]) -> None:
        try:
            await self._board.write(self._connector.name, records)
        except ClusterError as error:
            log.warning("status.not_written", error=str(error))
