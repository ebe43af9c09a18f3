"""
What the names of topics tell about the clusters they came through: cycles, hops, remote topics.

Those questions of Java's ``MirrorClient`` and ``MirrorSourceConnector`` that need no cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from mm2.core.filters import TopicFilter
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.policy import ReplicationPolicy

UNREACHABLE: Final = -1
"""Number of hops from a cluster whose records do not arrive here."""


def is_cycle(policy: ReplicationPolicy, topic: TopicName, target: ClusterAlias) -> bool:
    """
    Tells whether the records of ``topic`` have been on ``target`` before (C158).

    True if the target's alias is anywhere among the clusters that the name lists, so no topology
    mirrors in a circle under a policy that renames. An alias may contain the policy's separator:
    names that begin as its copies do count too, where Java mirrors them back once.
    """
    prefix = policy.format_remote_topic(target, TopicName(""))
    return any(
        source == target or (prefix and name.startswith(prefix))
        for name, source in _passed(policy, topic)
    )


class Refusal(Enum):
    """Why a flow does not mirror a topic, for people."""

    FILTER = "the filter of topics"
    INTERNAL = "internal topics are never mirrored"
    CYCLE = "its records come from the target"


def replication_refusal(
    topic: TopicName,
    *,
    flow: SourceAndTarget,
    policy: ReplicationPolicy,
    topic_filter: TopicFilter,
    heartbeats_replication: bool,
) -> Refusal | None:
    """
    Says why a flow does not mirror ``topic`` of its source cluster; None if it does (C152).

    What mm2 and Connect keep for themselves is never mirrored. Java's policy forgets the herders'
    topics when there is a separator of the user's own (C490).
    """
    wanted = topic_filter.should_replicate_topic(topic) or (
        heartbeats_replication and policy.is_heartbeats_topic(topic)
    )
    if not wanted:
        return Refusal.FILTER
    if policy.is_internal_topic(topic) or _is_of_a_herder(topic):
        return Refusal.INTERNAL
    return Refusal.CYCLE if is_cycle(policy, topic, flow.target) else None


def should_replicate_topic(
    topic: TopicName,
    *,
    flow: SourceAndTarget,
    policy: ReplicationPolicy,
    topic_filter: TopicFilter,
    heartbeats_replication: bool,
) -> bool:
    """Decides whether a flow mirrors ``topic`` of its source cluster (C152)."""
    refusal = replication_refusal(
        topic,
        flow=flow,
        policy=policy,
        topic_filter=topic_filter,
        heartbeats_replication=heartbeats_replication,
    )
    return refusal is None


def is_own_copy(policy: ReplicationPolicy, topic: TopicName, source: ClusterAlias) -> bool:
    """
    Tells whether a copy of ``topic`` would be copied again if both clusters were one and the same.

    Java, which knows clusters by their aliases only, then copies without end (C418).
    """
    return policy.format_remote_topic(source, topic) == topic or any(
        passed == source for passed in _sources(policy, topic)
    )


def _is_of_a_herder(topic: TopicName) -> bool:
    """Names that do not depend on the policy (C465)."""
    return topic.startswith("mm2-") and topic.endswith(".internal")


def sources_of(policy: ReplicationPolicy, topic: TopicName) -> Iterator[ClusterAlias]:
    """
    Yields the clusters that a topic came through, from the last copy back to the first.

    Ends where a cluster comes again, as Java's MirrorClient does (C133).
    """
    visited: set[ClusterAlias] = set()
    for source in _sources(policy, topic):
        if source in visited:
            return
        visited.add(source)
        yield source


def count_hops(policy: ReplicationPolicy, topic: TopicName, source: ClusterAlias) -> int:
    """Counts the copies between ``source`` and here, or returns UNREACHABLE (C132, C133)."""
    for hops, passed in enumerate(sources_of(policy, topic), start=1):
        if passed == source:
            return hops
    return UNREACHABLE


def way_of(
    policy: ReplicationPolicy, topic: TopicName, here: ClusterAlias
) -> tuple[ClusterAlias, ...]:
    """Returns the clusters that the records of ``topic`` were on, in their order; ends ``here``."""
    return (*reversed([*sources_of(policy, topic)]), here)


def heartbeat_topics(policy: ReplicationPolicy, topics: Iterable[TopicName]) -> set[TopicName]:
    """Returns the topics that hold heartbeats, the local one included (C134)."""
    return {topic for topic in topics if policy.is_heartbeats_topic(topic)}


def checkpoint_topics(policy: ReplicationPolicy, topics: Iterable[TopicName]) -> set[TopicName]:
    """Returns the topics that hold checkpoints (C135)."""
    return {topic for topic in topics if policy.is_checkpoints_topic(topic)}


def replication_hops(
    policy: ReplicationPolicy, topics: Iterable[TopicName], source: ClusterAlias
) -> int:
    """Counts the hops of the shortest way heartbeats of ``source`` took, or UNREACHABLE (C136)."""
    hops = (count_hops(policy, topic, source) for topic in heartbeat_topics(policy, topics))
    return min((hop for hop in hops if hop != UNREACHABLE), default=UNREACHABLE)


def upstream_clusters(policy: ReplicationPolicy, topics: Iterable[TopicName]) -> set[ClusterAlias]:
    """Returns every cluster whose heartbeats arrive here, directly or not (C137, C138)."""
    return {
        source for topic in heartbeat_topics(policy, topics) for source in sources_of(policy, topic)
    }


def remote_topics(
    policy: ReplicationPolicy, topics: Iterable[TopicName], source: ClusterAlias | None = None
) -> set[TopicName]:
    """
    Returns the topics that are copies, of any cluster or directly of ``source`` (C139-C142).

    Copied heartbeats count, internal topics do not.
    """
    copies = {
        topic: policy.topic_source(topic) for topic in topics if not policy.is_internal_topic(topic)
    }
    return {
        topic
        for topic, copied_from in copies.items()
        if copied_from is not None and source in (None, copied_from)
    }


def _sources(policy: ReplicationPolicy, topic: TopicName) -> Iterator[ClusterAlias]:
    return (source for _, source in _passed(policy, topic))


def _passed(
    policy: ReplicationPolicy, topic: TopicName
) -> Iterator[tuple[TopicName, ClusterAlias]]:
    """Yields each name that a topic had on its way, with the cluster that it came from."""
    seen: set[TopicName] = set()
    current: TopicName | None = topic
    while current is not None and current not in seen:
        seen.add(current)
        source = policy.topic_source(current)
        if source is None:
            return
        yield current, source
        current = policy.upstream_topic(current)
