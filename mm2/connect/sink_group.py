"""
Commits the positions of a sink in a consumer group on its source, for tools that show lag.

In Kafka's Connect the group ``connect-<name>`` has the positions of a sink. Here they are on its
target; the group has a copy, some seconds late, which mm2 does not read. A group with positions of
another program, such as a sink of Connect's own, is left alone: that program needs them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final, Self

import structlog

from mm2.connect.connector import Connector
from mm2.core.model import NO_OFFSET, SOURCE_CONNECTOR, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import ClusterError
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.kafka.admin import Admin
from mm2.kafka.groups.protocols import TargetGroups

log = structlog.get_logger()

_EVERY_S: Final = 10.0
_MARK: Final = "mm2"
"""The metadata of positions that were committed here."""

_AGAIN_AFTER_S: Final = 3600.0
"""Brokers remove offsets of a group without members a week after their commit, by default."""


class SinkGroup:
    """Commits the positions of one sink."""

    def __init__(self, connector: Connector, group_id: str) -> None:
        self._flow = connector.flow
        self._group_id = group_id
        self._committed: dict[TopicPartition, int] = {}
        self._whole_at = 0.0

    @classmethod
    def of(cls, connector: Connector) -> Self | None:
        """The group of a connector; None if it is no sink of records."""
        if not connector.kind.is_sink or connector.kind.part != SOURCE_CONNECTOR:
            return None
        override = connector.config.get("consumer.override.group.id", "")
        return cls(connector, override or f"connect-{connector.name}")

    async def keep(self, snapshot: FlowSnapshot) -> None:
        """Commits reported positions until cancelled; a failed commit is tried again."""
        admin = Admin(self._flow.flow.source, self._flow.source.source_admin("lag-group"))
        logged = ""
        try:
            while True:
                try:
                    await self.commit(admin, _positions(snapshot))
                    logged = ""
                except ClusterError as error:
                    if str(error) != logged:
                        log.warning(
                            "lag_group.not_committed", group=self._group_id, error=str(error)
                        )
                    logged = str(error)
                await asyncio.sleep(_EVERY_S)
        finally:
            await admin.close()

    async def commit(self, groups: TargetGroups, positions: Mapping[TopicPartition, int]) -> None:
        """
        Commits positions that have changed.

        Args:
            groups: of the sink's source.
            positions: of the next record of each partition.

        Raises:
            ClusterError: the group has members, or positions that others committed; or the cluster
                refuses, or does not answer.
        """
        uncommitted = self._uncommitted(positions)
        if not uncommitted:
            return
        # Each time: another program may use a group of this name by now.
        found = (await groups.list_offsets_of_groups([self._group_id]))[self._group_id]
        if isinstance(found, ClusterError):
            raise found
        if any(each.metadata != _MARK for each in found.values()):
            reason = (
                f"group {self._group_id} has positions that others committed: delete it, or give "
                "the connector another consumer.override.group.id"
            )
            raise ClusterError(self._flow.flow.source, reason)
        await groups.alter_group_offsets(
            self._group_id, {where: CommittedOffset(at, _MARK) for where, at in uncommitted.items()}
        )
        self._committed.update(uncommitted)

    def _uncommitted(self, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Positions that are not committed yet, or so long ago that the broker may remove them."""
        now = time.monotonic()
        if now - self._whole_at >= _AGAIN_AFTER_S:
            self._whole_at, self._committed = now, {}
        return {
            where: offset
            for where, offset in positions.items()
            if self._committed.get(where) != offset
        }


def _positions(snapshot: FlowSnapshot) -> dict[TopicPartition, int]:
    """
    The offsets of the next records, as groups commit them, of all partitions copied now.

    The position of a deleted topic, or one no longer copied, would show a growing lag.
    """
    return {
        where: snapshot.partitions[where].last.position + 1
        for assignment in snapshot.assigned()
        for where in assignment.partitions
        if where in snapshot.partitions and snapshot.partitions[where].last.position != NO_OFFSET
    }
