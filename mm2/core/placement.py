"""
Which of several nodes leads which flow.

Each flow has a group of nodes, and each group decides for itself, from what its members say of
themselves. So the whole placement is worked out in every group, by rules that leave no choice: from
the same words all groups draw the same conclusions, and together they spread the flows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """
    A node, as a member of a flow's group.

    Attributes:
        node: its id.
        leads: flows that it has been given, with the epochs under which it leads them; 0 for a flow
            that it does not lead yet.
        could: all flows that it could lead.
        release: of the program that it runs.
        digest: of the flow's configuration as its file has it.
    """

    node: str
    leads: Mapping[str, int] = field(default_factory=dict)
    could: frozenset[str] = frozenset()
    release: str = ""
    digest: str = ""


def leader_of(flow: str, members: Collection[Member]) -> str:
    """
    The node that is to lead a flow.

    Args:
        flow: its name.
        members: of the flow's group, at least one; if none of them could lead it, the first by
            name is chosen all the same.
    """
    return placement(members).get(flow) or min(each.node for each in members)


def placement(members: Collection[Member]) -> dict[str, str]:
    """
    The node of each flow that any member could lead.

    Whoever leads a flow keeps it; of two that claim it, the one with the higher epoch. A flow that
    nobody leads goes to the least loaded node that could lead it. Then, if a node leads two flows
    more than another one that could lead them, one flow moves: one at a time, because every move
    interrupts a flow for a moment.
    """
    placed = _kept(members)
    loads = {each.node: 0 for each in members}
    for node in placed.values():
        loads[node] += 1
    for flow in sorted(frozenset[str]().union(*(each.could for each in members)) - placed.keys()):
        able = (each.node for each in members if flow in each.could)
        node = min(able, key=lambda node: (loads[node], node))
        placed[flow] = node
        loads[node] += 1
    return placed | _move(placed, members, loads)


def _kept(members: Collection[Member]) -> dict[str, str]:
    claims: dict[str, tuple[int, str]] = {}
    for each in members:
        for flow, epoch in each.leads.items():
            claims[flow] = max(claims.get(flow, (-1, "")), (epoch, each.node))
    return {flow: node for flow, (_, node) in claims.items()}


def _move(
    placed: Mapping[str, str], members: Collection[Member], loads: Mapping[str, int]
) -> dict[str, str]:
    """The most useful move, the same one for everybody who asks; none if the loads are even."""
    moves = [
        (loads[each.node] - loads[node], flow, each.node)
        for flow, node in placed.items()
        for each in members
        if flow in each.could and loads[node] - loads[each.node] > 1
    ]
    return {flow: node for _, flow, node in sorted(moves)[:1]}
