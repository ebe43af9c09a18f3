"""
User data of a flow's group: of its members, and of the leader's decision.

Both travel as the user data of Kafka's consumer protocol: JSON with a ``version``, which anybody
who may describe the group can read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from mm2.core.json_text import read_json
from mm2.core.leadership.placement import Member

VERSION: Final = 1
_MOST_BYTES: Final = 1024 * 1024
_MOST_FLOWS: Final = 2000
"""Of one node: more would be work for all, and are no honest node's."""

PROTOCOL: Final = "mm2"
"""Name of the assignor, by which brokers keep members away that are not ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """
    What a group has decided.

    Attributes:
        leader: the node that is to lead.
        nodes: all nodes of the group, with the digests of their configurations.
    """

    leader: str
    nodes: dict[str, str] = field(default_factory=dict)


def encode_member(member: Member) -> bytes:
    """The user data of a member."""
    return _dump(
        {
            "version": VERSION,
            "node": member.node,
            "release": member.release,
            "config": member.digest,
            "leads": dict(sorted(member.leads.items())),
            "could": sorted(member.could),
            "warm": member.is_warm,
        }
    )


def decode_member(data: bytes | None, member_id: str) -> Member:
    """The member in its user data; only its id where they cannot be decoded."""
    try:
        fields = _load(data)
        leads = {str(flow): int(epoch) for flow, epoch in fields.get("leads", {}).items()}
        could = frozenset(map(str, fields.get("could", ())))
        if len(leads.keys() | could) > _MOST_FLOWS or min(leads.values(), default=0) < 0:
            return Member(node=member_id)
        return Member(
            node=str(fields["node"]),
            leads=leads,
            could=could,
            release=str(fields.get("release", "")),
            digest=str(fields.get("config", "")),
            is_warm=bool(fields.get("warm", True)),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return Member(node=member_id)


def decision(leader: str, members: Collection[Member]) -> Decision:
    """That ``leader`` is to lead, of these."""
    return Decision(leader=leader, nodes={each.node: each.digest for each in members})


def encode_decision(decided: Decision) -> bytes:
    """The user data of an assignment."""
    fields = {"version": VERSION, "leader": decided.leader, "nodes": decided.nodes}
    return _dump(fields)


def decode_decision(data: bytes | None) -> Decision | None:
    """What a group has decided; None for an assignment that is not ours or cannot be read."""
    try:
        fields = _load(data)
        nodes = {str(node): str(digest) for node, digest in fields.get("nodes", {}).items()}
        return Decision(leader=str(fields["leader"]), nodes=nodes)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def names_of_one_cluster(node: str, nodes: Iterable[str]) -> list[str]:
    """
    The aliases under which one process has brought several flows into the same group.

    They are flows of one source into one cluster, which all have the same internal topics: one of
    them at a time is led, whichever it is.

    Args:
        node: id of a node: its process, and the alias of the target behind a slash.
        nodes: all nodes of the group.
    """
    process, _, _ = node.rpartition("/")
    return sorted(each.removeprefix(f"{process}/") for each in nodes if _is_of(process, each))


def _is_of(process: str, node: str) -> bool:
    # A Connect worker has flows into many clusters, and no alias in its id.
    return "/" in process and node.startswith(f"{process}/")


def _load(data: bytes | None) -> dict[str, Any]:
    fields = read_json(data or b"null", most_bytes=_MOST_BYTES)
    if not isinstance(fields, dict):
        raise TypeError("no object")
    return fields


def _dump(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
