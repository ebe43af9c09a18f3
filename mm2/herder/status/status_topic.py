"""
Writes Connect's status topic: of a flow, or of a worker group.

A dedicated node's flow has its own topic on its target, ``mm2-status.<source>.internal``. The
connectors of a worker group share one; ``mm2.connect.worker_status_topic`` reads and writes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import StatusChange, encode_status
from mm2.core.connect.status_table import StatusTable, changes_without_worker
from mm2.core.model import SourceAndTarget
from mm2.errors import Unavailable
from mm2.herder.status.status_diff import entries_of_leader
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_topics import CONTROL, STATUS, FlowTopics
from mm2.kafka.admin import Admin
from mm2.kafka.writer import Writer


class ReconnectingWriter:
    """Connects when there is something to write, and again when the cluster was away."""

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self._alias = alias
        self._properties = properties
        self._writer: Writer | None = None
        self._opening = asyncio.Lock()

    async def send(self, topic: str, key: bytes, value: bytes | None) -> None:
        """
        Writes one record; returns once all in-sync replicas have it.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        # Each time, because whoever was not answered meanwhile has closed it.
        writer = await self._opened()
        try:
            await writer.send(topic, key, value)
        except Unavailable:
            await self._close(writer)
            raise

    async def close(self) -> None:
        """Closes what is open; whoever has something to say connects again."""
        await self._close(self._writer)

    async def _opened(self) -> Writer:
        async with self._opening:
            if self._writer is None:
                writer = Writer(self._alias, self._properties)
                await writer.start()
                self._writer = writer
            return self._writer

    async def _close(self, writer: Writer | None) -> None:
        if self._writer is writer:
            self._writer = None
        if writer is not None:
            await writer.close()


class StatusWriter:
    """Writes entries to one status topic; nothing else does. Connects at the first write."""

    def __init__(self, alias: str, topic: str, producer: Mapping[str, str]) -> None:
        self._topic = topic
        self._writer = ReconnectingWriter(alias, producer)

    async def write(self, changes: Iterable[StatusChange], table: StatusTable) -> None:
        """
        Writes changes in their order.

        ``table`` has each change as soon as the cluster has it: the next comparison may come
        before the topic was read again.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        for key, entry in changes:
            await self._writer.send(self._topic, *encode_status(key, entry))
            table.apply(key, entry)

    async def close(self) -> None:
        """Closes the connection; the next write opens another one."""
        await self._writer.close()


class StatusEntries(Protocol):
    """The entries of one flow's connectors in a status topic."""

    @property
    def is_enabled(self) -> bool:
        """Whether there is such a topic."""

    @property
    def target(self) -> TargetState | None:
        """The connectors' target state when the leader ends; None: they were deleted."""

    async def load(self, snapshot: FlowSnapshot) -> None:
        """Waits until the topic was read, and puts the entries into the snapshot."""

    async def write(self, snapshot: FlowSnapshot, changes: Iterable[StatusChange]) -> None:
        """
        Writes changes, and applies them to the snapshot.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """

    async def close(self) -> None:
        """Closes what was opened for this flow; may be called more than once."""


class FlowStatusTopic:
    """A flow's own status topic; implements ``StatusEntries``."""

    target: Final = TargetState.STARTED

    def __init__(self, config: FlowConfig) -> None:
        self.is_enabled = bool(config.herder.status_topic)
        self._writer = StatusWriter(
            config.flow.target,
            config.herder.status_topic,
            config.herder.client("producer", "status"),
        )

    async def load(self, snapshot: FlowSnapshot) -> None:
        """No-op: the snapshot follows the topic."""

    async def write(self, snapshot: FlowSnapshot, changes: Iterable[StatusChange]) -> None:
        """Writes changes."""
        await self._writer.write(changes, snapshot.statuses)

    async def close(self) -> None:
        """Closes the connection."""
        await self._writer.close()


async def mark_unassigned(config: FlowConfig, target: Admin) -> None:
    """
    Sets a flow's connectors to UNASSIGNED if its last leader was killed and no node is left.

    Raises:
        NotAuthorized: the members of the flow's group cannot be listed; nothing is written.
        ClusterError: the target does not answer, or refuses.
    """
    topics = FlowTopics(config, target)
    snapshot = topics.snapshot
    snapshot.members = await target.group_members(config.herder.names.election_group)
    if snapshot.members.members:
        return
    known = await target.list_topics()
    for kind in (CONTROL, STATUS):
        if topics.names.get(kind) in known:
            await topics.read(kind)
    changes = changes_without_worker(entries_of_leader(snapshot), TargetState.STARTED)
    if changes and not snapshot.is_led(now_ms()):
        topic = FlowStatusTopic(config)
        try:
            await topic.write(snapshot, changes)
        finally:
            await topic.close()


def worker_id_of(owner: str, flow: SourceAndTarget) -> str:
    """
    The worker id of this node in status entries (C480).

    Host, flow, and an id that changes at each start; ``owner``, of the node's leases, begins with
    the first and the last of them.
    """
    host, _, rest = owner.partition("/")
    return "/".join(part for part in (host, str(flow), rest.partition("/")[0]) if part)
