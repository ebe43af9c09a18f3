"""
Consumer groups, their committed offsets, and the offsets at which partitions begin and end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Final

from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel
from confluent_kafka import TopicPartition as ClientPartition

from mm2.core.model import TopicPartition
from mm2.errors import ClusterError
from mm2.kafka.calls import Calls
from mm2.kafka.conversions import (
    chunks,
    client_partition,
    client_states,
    group_state,
    group_type,
    offset_spec,
    own_partition,
)
from mm2.kafka.errors import UnknownGroup, UnknownTopic, from_librdkafka
from mm2.kafka.groups import Group, GroupState, GroupType

_GROUPS_PER_REQUEST: Final = 200
_AT_ONCE: Final = 32
"""Group offsets go one group per request: so many are under way at the same time."""


class OffsetAt(Enum):
    """Which offset of a partition is asked for."""

    EARLIEST = "earliest"
    LATEST = "latest"
    MAX_TIMESTAMP = "max_timestamp"


class OffsetCalls:
    """
    The calls about groups and offsets; part of ``Admin``.

    Args:
        calls: makes them.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._timeout_s = calls.timeout_s

    async def list_groups(
        self,
        *,
        states: Collection[GroupState] = (),
        types: Collection[GroupType] = (),
    ) -> list[Group]:
        """
        All consumer groups that we may know of, also those that only hold offsets, by their ids.

        Args:
            states: only groups in one of these; empty for any.
            types: only groups of these protocols; empty for any.

        Raises:
            ClusterError: a broker does not answer: half a list is none.
        """
        asked = {"states": client_states(states)} if states else {}
        listed = await self._calls.one(
            "list groups",
            lambda c: c.list_consumer_groups(request_timeout=self._timeout_s, **asked),
        )
        for error in listed.errors:
            raise from_librdkafka(self._calls.alias, error.args[0], "list groups")
        groups = (
            Group(each.group_id, group_state(each.state), group_type(each.type))
            for each in listed.valid
        )
        return sorted(group for group in groups if not types or group.type in types)

    async def describe_groups(self, group_ids: Iterable[str]) -> dict[str, Group | ClusterError]:
        """
        The groups that exist, or why one cannot be described; those that do not are left out.

        A group that is not there is left out whether the brokers call it dead, as they did before
        4.0, or not found (C300).
        """
        found: dict[str, Group | ClusterError] = {}
        for chunk in chunks(sorted(group_ids), _GROUPS_PER_REQUEST):
            found |= await self._describe_groups(chunk)
        return await self._with_new_protocol(found)

    async def list_group_offsets(self, group_id: str) -> dict[TopicPartition, int]:
        """
        The offsets that a group has committed; empty for a group that does not exist.

        Raises:
            ClusterError: the cluster refuses, or does not answer.
        """
        request = [ConsumerGroupTopicPartitions(group_id)]
        answers, failures = await self._calls.many(
            "list offsets of group",
            lambda c: c.list_consumer_group_offsets(request, request_timeout=self._timeout_s),
        )
        for failure in failures.values():
            if isinstance(failure, UnknownGroup):
                return {}
            raise failure
        partitions: list[ClientPartition] = answers[group_id].topic_partitions
        self._raise_partition_errors(partitions, f"list offsets of group {group_id}")
        return {own_partition(each): each.offset for each in partitions if each.offset >= 0}

    async def list_offsets_of_groups(
        self, group_ids: Iterable[str]
    ) -> dict[str, dict[TopicPartition, int] | ClusterError]:
        """What many groups have committed, or why one's offsets cannot be listed."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def ask(group_id: str) -> dict[TopicPartition, int] | ClusterError:
            async with slots:
                try:
                    return await self.list_group_offsets(group_id)
                except ClusterError as error:
                    return error

        async with asyncio.TaskGroup() as tasks:
            asked = {
                group_id: tasks.create_task(ask(group_id), name=f"offsets of {group_id}")
                for group_id in group_ids
            }
        return {group_id: task.result() for group_id, task in asked.items()}

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> None:
        """
        Commits offsets for a group without members; a group that does not exist is made.

        Raises:
            GroupInUse: it has members; nothing is committed.
            ClusterError: any other failure, maybe for some of the partitions only.
        """
        if not offsets:
            return
        what = f"alter offsets of group {group_id}"
        request = [
            ConsumerGroupTopicPartitions(
                group_id, [client_partition(each, offset) for each, offset in offsets.items()]
            )
        ]
        answers, failures = await self._calls.many(
            "alter offsets of group",
            lambda c: c.alter_consumer_group_offsets(request, request_timeout=self._timeout_s),
        )
        for failure in failures.values():
            raise failure
        self._raise_partition_errors(answers[group_id].topic_partitions, what)

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
            partitions: whose.
            at: the beginning, the end, or the first record at or after a time in milliseconds (-1
                when there is none).
            read_committed: the end stands before the first open transaction.

        Raises:
            ClusterError: the first failure of another kind.
        """
        level = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
        spec = offset_spec(at.value if isinstance(at, OffsetAt) else at)
        asked = {client_partition(each): spec for each in partitions}
        if not asked:
            return {}
        answers, failures = await self._calls.many(
            "list offsets of",
            lambda c: c.list_offsets(asked, isolation_level=level, request_timeout=self._timeout_s),
        )
        for failure in failures.values():
            if not isinstance(failure, UnknownTopic):
                raise failure
        return {own_partition(each): answer.offset for each, answer in answers.items()}

    async def _describe_groups(self, group_ids: list[str]) -> dict[str, Group | ClusterError]:
        described, failures = await self._calls.many(
            "describe group",
            lambda c: c.describe_consumer_groups(group_ids, request_timeout=self._timeout_s),
        )
        groups = {
            group_id: Group(group_id, group_state(each.state), group_type(each.type))
            for group_id, each in described.items()
        }
        return groups | failures

    async def _with_new_protocol(
        self, found: dict[str, Group | ClusterError]
    ) -> dict[str, Group | ClusterError]:
        """
        Looks up in the list of groups what librdkafka's describe call does not know of.

        That call speaks of groups of the classic protocol only; to it, groups of the new one
        (KIP-848) are dead or not found.
        """
        missing = {
            group_id
            for group_id, group in found.items()
            if isinstance(group, UnknownGroup)
            or (isinstance(group, Group) and group.state is GroupState.DEAD)
        }
        known = {each.group_id: each for each in await self.list_groups()} if missing else {}
        listed = {group_id: known[group_id] for group_id in missing if group_id in known}
        rest = {group_id: each for group_id, each in found.items() if group_id not in missing}
        return rest | listed

    def _raise_partition_errors(self, partitions: Iterable[ClientPartition], what: str) -> None:
        for each in partitions:
            if each.error is not None:
                where = f"{what}, {each.topic}-{each.partition}"
                raise from_librdkafka(self._calls.alias, each.error, where)
