"""What coordinators answer about several groups, in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import ClusterError
from mm2.kafka.client_errors import UnknownGroup, from_code
from mm2.kafka.groups.group_model import (
    PROTOCOL_STATES,
    Group,
    GroupMember,
    GroupMembers,
    GroupState,
    GroupType,
)
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.describe_groups import ConsumerGroupsResponse, DescribedMember
from mm2.kafka.wire.requests.find_coordinators import FindCoordinatorsResponse
from mm2.kafka.wire.requests.offset_fetch import FetchedOffsets, OffsetsResponse

Offsets = dict[TopicPartition, CommittedOffset]

_NONE: Final = Code.NONE
_CONSUMERS: Final = "consumer"


def coordinators(
    alias: str, answer: FindCoordinatorsResponse
) -> Iterator[tuple[str, int | ClusterError]]:
    """The nodes that coordinate groups, or why one is not known."""
    for each in answer.found:
        yield each.group_id, _failure(alias, each.error, "find the coordinator") or each.node


def offsets_of_groups(
    alias: str, answer: OffsetsResponse
) -> Iterator[tuple[str, Offsets | ClusterError]]:
    """What groups have committed, or why that of one is not known."""
    for group in answer.groups:
        yield group.group_id, _offsets(alias, group)


def described_groups(alias: str, answer: Any) -> Iterator[tuple[str, Group | ClusterError]]:
    """How classic groups are; one that is not there is dead."""
    for code, group_id, state, *_ in answer.groups:
        group = Group(group_id, PROTOCOL_STATES.get(state, GroupState.UNKNOWN), GroupType.CLASSIC)
        yield group_id, _state(alias, code, group)


def members_of_group(alias: str, answer: Any) -> GroupMembers:
    """
    Who is in a classic group; nobody, if there is none.

    Raises:
        ClusterError: the coordinator does not say.
    """
    ((code, group_id, state, protocol_type, _, members),) = answer.groups
    failure = _failure(alias, code, f"describe group {group_id}")
    if isinstance(failure, UnknownGroup):
        return GroupMembers(state=GroupState.DEAD)
    if failure is not None:
        raise failure
    is_of_consumers = protocol_type == _CONSUMERS
    return GroupMembers(
        state=PROTOCOL_STATES.get(state, GroupState.UNKNOWN),
        protocol_type=protocol_type,
        members=tuple(_member(each, is_consumer=is_of_consumers) for each in members),
    )


def _member(fields: tuple[str, str, str, bytes, bytes], *, is_consumer: bool) -> GroupMember:
    member_id, client_id, host, metadata, assignment = fields
    user_data, assigned, subscribed = b"", [], []
    # Both are empty while the group is forming.
    # Members may say anything: what cannot be read is nothing.
    if is_consumer and metadata:
        with suppress(Exception):
            said = ConsumerProtocolMemberMetadata.decode(metadata)
            user_data, subscribed = said.user_data or b"", said.subscription
    if is_consumer and assignment:
        with suppress(Exception):
            assigned = ConsumerProtocolMemberAssignment.decode(assignment).partitions()
    return GroupMember(
        member_id=member_id,
        client_id=client_id,
        host=host,
        user_data=user_data,
        assigned=tuple(TopicPartition(TopicName(each.topic), each.partition) for each in assigned),
        subscribed=tuple(map(TopicName, subscribed)),
    )


def members_of_consumer_group(alias: str, answer: ConsumerGroupsResponse) -> GroupMembers:
    """
    Who is in a group of the new protocol; nobody, if there is none.

    Raises:
        ClusterError: the coordinator does not say.
    """
    (group,) = answer.groups
    failure = _failure(alias, group.error, f"describe group {group.group_id}")
    if isinstance(failure, UnknownGroup):
        return GroupMembers(state=GroupState.DEAD)
    if failure is not None:
        raise failure
    return GroupMembers(
        state=PROTOCOL_STATES.get(group.state, GroupState.UNKNOWN),
        protocol_type=_CONSUMERS,
        members=tuple(map(_consumer, group.members)),
    )


def _consumer(member: DescribedMember) -> GroupMember:
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.host,
        assigned=tuple(
            TopicPartition(TopicName(topic), number)
            for topic, numbers in member.assigned
            for number in numbers
        ),
        subscribed=tuple(map(TopicName, member.topics)),
    )


def consumer_groups(
    alias: str, answer: ConsumerGroupsResponse
) -> Iterator[tuple[str, Group | ClusterError]]:
    """How groups of the new protocol are; one that is not there is dead."""
    for each in answer.groups:
        state = PROTOCOL_STATES.get(each.state, GroupState.UNKNOWN)
        group = Group(each.group_id, state, GroupType.CONSUMER, each.epoch)
        yield each.group_id, _state(alias, each.error, group)


def _state(alias: str, code: int, group: Group) -> Group | ClusterError:
    failure = _failure(alias, code, f"describe group {group.group_id}")
    if isinstance(failure, UnknownGroup):
        return Group(group.group_id, GroupState.DEAD)
    return failure or group


def _offsets(alias: str, group: FetchedOffsets) -> Offsets | ClusterError:
    what = f"list offsets of group {group.group_id}"
    if failure := _failure(alias, group.error, what):
        return failure
    found: Offsets = {}
    for topic, partition, offset, metadata, error in group.offsets:
        if error != _NONE:
            return from_code(alias, error, f"{what}, {topic}-{partition}")
        if offset >= 0:
            where = TopicPartition(TopicName(topic), partition)
            found[where] = CommittedOffset(offset, metadata)
    return found


def _failure(alias: str, code: int, what: str) -> ClusterError | None:
    return None if code == _NONE else from_code(alias, code, what)
