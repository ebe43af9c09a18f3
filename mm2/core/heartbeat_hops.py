"""
What heartbeats tell: which flows are alive, and which ways records take between clusters.

A flow S->T writes its heartbeats on T. Seen there, they say that somebody runs the flow's herder.
Flows that copy T carry them on, so that a heartbeat seen elsewhere says that all flows on its way
copy (C318). No process has to be asked for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mm2.core.model import ClusterAlias, SourceAndTarget

Way: TypeAlias = tuple[ClusterAlias, ...]
"""Clusters that a record was on, in their order: first where it was written."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class HeartbeatPath:
    """
    A flow's heartbeats as they come in over one way.

    Attributes:
        way: from the cluster where they are written to the one where they are seen.
    """

    way: Way
    flow: SourceAndTarget

    @property
    def here(self) -> ClusterAlias:
        """The cluster where they are seen."""
        return self.way[-1]

    @property
    def hops(self) -> int:
        """How often they were copied."""
        return len(self.way) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowHealth:
    """
    Whether heartbeats come along a path.

    Attributes:
        last_ms: time of the newest heartbeat; None if none was found.
        age_ms: how old that is; never negative, though clocks differ.
        alive: whether it is young enough; None if the cluster could not be asked.
        expected: whether the configuration says that there should be heartbeats.
    """

    path: HeartbeatPath
    last_ms: int | None
    age_ms: int | None
    alive: bool | None
    expected: bool


def expected_paths(
    emitting: Iterable[SourceAndTarget], copying: Iterable[SourceAndTarget]
) -> set[HeartbeatPath]:
    """
    Returns where heartbeats should be seen.

    Args:
        copying: flows that copy heartbeats topics. They copy none that has been on their target
            before (C158).
    """
    flows = list(copying)
    found: set[HeartbeatPath] = set()
    new = {HeartbeatPath(way=(flow.target,), flow=flow) for flow in emitting}
    while new:
        found |= new
        new = {
            HeartbeatPath(way=(*path.way, flow.target), flow=path.flow)
            for path in new
            for flow in flows
            if flow.source == path.here and flow.target not in path.way
        }
    return found


def flow_health(
    last_ms: Mapping[HeartbeatPath, int],
    expected: Iterable[HeartbeatPath],
    *,
    now_ms: int,
    max_age_ms: int,
    unreachable: Iterable[ClusterAlias] = (),
) -> list[FlowHealth]:
    """
    Judges all paths that were found or are expected, by cluster and with the nearest first.

    Args:
        last_ms: time of the newest heartbeat of each path that has any.
        max_age_ms: a flow whose last heartbeat is older is not alive.
        unreachable: clusters that could not be asked.
    """
    missing = set(unreachable)
    wanted = set(expected)
    found = []
    for path in sorted(wanted | last_ms.keys(), key=lambda each: (each.here, each.hops, each)):
        last = last_ms.get(path)
        age = None if last is None else max(0, now_ms - last)
        alive = None if path.here in missing else age is not None and age <= max_age_ms
        found.append(
            FlowHealth(path=path, last_ms=last, age_ms=age, alive=alive, expected=path in wanted)
        )
    return found
