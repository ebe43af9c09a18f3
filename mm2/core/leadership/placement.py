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
        leads: flows that it has been given, with the epochs under which it leads them; 0 for a flow
            that it does not lead yet.
        eligible: all flows that it could lead.
        digest: of the flow's configuration as its file has it.
        is_warm: whether it could begin at once; one that has just been started needs seconds.
    """

    node: str
    leads: Mapping[str, int] = field(default_factory=dict)
    eligible: frozenset[str] = frozenset()
    release: str = ""
    digest: str = ""
    is_warm: bool = True


def leader_of(flow: str, members: Collection[Member]) -> str:
    """
    The node that is to lead a flow.

    Args:
        members: of the flow's group, at least one; if none of them could lead it, the first by
            name is chosen all the same.
    """
    return placement(members).get(flow) or min(each.node for each in members)


def placement(members: Collection[Member]) -> dict[str, str]:
    """
    The node of each flow that any member could lead.

    Whoever leads a flow keeps it; of two that claim it, the one with the higher epoch. A flow that
    nobody leads goes to the least loaded node that could lead it, to one that is warm if there is
    one. Then, as long as a node leads two flows more than a warm one that could lead them, a flow
    moves; each moves once, because that interrupts it for a moment. Groups decide at different
    times: what has not moved yet of these, or moved already, leads the others to the same moves.
    """
    placed = _kept(members)
    loads = {each.node: 0 for each in members}
    for node in placed.values():
        loads[node] += 1
    for flow in sorted(
        frozenset[str]().union(*(each.eligible for each in members)) - placed.keys()
    ):
        able = [each for each in members if flow in each.eligible]
        node = min(able, key=lambda each: (not each.is_warm, loads[each.node], each.node)).node
        placed[flow] = node
        loads[node] += 1
    _spread(placed, members, loads)
    return placed


def _kept(members: Collection[Member]) -> dict[str, str]:
    claims: dict[str, tuple[int, str]] = {}
    for each in members:
        for flow, epoch in each.leads.items():
            claims[flow] = max(claims.get(flow, (-1, "")), (epoch, each.node))
    return {flow: node for flow, (_, node) in claims.items()}


def _spread(placed: dict[str, str], members: Collection[Member], loads: dict[str, int]) -> None:
    """Moves one flow after the other, the most useful one first, until the loads are even."""
    while moves := [
        (loads[each.node] - loads[node], flow, each.node)
        for flow, node in placed.items()
        for each in members
        if each.is_warm and flow in each.eligible and loads[node] - loads[each.node] > 1
    ]:
        _, flow, node = min(moves)
        loads[placed[flow]] -= 1
        loads[node] += 1
        placed[flow] = node
