"""Reads a flow's control, progress and status topics, and its election group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.core.model import NO_OFFSET, TopicName, TopicPartition
from mm2.errors import NotAuthorized
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.kafka.admin import Admin
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.kafka.logs.log_tail import LogTail
from mm2.kafka.logs.read_log import read_to_end, records_to_end
from mm2.kafka.logs.records import Record

CONTROL: Final = "control"
PROGRESS: Final = "progress"
STATUS: Final = "status"

_PROGRESS_MS: Final = 80_000
"""Tasks report each partition once a minute, give or take ten seconds."""

_LAST_RECORDS: Final = 1000
"""Read of the progress topic if it has no record as new as that: no node runs the flow."""


_REST_S: Final = 1.0
"""After reports: what tasks write meanwhile is fetched together. States are told each second."""


class FlowTopics:
    """
    The topics of one flow on its target, and the snapshot of their records.

    Attributes:
        names: of the topics, by ``CONTROL``, ``PROGRESS`` and ``STATUS``.
    """

    def __init__(self, config: FlowConfig, admin: Admin) -> None:
        self._config = config
        self.admin = admin
        self.snapshot = FlowSnapshot()
        names = {
            CONTROL: config.herder.names.control_topic,
            PROGRESS: config.herder.names.progress_topic,
            STATUS: config.herder.status_topic,
        }
        # Connectors of a Connect worker have no status topic of their own.
        self.names: Mapping[str, str] = {kind: name for kind, name in names.items() if name}
        self._takes: Mapping[str, Callable[[Record], None]] = {
            CONTROL: self.snapshot.apply_control,
            PROGRESS: self.snapshot.apply_progress,
            STATUS: self.snapshot.apply_status,
        }

    async def read_group(self) -> None:
        """
        Requests the members of the flow's group; unknown if that is not authorized.

        Raises:
            ClusterError: the target does not answer.
        """
        with suppress(NotAuthorized):
            self.snapshot.members = await self.admin.group_members(
                self._config.herder.names.election_group
            )

    async def read(self, kind: str) -> None:
        """
        Reads a topic as it is now.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        alias, topic, take = self._config.flow.target, self.names[kind], self._takes[kind]
        consumer, starts = self._consumer(kind), await self._starts(kind)
        if kind == PROGRESS:
            async for record in records_to_end(alias, consumer, topic, starts=starts):
                take(record)
            return
        records = await read_to_end(alias, consumer, topic, newest_only=True)
        for record in sorted(records, key=lambda each: (each.partition, each.offset)):
            take(record)

    async def tail(self, kind: str) -> LogTail:
        """
        A tail of a topic, from the first record that counts now; ``take`` its records.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        starts = await self._starts(kind)
        alias, topic = self._config.flow.target, self.names[kind]
        rest_s = _REST_S if kind == PROGRESS else 0.0
        return LogTail(alias, self._consumer(kind), topic, starts=starts, rest_s=rest_s)

    def take(self, kind: str, record: Record) -> None:
        """Takes the next record of a topic."""
        self._takes[kind](record)

    def _consumer(self, kind: str) -> dict[str, str]:
        return self._config.herder.client("consumer", kind)

    async def _starts(self, kind: str) -> dict[int, int]:
        """Compacted topics are read as a whole; the progress topic's last minute is enough."""
        if kind != PROGRESS:
            return {}
        where = TopicPartition(TopicName(self.names[kind]), 0)
        since = await self.admin.list_offsets([where], now_ms() - _PROGRESS_MS)
        if (found := since.get(where, NO_OFFSET)) != NO_OFFSET:
            return {0: found}
        end = (await self.admin.list_offsets([where], OffsetAt.LATEST)).get(where, 0)
        begin = (await self.admin.list_offsets([where], OffsetAt.EARLIEST)).get(where, 0)
        return {0: max(begin, end - _LAST_RECORDS)}
