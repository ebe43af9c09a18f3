"""Consumer groups, their committed offsets, and the offsets at which partitions begin and end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from mm2.core.model import TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import ClusterError
from mm2.kafka.groups.coordinators import Coordinators
from mm2.kafka.groups.group_model import OTHER_TYPES, Group, GroupMembers
from mm2.kafka.logs.log_ends import LogEnds
from mm2.kafka.wire.requests.list_offsets import EARLIEST, LATEST, MAX_TIMESTAMP


class OffsetAt(Enum):
    """Which offset of a partition is asked for."""

    EARLIEST = EARLIEST
    LATEST = LATEST
    MAX_TIMESTAMP = MAX_TIMESTAMP


class OffsetCalls:
    """
    The calls about groups and offsets; part of ``Admin``.

    All raise ``ClusterError`` if the cluster refuses, or if one broker of several does not answer.
    """

    def __init__(self, coordinators: Coordinators, ends: LogEnds) -> None:
        self._coordinators = coordinators
        self._ends = ends

    async def list_groups(self) -> list[Group]:
        """All consumer groups that we may know of, also those that only hold offsets, by ids."""
        return await self._coordinators.consumer_groups()

    async def groups_of_other_types(self) -> list[Group]:
        """
        Share and streams groups, by their ids: what they commit is not ours to translate.

        None with brokers before 3.8, which do not tell types.
        """
        return await self._coordinators.groups_of(OTHER_TYPES)

    async def describe_groups(self, group_ids: Iterable[str]) -> dict[str, Group | ClusterError]:
        """
        The consumer groups that exist, or why one cannot be described.

        Those that do not exist are left out, and so are groups of other types.
        """
        return await self._coordinators.describe(group_ids)

    async def group_members(self, group_id: str) -> GroupMembers:
        """Who is in a group of the classic protocol; nobody, if there is none."""
        return await self._coordinators.members(group_id)

    async def consumers_of_group(self, group_id: str) -> GroupMembers:
        """Who is in a group of consumers of either protocol; nobody, if there is none."""
        return await self._coordinators.consumers(group_id)

    async def list_group_offsets(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """The offsets that a group has committed; empty for a group that does not exist."""
        return await self._coordinators.offsets(group_id)

    async def list_offsets_of_groups(
        self, group_ids: Iterable[str]
    ) -> dict[str, dict[TopicPartition, CommittedOffset] | ClusterError]:
        """What many groups have committed, or why one's offsets cannot be listed."""
        return await self._coordinators.offsets_of_groups(group_ids)

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """
        Commits offsets for a group without members; a group that does not exist is made.

        Raises:
            GroupInUse: it has members; nothing is committed.
            ClusterError: any other failure, maybe for some of the partitions only.
        """
        if offsets:
            await self._coordinators.commit(group_id, offsets)

    async def list_offsets(
        self,
        partitions: Iterable[TopicPartition],
        at: OffsetAt | int,
        *,
        read_committed: bool = False,
    ) -> dict[TopicPartition, int]:
        """
        An offset of each partition; partitions that do not exist are left out.

        Args:
            at: the beginning, the end, or the first record at or after a time in milliseconds (-1
                when there is none).
            read_committed: the end stands before the first open transaction.
        """
        time_ms = at.value if isinstance(at, OffsetAt) else at
        found = await self._ends.offsets(partitions, time_ms, read_committed=read_committed)
        return {where: each.offset for where, each in found.items()}

    async def known_offsets(
        self, partitions: Iterable[TopicPartition], at: OffsetAt | int
    ) -> dict[TopicPartition, int]:
        """
        As ``list_offsets``, for who can do without some: what is not known soon is left out.

        Raises:
            ClusterError: no leader answers, or one refuses us.
        """
        time_ms = at.value if isinstance(at, OffsetAt) else at
        found = await self._ends.known_offsets(partitions, time_ms)
        return {where: each.offset for where, each in found.items()}

    async def newest_timestamps(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """
        The highest timestamp in each partition in ms.

        Those without records, and those whose leaders do not answer soon, are left out.

        Raises:
            NotSupported: the cluster is older than this question.
        """
        found = await self._ends.known_offsets(partitions, MAX_TIMESTAMP)
        return {where: each.timestamp_ms for where, each in found.items() if each.offset >= 0}
