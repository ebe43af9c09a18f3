"""
By how many ways the records of a cluster come to another one, where headers say whose they are.

With names that stay the same, what two flows bring to a topic is there twice; what none takes is
not there at all. No record comes twice to a cluster that it has passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.preflight.endless_copies import Copying, reached_from

_KEY: Final = "provenance.origins"

Origins: TypeAlias = tuple[ClusterAlias, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginWays:
    """
    The flows that bring records of some topic, written on ``origin``, to ``target``.

    Attributes:
        carriers: these flows; a direct one is first.
        refusing: flows that could, and do not take these records.
        apart: for all carriers but the first, clusters whose records come by no other way then.
    """

    origin: ClusterAlias
    target: ClusterAlias
    carriers: tuple[SourceAndTarget, ...]
    refusing: tuple[SourceAndTarget, ...]
    apart: tuple[Origins, ...] = ()

    @property
    def are_several(self) -> bool:
        """Whether records come more than once."""
        return len(self.carriers) > 1

    @property
    def are_none(self) -> bool:
        """Whether records do not come, though there are flows."""
        return bool(self.refusing) and not self.carriers

    @property
    def sentence(self) -> str:
        """What is wrong."""
        if self.are_several:
            names = ", ".join(map(str, self.carriers))
            times = len(self.carriers)
            return f"records of {self.origin} come {times} times to {self.target}, by {names}"
        names = ", ".join(map(str, self.refusing))
        return f"records of {self.origin} do not come to {self.target}: {names} takes none"

    @property
    def remedy(self) -> str:
        """What to write."""
        if self.are_none:
            return f"Add {self.origin} to {self.refusing[0]}.{_KEY}, if they are to come."
        first, *others = self.carriers
        lines = (
            f"{flow}.{_KEY} = {', '.join(origins)}"
            for flow, origins in zip(others, self.apart, strict=True)
        )
        return f"To leave these to {first}, write {'; '.join(lines)}."


def wrong_ways(
    topics: Mapping[ClusterAlias, Collection[TopicName]], flows: Sequence[Copying]
) -> dict[OriginWays, list[TopicName]]:
    """
    Where records come more than once or not at all, with the topics of which that holds.

    Args:
        topics: of each cluster. What is there as a copy counts: others may write to it, too.
    """
    found: dict[OriginWays, list[TopicName]] = {}
    alike: dict[tuple[object, ...], list[OriginWays]] = {}
    for topic in sorted(set().union(*topics.values())):
        keeping = [each for each in flows if _keeps(each, topic)]
        origins = tuple(sorted(alias for alias in topics if topic in topics[alias]))
        key = origins, tuple(each.flow for each in keeping)
        if key not in alike:
            alike[key] = [*_wrong(origins, keeping)]
        for ways in alike[key]:
            found.setdefault(ways, []).append(topic)
    return found


def _wrong(origins: Origins, flows: Sequence[Copying]) -> Iterator[OriginWays]:
    onward = {
        origin: [each.flow for each in flows if each.takes is not None and each.takes(origin)]
        for origin in origins
    }
    for target in sorted({each.flow.target for each in flows}):
        into = [each.flow for each in flows if each.flow.target == target]
        for ways in _to(target, into, onward):
            if ways.are_several or ways.are_none:
                yield ways


def _keeps(copying: Copying, topic: TopicName) -> bool:
    """Whether headers say where the records of a topic come from, and its name does not."""
    return (
        copying.takes is not None
        and copying.accepts(topic)
        and set(copying.remotes(topic)) == {topic}
    )


def _to(
    target: ClusterAlias,
    into: Sequence[SourceAndTarget],
    onward: Mapping[ClusterAlias, Sequence[SourceAndTarget]],
) -> Iterator[OriginWays]:
    """
    How the records of each origin come to a target.

    Args:
        into: the flows that lead there.
        onward: by origin, the flows that take its records.
    """
    # The clusters that an origin's records come to without passing the target.
    passed = {
        origin: reached_from(origin, (flow for flow in takers if flow.target != target))
        for origin, takers in onward.items()
        if origin != target
    }
    reaching = {
        origin: [flow for flow in into if flow.source in reached]
        for origin, reached in passed.items()
    }
    carriers = {origin: {*flows} & {*onward[origin]} for origin, flows in reaching.items()}
    for origin, flows in reaching.items():
        bringing = [flow for flow in flows if flow in carriers[origin]]
        bringing.sort(key=lambda flow: flow.source != origin)
        by_flow = [{each for each in carriers if flow in carriers[each]} for flow in bringing]
        yield OriginWays(
            origin=origin,
            target=target,
            carriers=tuple(bringing),
            refusing=tuple(flow for flow in flows if flow not in carriers[origin]),
            apart=tuple(
                tuple(sorted({flow.source} | by_flow[at] - by_flow[0]))
                for at, flow in enumerate(bringing)
                if at
            ),
        )
