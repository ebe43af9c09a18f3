"""
Tells offsets of logs that are gone from those of the logs that there are.

Once the new log is longer, a group that stands at an offset of the former one would have skipped
what is before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias
from uuid import UUID

import structlog

from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import ClusterError
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.kafka.groups.protocols import TargetGroups

log = structlog.get_logger()

Offsets: TypeAlias = Mapping[TopicPartition, CommittedOffset]
LastCheckpoints: TypeAlias = Mapping[GroupId, Collection[Checkpoint]]

_NOWHERE: Final = -1


class TargetLogs:
    """
    The logs of a cluster, as one round of giving offsets to groups finds them.

    What the cluster does not tell holds nothing up: it decides on writing.
    """

    def __init__(self, target: TargetGroups) -> None:
        self._target = target
        self._ends: dict[TopicPartition, int] = {}

    async def about_these(self, last: LastCheckpoints) -> dict[GroupId, Collection[Checkpoint]]:
        """Leaves out checkpoints that say themselves that they are about other topics."""
        topics = {
            each.partition.topic
            for checkpoints in last.values()
            for each in checkpoints
            if each.logs.remote is not None
        }
        live = await self._ids(topics)
        return {
            group: [
                each for each in checkpoints if each.may_be_about(live.get(each.partition.topic))
            ]
            for group, checkpoints in last.items()
        }

    async def reached(self, offsets: Mapping[GroupId, Offsets]) -> dict[GroupId, Offsets]:
        """Leaves out offsets that logs have not reached: they are of copies made anew."""
        beyond = {
            at
            for last in offsets.values()
            for at, each in last.items()
            if each.offset > self._ends.get(at, _NOWHERE)
        }
        self._ends |= await self._look_at(beyond)
        found = {group: self._within(group, last) for group, last in offsets.items()}
        return {group: last for group, last in found.items() if last}

    def _within(self, group: GroupId, last: Offsets) -> Offsets:
        kept = {
            at: each for at, each in last.items() if each.offset <= self._ends.get(at, each.offset)
        }
        if len(kept) < len(last):
            log.warning("group_offsets.beyond_log", group=group, partitions=len(last) - len(kept))
        return kept

    async def _look_at(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        if not partitions:
            return {}
        try:
            return await self._target.known_offsets(partitions, OffsetAt.LATEST)
        except ClusterError as error:
            log.warning("group_offsets.ends_unknown", error=str(error))
            return {}

    async def _ids(self, topics: Collection[TopicName]) -> Mapping[TopicName, UUID | None]:
        if not topics:
            return {}
        try:
            return await self._target.topic_ids(topics)
        except ClusterError as error:
            log.warning("topic_ids.unknown", cluster=error.alias, error=str(error))
            return {}
