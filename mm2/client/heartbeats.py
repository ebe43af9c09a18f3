"""
The heartbeats that arrive on a cluster: which clusters are upstream of it, and whether they live.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mm2.core.codec import Heartbeat
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import ReplicationPolicy
from mm2.core.remote_topics import sources_of
from mm2.errors import SchemaError
from mm2.kafka.records import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenHeartbeat:
    """
    The last heartbeat of one flow that came by one path.

    Attributes:
        topic: in which it stands.
        path: the clusters that it came through, the nearest first; empty if it was emitted into
            this cluster. A heartbeat that came through a cluster proves that data of it arrive.
        heartbeat: names the flow whose herder emitted it, and when.
    """

    topic: TopicName
    path: tuple[ClusterAlias, ...]
    heartbeat: Heartbeat

    def age_ms(self, now_ms: int) -> int:
        """How old it is; negative if its clock is ahead of ours."""
        return now_ms - self.heartbeat.timestamp_ms


def last_heartbeats(
    policy: ReplicationPolicy, topic: TopicName, records: Iterable[Record]
) -> list[SeenHeartbeat]:
    """The newest heartbeat of each flow in one topic, sorted by flow; what is none is left out."""
    last: dict[tuple[ClusterAlias, ClusterAlias], Heartbeat] = {}
    for record in records:
        try:
            beat = Heartbeat.decode(record.key, record.value)
        except SchemaError:
            continue
        flow = beat.source, beat.target
        if flow not in last or last[flow].timestamp_ms <= beat.timestamp_ms:
            last[flow] = beat
    path = tuple(sources_of(policy, topic))
    return [
        SeenHeartbeat(topic=topic, path=path, heartbeat=beat) for _, beat in sorted(last.items())
    ]
