"""
What the names of a cluster's topics tell of other clusters (Java: ``MirrorClient``, behaviours 4).

Names and the policy are all that is needed, so whoever can list the topics of a cluster learns
which clusters are upstream of it, and over how many flows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import ReplicationPolicy

UNREACHABLE: Final = -1
"""Stands for a number of hops: there is no path."""


def sources_of(policy: ReplicationPolicy, topic: TopicName) -> Iterator[ClusterAlias]:
    """
    Yields the clusters that a topic came through, the nearest first.

    A policy for which every name has the same source, such as the identity, ends the walk when a
    cluster comes up again (C133).
    """
    seen: set[ClusterAlias] = set()
    upstream: TopicName | None = topic
    while upstream is not None:
        source = policy.topic_source(upstream)
        if source is None or source in seen:
            return
        seen.add(source)
        yield source
        upstream = policy.upstream_topic(upstream)


def count_hops(policy: ReplicationPolicy, topic: TopicName, source: ClusterAlias) -> int:
    """Counts over how many flows a topic came here from ``source``; -1 if it did not (C132)."""
    for hops, each in enumerate(sources_of(policy, topic), 1):
        if each == source:
            return hops
    return UNREACHABLE


def heartbeat_topics(policy: ReplicationPolicy, topics: Iterable[TopicName]) -> set[TopicName]:
    """Returns the topics of heartbeats, the cluster's own included (C134)."""
    return {topic for topic in topics if policy.is_heartbeats_topic(topic)}


def checkpoint_topics(policy: ReplicationPolicy, topics: Iterable[TopicName]) -> set[TopicName]:
    """Returns the topics of checkpoints (C135)."""
    return {topic for topic in topics if policy.is_checkpoints_topic(topic)}


def remote_topics(
    policy: ReplicationPolicy, topics: Iterable[TopicName], source: ClusterAlias | None = None
) -> set[TopicName]:
    """
    Returns the topics that are copies, those of heartbeats included (C139-C142).

    Args:
        policy: of the flows into the cluster.
        topics: names of all its topics.
        source: only copies that came from this cluster last; None for all.
    """
    return {
        topic
        for topic in topics
        if not policy.is_internal_topic(topic)
        and (nearest := policy.topic_source(topic)) is not None
        and source in (None, nearest)
    }


def upstream_clusters(policy: ReplicationPolicy, topics: Iterable[TopicName]) -> set[ClusterAlias]:
    """Returns the clusters that heartbeats come from, or came through (C137, C138)."""
    beats = heartbeat_topics(policy, topics)
    return {source for topic in beats for source in sources_of(policy, topic)}


def replication_hops(
    policy: ReplicationPolicy, topics: Iterable[TopicName], upstream: ClusterAlias
) -> int:
    """Returns by how few flows heartbeats of ``upstream`` come here; -1 if none do (C136)."""
    counts = {count_hops(policy, topic, upstream) for topic in heartbeat_topics(policy, topics)}
    return min(counts - {UNREACHABLE}, default=UNREACHABLE)
