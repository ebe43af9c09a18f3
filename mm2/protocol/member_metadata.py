"""
User data of a flow's group: of its members, and of the leader's decision.

Both travel as the user data of Kafka's consumer protocol: JSON with a ``version``, which anybody
who may describe the group can read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from mm2.core.leadership.placement import Member
from mm2.protocol.codec import decode_user_data, encode

_MOST_FLOWS: Final = 2000
"""Of one node: more would be work for all, and are no honest node's."""

PROTOCOL: Final = "mm2"
"""Name of the assignor, by which brokers keep members away that are not ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """
    What a group has decided.

    Attributes:
        nodes: all nodes of the group, with the digests of their configurations.
    """

    leader: str
    nodes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MemberData:
    """A member, as its user data has it."""

    node: str
    release: str = ""
    config: str = ""
    leads: Mapping[str, int] = field(default_factory=dict)
    could: tuple[str, ...] = ()
    warm: bool = True


def encode_member(member: Member) -> bytes:
    """The user data of a member."""
    return encode(
        _MemberData(
            node=member.node,
            release=member.release,
            config=member.digest,
            leads=dict(sorted(member.leads.items())),
            could=tuple(sorted(member.eligible)),
            warm=member.is_warm,
        )
    )


def decode_member(data: bytes | None, member_id: str) -> Member:
    """The member in its user data; only its id where they cannot be decoded."""
    found = decode_user_data(_MemberData, data)
    if found is None or len(found.leads.keys() | found.could) > _MOST_FLOWS:
        return Member(node=member_id)
    if min(found.leads.values(), default=0) < 0:
        return Member(node=member_id)
    return Member(
        node=found.node,
        leads=found.leads,
        eligible=frozenset(found.could),
        release=found.release,
        digest=found.config,
        is_warm=found.warm,
    )


def decision(leader: str, members: Collection[Member]) -> Decision:
    """That ``leader`` is to lead, of these."""
    return Decision(leader=leader, nodes={each.node: each.digest for each in members})


def encode_decision(decided: Decision) -> bytes:
    """The user data of an assignment."""
    return encode(decided)


def decode_decision(data: bytes | None) -> Decision | None:
    """What a group has decided; None for an assignment that is not ours or cannot be read."""
    return decode_user_data(Decision, data)


def names_of_one_cluster(node: str, nodes: Iterable[str]) -> list[str]:
    """
    The aliases under which one process has brought several flows into the same group.

    They are flows of one source into one cluster, which all have the same internal topics: one of
    them at a time is led, whichever it is.

    Args:
        node: id of a node: its process, and the alias of the target behind a slash.
    """
    process, _, _ = node.rpartition("/")
    return sorted(each.removeprefix(f"{process}/") for each in nodes if _is_of(process, each))


def _is_of(process: str, node: str) -> bool:
    # A Connect worker has flows into many clusters, and no alias in its id.
    return "/" in process and node.startswith(f"{process}/")
