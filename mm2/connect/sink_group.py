"""
Positions of a sink where tools that watch lag look for them: in a consumer group on its source.

In Kafka's Connect the group ``connect-<name>`` is where a sink is. Here its positions are on its
target, and the group only tells of them, some seconds late; nobody reads it here. A group that has
positions of others, say of a sink of Connect's own, is left alone: they may be all it has.
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
from mm2.kafka.group_protocols import TargetGroups

log = structlog.get_logger()

_EVERY_S: Final = 10.0
_MARK: Final = "mm2"
"""The metadata of positions that were committed here."""

_AGAIN_AFTER_S: Final = 3600.0
"""A group without members forgets what nobody has committed for a week, by default."""


class SinkGroup:
    """
    Commits the positions of one sink.

    Args:
        connector: the sink.
        group_id: the group.
    """

    def __init__(self, connector: Connector, group_id: str) -> None:
        self._flow = connector.flow
        self._group_id = group_id
        self._committed: dict[TopicPartition, int] = {}
        self._whole_at = 0.0

    @classmethod
    def of(cls, connector: Connector) -> Self | None:
        """That of a connector; None if it is no sink of records."""
        if not connector.kind.is_sink or connector.kind.part != SOURCE_CONNECTOR:
            return None
        override = connector.config.get("consumer.override.group.id", "")
        return cls(connector, override or f"connect-{connector.name}")

    async def keep(self, snapshot: FlowSnapshot) -> None:
        """Commits what tasks report, until cancelled; what fails is tried again the next time."""
        admin = Admin(self._flow.flow.source, self._flow.source.source_admin("lag-group"))
        told = ""
        try:
            while True:
                try:
                    await self.commit(admin, _positions(snapshot))
                    told = ""
                except ClusterError as error:
                    if str(error) != told:
                        log.warning(
                            "lag_group.not_committed", group=self._group_id, error=str(error)
                        )
                    told = str(error)
                await asyncio.sleep(_EVERY_S)
        finally:
            await admin.close()

    async def commit(self, groups: TargetGroups, positions: Mapping[TopicPartition, int]) -> None:
        """
        Commits positions, as far as they are news.

        Args:
            groups: of the sink's source.
            positions: of the next record of each partition.

        Raises:
            ClusterError: the group has members, or positions that others committed; or the cluster
                refuses, or does not answer.
        """
        news = self._news(positions)
        if not news:
            return
        # Each time: whoever owns a group of this name may have come since.
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
            self._group_id, {where: CommittedOffset(at, _MARK) for where, at in news.items()}
        )
        self._committed.update(news)

    def _news(self, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """What is not committed yet, or so long ago that it may be forgotten."""
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
    The offsets of the next records, as groups commit them, of all that is copied now.

    A topic that is gone, or is not copied any more, would have a position that stands.
    """
    return {
        where: snapshot.partitions[where].last.position + 1
        for assignment in snapshot.assigned()
        for where in assignment.partitions
        if where in snapshot.partitions and snapshot.partitions[where].last.position != NO_OFFSET
    }
