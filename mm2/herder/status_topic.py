"""
Keeps the status topic true, as Connect's workers do: written by whoever leads the flow.

On change only, and what others have left there when this node takes the lead. Tools that know
Connect's status topic read it, and Kafka's own MirrorMaker when it takes the flow over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import structlog

from mm2 import __version__
from mm2.config.flow import FlowConfig
from mm2.errors import ClusterError
from mm2.herder.flow_topics import now_ms
from mm2.herder.flow_view import FlowFollower
from mm2.herder.status_ledger import Key, StatusLedger, Written
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_LOOK_EVERY_S: Final = 1.0
_GIVE_UP_WITHIN_S: Final = 3.0

Heard: TypeAlias = Callable[[str | None], None]
"""Told that a part begins (None), or why it has failed."""


class StatusTopic:
    """
    Writes what the connectors of a flow do, while this node leads it.

    Args:
        config: the flow.
        owner: of this node's leases; under others' it writes nothing.
        worker_id: how Connect names this node (C480).
    """

    def __init__(self, config: FlowConfig, *, owner: str, worker_id: str) -> None:
        self._config = config
        self._follower = FlowFollower(config)
        self._ledger = StatusLedger(
            config,
            self._follower.picture,
            owner=owner,
            worker_id=worker_id,
            release=__version__,
        )

    def hear(self, key: Key) -> Heard:
        """Who is to be told whenever a connector or task begins or fails."""
        return lambda reason: self._ledger.heard(key, reason, now_ms())

    async def run(self) -> None:
        """
        Writes until cancelled; what cannot be written is tried again a second later.

        Raises:
            ClusterError: the target does not answer.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follower.run(), name="status-follower")
            await self._follower.until_ready()
            async with self._writer() as writer:
                while True:
                    await self._write(writer, self._ledger.changes(now_ms()))
                    await asyncio.sleep(_LOOK_EVERY_S)

    async def give_up(self) -> None:
        """
        Says that this node runs nothing any more; before it gives the lead to another one.

        Takes no longer than a few seconds: if the target is away, others see that by themselves.
        """
        try:
            async with asyncio.timeout(_GIVE_UP_WITHIN_S), self._writer() as writer:
                await self._write(writer, self._ledger.ends())
        except (TimeoutError, ClusterError) as error:
            log.warning("status.not_written", error=str(error))

    def _writer(self) -> Writer:
        return Writer(self._config.flow.target, self._config.herder.client("producer", "status"))

    async def _write(self, writer: Writer, records: Iterable[Written]) -> None:
        try:
            for key, value in records:
                await writer.send(self._config.herder.status_topic, key, value)
        except ClusterError as error:
            log.warning("status.not_written", error=str(error))
