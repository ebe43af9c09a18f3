"""Finds topics that flows would copy back and forth, or in a circle, without end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName

Place = tuple[ClusterAlias, TopicName]
"""A topic on a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copying:
    """
    How a flow decides about the topics of its source.

    Attributes:
        remotes: where the records of a topic may go.
        takes: whether it copies records that were written on a cluster first; None: whatever their
            headers say, which it does not write either.
    """

    flow: SourceAndTarget
    accepts: Callable[[TopicName], bool]
    remotes: Callable[[TopicName], Collection[TopicName]]
    takes: Callable[[str], bool] | None = None


def endless_copies(
    topics: Mapping[ClusterAlias, Collection[TopicName]], flows: Sequence[Copying]
) -> list[tuple[Place, ...]]:
    """
    Follows each topic from copy to copy; returns the ways that do not end.

    A way that comes to a topic again ends with it. One that goes on under new names is cut when it
    is longer than a way can be on which no cluster comes twice. Where all flows of a circle write
    headers there is none: a record comes to no cluster that it has passed.

    Args:
        topics: of each cluster; copies that are there already count like any topic.
    """
    every = [each.flow for each in flows]
    if not any(each.takes is None and is_on_circle(each.flow, every) for each in flows):
        return []
    most = len({alias for each in flows for alias in (each.flow.source, each.flow.target)})
    return [
        way
        for alias in sorted(topics)
        for topic in sorted(topics[alias])
        if (way := _endless(((alias, topic),), None, flows, most)) is not None
    ]


def is_on_circle(flow: SourceAndTarget, flows: Iterable[SourceAndTarget]) -> bool:
    """Whether flows lead back from a flow's target to its source."""
    return flow.source in reached_from(flow.target, flows)


def reached_from(start: ClusterAlias, flows: Iterable[SourceAndTarget]) -> set[ClusterAlias]:
    """The clusters to which flows lead from one, and that one."""
    onward: dict[ClusterAlias, list[ClusterAlias]] = {}
    for flow in flows:
        onward.setdefault(flow.source, []).append(flow.target)
    reached, new = {start}, [start]
    while new:
        for alias in onward.get(new.pop(), ()):
            if alias not in reached:
                reached.add(alias)
                new.append(alias)
    return reached


def _endless(
    way: tuple[Place, ...], origin: str | None, flows: Sequence[Copying], most: int
) -> tuple[Place, ...] | None:
    for place, marked in _copies(way[-1], origin, flows):
        longer = (*way, place)
        if place in way or len(longer) > most + 1:
            return longer
        if (found := _endless(longer, marked, flows, most)) is not None:
            return found
    return None


def _copies(
    place: Place, origin: str | None, flows: Sequence[Copying]
) -> Iterator[tuple[Place, str | None]]:
    """Where a topic's records go from a place, and which cluster their headers name then."""
    alias, topic = place
    for each in flows:
        if each.flow.source != alias or not each.accepts(topic):
            continue
        marked = origin if each.takes is None else origin or alias
        if each.takes is None or each.takes(marked or alias):
            for remote in sorted(each.remotes(topic)):
                yield (each.flow.target, remote), marked
