"""Consumer groups as an admin sees them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mm2.core.model import TopicName, TopicPartition


class GroupState(StrEnum):
    """State of a consumer group; the names are Kafka's."""

    UNKNOWN = "UNKNOWN"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"
    DEAD = "DEAD"
    EMPTY = "EMPTY"
    ASSIGNING = "ASSIGNING"
    RECONCILING = "RECONCILING"


class GroupType(StrEnum):
    """Protocol by which a group's members agree; the names are Kafka's."""

    UNKNOWN = "UNKNOWN"
    CONSUMER = "CONSUMER"
    CLASSIC = "CLASSIC"
    SHARE = "SHARE"
    STREAMS = "STREAMS"


PROTOCOL_STATES: Final = {
    "PreparingRebalance": GroupState.PREPARING_REBALANCE,
    "CompletingRebalance": GroupState.COMPLETING_REBALANCE,
    "Stable": GroupState.STABLE,
    "Dead": GroupState.DEAD,
    "Empty": GroupState.EMPTY,
    "Assigning": GroupState.ASSIGNING,
    "Reconciling": GroupState.RECONCILING,
}
"""What brokers answer when they describe a group."""

OTHER_TYPES: Final = (GroupType.SHARE, GroupType.STREAMS)
"""Groups that are no consumer groups: what they commit is not ours to translate."""


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """
    A consumer group.

    Attributes:
        epoch: of a group of the new protocol that was described; grows whenever a member comes or
            goes. -1 if not known.
    """

    group_id: str
    state: GroupState = GroupState.UNKNOWN
    type: GroupType = GroupType.UNKNOWN
    epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """
    A member of a group.

    Attributes:
        host: where it is, as the broker sees it; begins with a slash.
        user_data: what its assignor tells the group's leader; empty if the group is not of
            consumers, is only just forming, or is of the new protocol.
        assigned: the partitions that it has.
        subscribed: the topics that it wants, by their names; patterns are not told.
    """

    member_id: str
    client_id: str
    host: str
    user_data: bytes = b""
    assigned: tuple[TopicPartition, ...] = ()
    subscribed: tuple[TopicName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMembers:
    """
    Who is in a group.

    Attributes:
        protocol_type: ``consumer`` for consumers, ``connect`` for Connect's workers, also after
            the last of them has left, until the broker removes the group; empty if there is no
            such group, or nobody was ever in it.
        members: in the broker's order.
    """

    state: GroupState
    protocol_type: str = ""
    members: tuple[GroupMember, ...] = ()
