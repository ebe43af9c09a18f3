"""Asks the brokers that coordinate consumer groups; ``Admin`` says what the calls raise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, TypeVar

from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest

from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.client_errors import NotSupported, from_code
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.groups.coordinator_answers import (
    Offsets,
    consumer_groups,
    described_groups,
    members_of_consumer_group,
    members_of_group,
    offsets_of_groups,
)
from mm2.kafka.groups.group_batches import GroupBatches
from mm2.kafka.groups.group_model import PROTOCOL_STATES, Group, GroupMembers, GroupState, GroupType
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.describe_groups import ConsumerGroupsRequest, DescribeGroupsRequest
from mm2.kafka.wire.requests.find_coordinators import ListedGroup, ListGroupsRequest
from mm2.kafka.wire.requests.offset_fetch import OffsetsRequest

T = TypeVar("T")

_AT_ONCE: Final = 32
"""Questions about one group each that are under way at the same time."""

_NO_GENERATION: Final = -1
_OF_CONSUMERS: Final = ("consumer", "")
"""Protocol types of groups of consumers, and of those that nobody was ever in."""

_TYPES: Final = {each.value: each for each in GroupType}


class Coordinators:
    """
    Makes the calls that a group's coordinator answers.

    Each call finds the coordinator, also when it moves or is restarted, and gives up after the
    timeout. Any number of calls may be under way. Nothing is connected before the first.
    """

    def __init__(self, link: ClusterClient, timeout_s: float) -> None:
        self.alias = link.alias
        self._timeout_s = timeout_s
        self._link = link
        self._batches = GroupBatches(link, timeout_s)

    async def offsets(self, group_id: str) -> Offsets:
        """What a group has committed; empty for a group that does not exist."""
        what = f"list offsets of group {group_id}"
        request = OffsetFetchRequest(group_id, None)
        return await self._ask(group_id, what, request, partial(self._committed, what))

    async def offsets_of_groups(
        self, group_ids: Iterable[str]
    ) -> dict[str, Offsets | ClusterError]:
        """What many groups have committed, or why that of one is not known."""
        read = partial(offsets_of_groups, self.alias)
        found = await self._batches.ask(group_ids, "list offsets of groups", OffsetsRequest, read)
        # Brokers before 3.0 take one group at a time only.
        single = [each for each, answer in found.items() if isinstance(answer, NotSupported)]
        return found | await self._one_by_one(single)

    async def describe(self, group_ids: Iterable[str]) -> dict[str, Group | ClusterError]:
        """
        How groups are, or why that of one is not known; those that are not there are left out.

        A group that is not there is left out whether the brokers call it dead, as they do to
        clients of before 4.0, or not found (C300).
        """
        what = "describe groups"
        found = await self._batches.ask(
            group_ids, what, DescribeGroupsRequest, partial(described_groups, self.alias)
        )
        # To this request, groups of the new protocol (KIP-848) are dead or not found.
        others = [group_id for group_id, group in found.items() if _is_missing(group)]
        found |= await self._batches.ask(
            others, what, ConsumerGroupsRequest, partial(consumer_groups, self.alias)
        )
        return {group_id: each for group_id, each in found.items() if not _is_missing(each)}

    async def members(self, group_id: str) -> GroupMembers:
        """Who is in a group of the classic protocol; nobody, if there is none."""
        what = f"describe group {group_id}"
        request = DescribeGroupsRequest([group_id])
        return await self._ask(group_id, what, request, partial(members_of_group, self.alias))

    async def consumers(self, group_id: str) -> GroupMembers:
        """Who is in a group of consumers of either protocol; nobody, if there is none."""
        found = await self.members(group_id)
        if found.state is not GroupState.DEAD:
            return found
        what = f"describe group {group_id}"
        request = ConsumerGroupsRequest([group_id])
        try:
            return await self._ask(
                group_id, what, request, partial(members_of_consumer_group, self.alias)
            )
        except NotSupported:  # brokers before 3.7
            return found

    async def consumer_groups(self) -> list[Group]:
        """All consumer groups that we may know of, also those that only hold offsets, by ids."""
        listed = await self._list("list groups", ListGroupsRequest())
        return sorted(_listed(each) for each in listed if each.protocol_type in _OF_CONSUMERS)

    async def groups_of(self, types: Iterable[GroupType]) -> list[Group]:
        """All groups of some types, by ids; none if the brokers (before 3.8) know no types."""
        request = ListGroupsRequest(each.value.lower() for each in types)
        try:
            return sorted(map(_listed, await self._list("list groups by their types", request)))
        except NotSupported:
            return []

    async def _list(self, what: str, request: ListGroupsRequest) -> list[ListedGroup]:
        async def attempt() -> list[ListedGroup]:
            # From the beginning: groups of a broker that is gone are with others now.
            nodes = await self._link.brokers()
            answers = await asyncio.gather(*(self._link.send(n, what, request) for n in nodes))
            for answer in answers:
                self._check(answer.error, what)
            return [group for answer in answers for group in answer.groups]

        return await self._link.retry(what, attempt, within_s=self._timeout_s)

    async def commit(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Commits offsets for a group without members; a group that does not exist is made."""
        what = f"alter offsets of group {group_id}"
        ordered = groupby(sorted(offsets), key=attrgetter("topic"))
        topics = [
            (topic, [(each.partition, *_commit(offsets[each])) for each in partitions])
            for topic, partitions in ordered
        ]
        # Without generation and member, as Java's admin client does (KIP-396).
        request = OffsetCommitRequest(group_id, _NO_GENERATION, "", -1, topics)
        await self._ask(group_id, what, request, partial(self._check_commit, what))

    async def _one_by_one(self, group_ids: list[str]) -> dict[str, Offsets | ClusterError]:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def answer(group_id: str) -> Offsets | ClusterError:
            async with slots:
                try:
                    return await self.offsets(group_id)
                except ClusterError as error:
                    return error

        async with asyncio.TaskGroup() as tasks:
            asked = {each: tasks.create_task(answer(each), name=each) for each in group_ids}
        return {group_id: task.result() for group_id, task in asked.items()}

    def _committed(self, what: str, answer: Any) -> Offsets:
        self._check(answer.error_code, what)
        found: Offsets = {}
        for topic, partitions in answer.topics:
            for number, offset, metadata, code in partitions:
                self._check(code, f"{what}, {topic}-{number}")
                if offset >= 0:
                    where = TopicPartition(TopicName(topic), number)
                    found[where] = CommittedOffset(offset, metadata or "")
        return found

    def _check_commit(self, what: str, answer: Any) -> None:
        for topic, partitions in answer.topics:
            for number, code in partitions:
                self._check(code, f"{what}, {topic}-{number}")

    def _check(self, code: int, what: str) -> None:
        if code != Code.NONE:
            raise from_code(self.alias, code, what)

    async def _ask(self, group_id: str, what: str, request: object, read: Callable[[Any], T]) -> T:
        async def attempt() -> T:
            try:
                node = await self._link.coordinator(what, group_id)
                return read(await self._link.send(node, what, request))
            except Unavailable:
                self._link.nodes.pop(group_id, None)
                raise

        return await self._link.retry(what, attempt, within_s=self._timeout_s)


def _listed(group: ListedGroup) -> Group:
    state = PROTOCOL_STATES.get(group.state, GroupState.UNKNOWN)
    return Group(group.group_id, state, _TYPES.get(group.kind.upper(), GroupType.UNKNOWN))


def _commit(offset: CommittedOffset) -> tuple[int, str]:
    return offset.offset, offset.metadata


def _is_missing(group: Group | ClusterError) -> bool:
    if isinstance(group, Group):
        return group.state is GroupState.DEAD
    # Brokers before 3.7 have no groups of the new protocol.
    return isinstance(group, NotSupported)
