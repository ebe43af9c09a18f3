"""What those who carry offsets of groups from cluster to cluster need of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol
from uuid import UUID

from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import ClusterError
from mm2.kafka.groups.group_model import Group
from mm2.kafka.groups.offset_calls import OffsetAt


class Offsets(Protocol):
    """A cluster that tells what groups have committed."""

    async def list_offsets_of_groups(
        self, group_ids: Iterable[str]
    ) -> dict[str, dict[TopicPartition, CommittedOffset] | ClusterError]:
        """What groups have committed, or why one's offsets cannot be listed."""

    async def groups_of_other_types(self) -> list[Group]:
        """Share and streams groups."""


class SourceGroups(Offsets, Protocol):
    """The cluster whose groups are followed."""

    async def list_groups(self) -> list[Group]:
        """All consumer groups."""


class TargetGroups(Offsets, Protocol):
    """The cluster whose groups are given offsets."""

    async def topic_ids(self, names: Iterable[TopicName]) -> dict[TopicName, UUID | None]:
        """Ids of the topics that exist; None from brokers that know none."""

    async def known_offsets(
        self, partitions: Iterable[TopicPartition], at: OffsetAt
    ) -> dict[TopicPartition, int]:
        """Where the logs of partitions begin or end, as far as that is known soon."""

    async def describe_groups(self, group_ids: Iterable[str]) -> dict[str, Group | ClusterError]:
        """The consumer groups that exist, or why one cannot be described."""

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Commits offsets for a group without members."""
