"""
Keeps the status topic true, as Connect's workers do: written by whoever leads the flow.

On change only, and what others have left there when this node takes the lead. Tools that know
Connect's status topic read it, and Kafka's own MirrorMaker when it takes the flow over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Final

import structlog

from mm2 import __version__
from mm2.config.flow import FlowConfig
from mm2.core.model import SourceAndTarget
from mm2.errors import ClusterError
from mm2.herder.flow_topics import now_ms
from mm2.herder.flow_view import FlowFollower
from mm2.herder.looks import Looks
from mm2.herder.status_ledger import Key, StatusLedger, Written
from mm2.herder.supervision import keep_running
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_BEGIN_AFTER_S: Final = 5.0
"""A node that has just started has better things to do: its first records wait for Spark."""

_GIVE_UP_WITHIN_S: Final = 3.0


class StatusTopic:
    """
    Writes what the connectors of a flow do, whenever this node leads it.

    Args:
        config: the flow, as this node's file has it now.
        owner: of this node's leases; under others' it writes nothing.
    """

    def __init__(self, config: Callable[[], FlowConfig], *, owner: str) -> None:
        self._config = config
        self._looks = Looks()
        worker_id = worker_id_of(owner, config().flow)
        self._ledger = StatusLedger(config, owner=owner, worker_id=worker_id, release=__version__)

    def hear(self, key: Key, reason: str | None) -> None:
        """
        Learns that a connector or task begins, or why it has failed.

        Args:
            key: which.
            reason: why it has failed; None if it begins.
        """
        self._ledger.heard(key, reason, now_ms())
        self._looks.news()

    async def beside(self, work: Coroutine[object, object, None]) -> None:
        """
        Awaits what a leader does, and writes meanwhile.

        When it ends, the node is said to run nothing any more; not so when it is cancelled, because
        then others may lead already.
        """
        follower = FlowFollower(self._config(), nodes=False)
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(
                keep_running("status", lambda: self._run(follower)), name="status"
            )
            await work
            writing.cancel()
        await self._give_up(follower)

    async def _run(self, follower: FlowFollower) -> None:
        """Writes until cancelled; what cannot be written is tried again a second later."""
        if not self._config().herder.status_topic:
            return
        await asyncio.sleep(_BEGIN_AFTER_S)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(follower.run(), name="status-follower")
            await follower.until_ready()
            async with self._writer() as writer:
                while True:
                    await self._write(writer, self._ledger.changes(follower.picture, now_ms()))
                    await self._looks.until_due(follower.picture)

    async def _give_up(self, follower: FlowFollower) -> None:
        """Takes no longer than a few seconds; if the target is away, others see that themselves."""
        if not (ends := self._ledger.ends(follower.picture)):
            return
        try:
            async with asyncio.timeout(_GIVE_UP_WITHIN_S), self._writer() as writer:
                await self._write(writer, ends)
        except (TimeoutError, ClusterError) as error:
            log.warning("status.not_written", error=str(error))

    def _writer(self) -> Writer:
        config = self._config()
        return Writer(config.flow.target, config.herder.client("producer", "status"))

    async def _write(self, writer: Writer, records: Iterable[Written]) -> None:
        try:
            for key, value in records:
                await writer.send(self._config().herder.status_topic, key, value)
        except ClusterError as error:
            log.warning("status.not_written", error=str(error))


def worker_id_of(owner: str, flow: SourceAndTarget) -> str:
    """
    How Connect names this node: host, flow, and what changes at each start (C480).

    Args:
        owner: of its leases: host and what changes at each start, maybe more.
        flow: the flow.
    """
    host, _, rest = owner.partition("/")
    return "/".join(part for part in (host, str(flow), rest.partition("/")[0]) if part)
