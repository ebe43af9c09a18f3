"""Types that all modules use: clusters, topics, partitions, flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, NewType

ClusterAlias = NewType("ClusterAlias", str)
TopicName = NewType("TopicName", str)
GroupId = NewType("GroupId", str)

NO_OFFSET: Final = -1
"""Stands for "no offset known", as in Kafka's own protocol."""

SOURCE_CONNECTOR: Final = "MirrorSourceConnector"
CHECKPOINT_CONNECTOR: Final = "MirrorCheckpointConnector"
HEARTBEAT_CONNECTOR: Final = "MirrorHeartbeatConnector"
CONNECTORS: Final = (SOURCE_CONNECTOR, CHECKPOINT_CONNECTOR, HEARTBEAT_CONNECTOR)
"""The connectors of a flow by the simple names of Java's classes, in Java's order of start."""


class TopicPartition(NamedTuple):
    """One partition of one topic; sorts by topic, then by number."""

    topic: TopicName
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, order=True)
class SourceAndTarget:
    """A flow between two clusters. Prints as "S->T" (Java: ``SourceAndTarget``)."""

    source: ClusterAlias
    target: ClusterAlias

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"
