"""What topic names tell about the topics that a flow mirrors, or does not."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.core.filters import NamePatterns
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import ReplicationPolicy

_SERVICES: Final = {
    "_schemas": "Schema Registry",
    "connect-configs": "a Connect cluster",
    "connect-offsets": "a Connect cluster",
    "connect-status": "a Connect cluster",
}
_CONFLUENT: Final = "_confluent"
_SYNTAX: Final = frozenset(r".*+?()[]{}|\^$")


@dataclass(frozen=True, slots=True)
class SeemingCopy:
    """A topic whose name says that it was copied from a cluster, which has no such topic."""

    topic: TopicName
    origin: ClusterAlias
    upstream: TopicName


def seeming_copies(
    topics: Iterable[TopicName],
    policy: ReplicationPolicy,
    others: Mapping[ClusterAlias, Collection[TopicName]],
) -> Iterator[SeemingCopy]:
    """
    Yields local topics that the policy takes for copies from one of the other clusters.

    Args:
        others: the topics of the clusters that it could have copies from.
    """
    for topic in sorted(topics):
        origin, upstream = policy.topic_source(topic), policy.upstream_topic(topic)
        if policy.is_internal_topic(topic) or policy.is_heartbeats_topic(topic):
            continue
        if origin is None or upstream is None or origin not in others:
            continue
        if upstream not in others[origin]:
            yield SeemingCopy(topic, origin, upstream)


def service_topics(mirrored: Iterable[TopicName]) -> dict[TopicName, str]:
    """The topics in which other services keep their state, each with the service."""
    found = {}
    for topic in sorted(mirrored):
        if service := _SERVICES.get(topic):
            found[topic] = service
        elif topic.startswith(_CONFLUENT):
            found[topic] = "Confluent Platform"
    return found


def idle_patterns(
    patterns: Iterable[str], topics: Collection[TopicName]
) -> dict[str, tuple[TopicName, ...]]:
    """The patterns that match none of the topics, each with the names that are most like it."""
    return {
        pattern: _alike(pattern, topics)
        for pattern in patterns
        if not any(map(NamePatterns([pattern], "topics").__contains__, topics))
    }


def _alike(pattern: str, topics: Collection[TopicName]) -> tuple[TopicName, ...]:
    literal = "".join(each for each in pattern.lower() if each not in _SYNTAX)
    names = {topic.lower(): topic for topic in sorted(topics)}
    return tuple(names[each] for each in difflib.get_close_matches(literal, names, cutoff=0.6))
