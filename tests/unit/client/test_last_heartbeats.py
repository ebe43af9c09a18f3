"""What heartbeats say of the clusters upstream."""

from __future__ import annotations

from mm2.client.seen_heartbeats import last_heartbeats
from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import DefaultReplicationPolicy
from mm2.kafka.logs.records import Record

POLICY = DefaultReplicationPolicy()


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(topic="t", partition=0, offset=0, timestamp_ms=0, key=key, value=value)


def beat(source: str, target: str, timestamp_ms: int) -> Record:
    heartbeat = Heartbeat(ClusterAlias(source), ClusterAlias(target), timestamp_ms)
    return record(heartbeat.key(), heartbeat.value())


def test_the_newest_heartbeat_of_each_flow_counts() -> None:
    records = [beat("A", "B", 10), beat("C", "B", 5), beat("A", "B", 30), beat("A", "B", 20)]
    seen = last_heartbeats(POLICY, TopicName("heartbeats"), records)
    assert [(str(each.heartbeat.source), each.heartbeat.timestamp_ms) for each in seen] == [
        ("A", 30),
        ("C", 5),
    ]
    assert [each.age_ms(31) for each in seen] == [1, 26]


def test_the_path_is_that_of_the_topic() -> None:
    (own,) = last_heartbeats(POLICY, TopicName("heartbeats"), [beat("A", "B", 1)])
    assert own.path == ()
    (copied,) = last_heartbeats(POLICY, TopicName("B.A.heartbeats"), [beat("B", "A", 1)])
    assert copied.path == ("B", "A")


def test_what_is_no_heartbeat_is_left_out() -> None:
    records = [record(b"?", b"?"), record(None, None), beat("A", "B", 1), record(b"", None)]
    assert len(last_heartbeats(POLICY, TopicName("heartbeats"), records)) == 1
