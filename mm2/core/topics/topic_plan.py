"""
What must change on the target so that its remote topics are what the source's topics demand.

Desired against actual, from plain snapshots of both clusters: the result is a list of actions that
can be shown to the user as well as carried out. Java: ``MirrorSourceConnector``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mm2.core.filters import ConfigPropertyFilter
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import ReplicationPolicy
from mm2.core.topics.remote_configs import ConfigEntry, creation_configs


@dataclass(frozen=True, slots=True, order=True)
class TopicDescription:
    """
    A topic as its cluster describes it.

    Attributes:
        replicas: of each partition; -1 if nobody asked. Does not count in comparisons.
    """

    name: TopicName
    partitions: int
    replicas: int = field(default=-1, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic:
    """Create ``name`` on the target. A replication factor of -1 leaves it to the brokers (C169)."""

    name: TopicName
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowTopic:
    """Give ``name`` on the target more partitions, so that it has ``partitions`` in all."""

    name: TopicName
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """Topics to create and to grow, each in the order of their names."""

    create: tuple[CreateTopic, ...] = ()
    grow: tuple[GrowTopic, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.create and not self.grow


def plan_topics(
    source: Iterable[TopicDescription],
    target: Iterable[TopicDescription],
    *,
    policy: ReplicationPolicy,
    alias: ClusterAlias,
    configs: Mapping[TopicName, Iterable[ConfigEntry]],
    property_filter: ConfigPropertyFilter,
    replication_factor: int | None,
) -> TopicPlan:
    """
    Plans the remote topics of the source's topics (C168, C171).

    Nothing is deleted or shrunk: a remote topic with more partitions than its source stays (C166).

    Args:
        target: topics of the target; all of them, or those that are copies.
        replication_factor: for new topics; None gives each that of its source topic.
    """
    existing = {topic.name: topic.partitions for topic in target}
    create, grow = [], []
    for topic in sorted(set(source)):
        name = policy.format_remote_topic(alias, topic.name)
        if name not in existing:
            create.append(
                CreateTopic(
                    name=name,
                    partitions=topic.partitions,
                    replication_factor=(
                        topic.replicas if replication_factor is None else replication_factor
                    ),
                    configs=creation_configs(configs.get(topic.name, ()), property_filter),
                )
            )
        elif existing[name] < topic.partitions:
            grow.append(GrowTopic(name=name, partitions=topic.partitions))
    return TopicPlan(create=tuple(create), grow=tuple(grow))
