"""The driver as a user runs it, between real clusters."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewPartitions

from mm2.core.codec import Heartbeat
from mm2.core.model import ClusterAlias
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.mirror import DRIVER, Mirror, properties, worker_pids
from tests.support.records import CODECS, Sample, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def _topics(cluster: Cluster) -> dict[str, int]:
    listed = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=60).topics
    return {name: len(topic.partitions) for name, topic in listed.items()}


def _configs(cluster: Cluster, topic: str) -> dict[str, str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (future,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    return {name: entry.value for name, entry in future.result(60).items()}


def _numbered(first: int, count: int, partitions: int = 1) -> list[Sample]:
    return [
        Sample(value=str(n).encode(), partition=n % partitions) for n in range(first, first + count)
    ]


def _contents(samples: list[Sample]) -> list[tuple[object, ...]]:
    return [sample.content for sample in samples]


def _shapes(codec: str) -> list[Sample]:
    """Records of every shape that a mirror could get wrong."""
    return [
        Sample(key=b"k", value=codec.encode(), timestamp_ms=1_700_000_000_000),
        Sample(key=b"k", value=None, timestamp_ms=1_700_000_000_001),
        Sample(key=None, value=b"", timestamp_ms=1_600_000_000_000),
        Sample(key=b"", value=b"\xff\x00", partition=1, timestamp_ms=1_700_000_000_003),
        Sample(
            value=b"h" * 2000,
            headers=(("a", b"1"), ("a", None), ("b", b""), ("a", b"2")),
            partition=2,
            timestamp_ms=1_700_000_000_004,
        ),
    ]


def test_two_clusters_mirror_each_other_and_never_in_a_circle(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    clusters = {"A": cluster_a, "B": cluster_b}
    for cluster in clusters.values():
        create_topic(cluster.bootstrap, unique, 3, {"max.message.bytes": "2000000"})
        for codec in CODECS:
            produce(cluster.bootstrap, unique, _shapes(codec), codec=codec)
    text = properties(
        {alias: cluster.bootstrap for alias, cluster in clusters.items()},
        {"A->B.enabled": "true", "B->A.enabled": "true", "topics": f".*{unique}"},
    )
    with Mirror(tmp_path, text) as mirror:
        for source, target in (("A", "B"), ("B", "A")):
            written = consume(clusters[source].bootstrap, unique, 25)
            copied = consume(clusters[target].bootstrap, f"{source}.{unique}", 25)
            assert _contents(copied) == _contents(written)
            assert (
                _configs(clusters[target], f"{source}.{unique}")["max.message.bytes"] == "2000000"
            )
        for alias, other in (("A", "B"), ("B", "A")):
            consume(clusters[alias].bootstrap, "heartbeats", 1)
            consume(clusters[alias].bootstrap, f"{other}.heartbeats", 1)
        # Everything that could come round has had its chance: heartbeats have gone both ways, and
        # topics are looked for every second.
        produce(cluster_a.bootstrap, unique, _numbered(0, 1))
        consume(cluster_b.bootstrap, f"A.{unique}", 26)
        assert mirror.stop() == 0
        mirror.wait_gone()
    topics = {*_topics(cluster_a), *_topics(cluster_b)}
    assert {t for t in topics if t.startswith(("A.B.", "B.A.")) and unique in t} == set()
    assert {t for t in topics if t.startswith(("A.B.A", "B.A.B"))} == set()


def test_internal_topics_have_javas_names_partitions_and_policies(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source, target = f"S-{unique[-4:]}", f"T-{unique[-4:]}"
    text = properties(
        {source: cluster_a.bootstrap, target: cluster_b.bootstrap},
        {
            f"{source}->{target}.enabled": "true",
            "topics": unique,
            "offset.storage.partitions": "7",
            "emit.heartbeats.enabled": "true",
        },
    )
    expected = {
        "heartbeats": 1,
        f"{source}.checkpoints.internal": 1,
        f"mm2-configs.{source}.internal": 1,
        f"mm2-offsets.{source}.internal": 7,
        f"mm2-status.{source}.internal": 5,
    }
    with Mirror(tmp_path, text):
        eventually(lambda: expected.items() <= _topics(cluster_b).items())
        syncs = f"mm2-offset-syncs.{target}.internal"
        eventually(lambda: _topics(cluster_a).get(syncs) == 1)
        for topic in expected:
            assert _configs(cluster_b, topic)["cleanup.policy"] == "compact"
        assert _configs(cluster_a, syncs)["cleanup.policy"] == "compact"


def test_a_clean_stop_and_start_copies_each_record_once(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    text = properties(
        {"A": cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {"A->B.enabled": "true", "topics": unique, "B->A.emit.heartbeats.enabled": "false"},
    )
    for turn in range(2):
        produce(cluster_a.bootstrap, unique, _numbered(turn * 1000, 1000, 2))
        with Mirror(tmp_path, text) as mirror:
            consume(cluster_b.bootstrap, f"A.{unique}", (turn + 1) * 1000)
            assert mirror.stop() == 0
            mirror.wait_gone()
    copied = consume(cluster_b.bootstrap, f"A.{unique}", 2000)
    assert _contents(copied) == _contents(consume(cluster_a.bootstrap, unique, 2000))
    ends = sum(sample.offset + 1 for sample in _last_of_each(copied))
    assert ends == 2000, "no record came twice"


def _last_of_each(samples: list[Sample]) -> list[Sample]:
    return list({sample.partition: sample for sample in samples}.values())


def test_killed_in_mid_copy_it_loses_nothing_and_keeps_order(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    text = properties(
        {"A": cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {
            "A->B.enabled": "true",
            "topics": unique,
            "B->A.emit.heartbeats.enabled": "false",
            # Small fetches make the copy long enough to be interrupted.
            "A.consumer.max.partition.fetch.bytes": "20000",
            "A.consumer.fetch.max.bytes": "40000",
        },
    )
    total = 200_000
    produce(
        cluster_a.bootstrap,
        unique,
        _numbered(0, total, 2),
        settings={"queue.buffering.max.messages": 1_000_000},
    )
    with Mirror(tmp_path, text) as mirror:
        consume(cluster_b.bootstrap, f"A.{unique}", 1000)
        mirror.kill()
        mirror.wait_gone()
    with Mirror(tmp_path, text):
        _expect_all_in_order(cluster_b, f"A.{unique}", total)


def _expect_all_in_order(cluster: Cluster, topic: str, total: int) -> None:
    """Every number is there, and the first copies of each partition's numbers are in order."""
    first_copies: dict[int, dict[int, None]] = {0: {}, 1: {}}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in first_copies])
    deadline = time.monotonic() + 60
    while sum(map(len, first_copies.values())) < total:
        for message in consumer.consume(10_000, timeout=0.5):
            first_copies[message.partition() or 0][int(message.value() or b"")] = None
        assert time.monotonic() < deadline, {p: len(found) for p, found in first_copies.items()}
    consumer.close()
    for found in first_copies.values():
        assert list(found) == sorted(found)


def test_a_killed_worker_comes_back_and_the_others_never_stop(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    text = properties(
        {"A": cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {
            "A->B.enabled": "true",
            "topics": unique,
            "tasks.max": "2",
            "heartbeats.replication.enabled": "false",
            "B->A.emit.heartbeats.enabled": "false",
        },
    )
    started = time.time_ns() // 1_000_000
    with Mirror(tmp_path, text) as mirror:
        produce(cluster_a.bootstrap, unique, _numbered(0, 2, 2))
        consume(cluster_b.bootstrap, f"A.{unique}", 2)
        before = _workers(cluster_b, started)
        os.kill(before[0], signal.SIGKILL)
        killed = time.time_ns() // 1_000_000
        produce(cluster_a.bootstrap, unique, _numbered(2, 2, 2))
        consume(cluster_b.bootstrap, f"A.{unique}", 4)
        after = _workers(cluster_b, killed + 1000)
        assert after[0] != before[0]
        assert after[1] == before[1]
        assert mirror.stop() == 0


def _workers(cluster: Cluster, since_ms: int) -> dict[int, int]:
    return eventually(
        lambda: worker_pids(cluster.bootstrap, "A", since_ms), until=lambda found: len(found) == 2
    )


def test_when_sparks_jvm_dies_it_is_started_again(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    text = properties(
        {"A": cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {"A->B.enabled": "true", "topics": unique, "B->A.emit.heartbeats.enabled": "false"},
    )
    with Mirror(tmp_path, text) as mirror:
        produce(cluster_a.bootstrap, unique, _numbered(0, 1))
        consume(cluster_b.bootstrap, f"A.{unique}", 1)
        (jvm,) = [process for process in mirror.family() if process.name() == "java"]
        jvm.kill()
        produce(cluster_a.bootstrap, unique, _numbered(1, 1))
        consume(cluster_b.bootstrap, f"A.{unique}", 2)
        assert mirror.stop() == 0
        mirror.wait_gone()


def test_new_topics_and_partitions_are_picked_up_while_it_runs(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, f"{unique}-1", 1)
    text = properties(
        {"A": cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {"A->B.enabled": "true", "topics": f"{unique}.*", "B->A.emit.heartbeats.enabled": "false"},
    )
    with Mirror(tmp_path, text):
        produce(cluster_a.bootstrap, f"{unique}-1", _numbered(0, 1))
        consume(cluster_b.bootstrap, f"A.{unique}-1", 1)
        create_topic(cluster_a.bootstrap, f"{unique}-2", 2)
        produce(cluster_a.bootstrap, f"{unique}-2", _numbered(0, 2, 2))
        consume(cluster_b.bootstrap, f"A.{unique}-2", 2)
        admin = AdminClient({"bootstrap.servers": cluster_a.bootstrap})
        admin.create_partitions([NewPartitions(f"{unique}-1", 3)])[f"{unique}-1"].result(60)
        eventually(lambda: _topics(cluster_b).get(f"A.{unique}-1") == 3)
        produce(cluster_a.bootstrap, f"{unique}-1", [Sample(value=b"new", partition=2)])
        copied = consume(cluster_b.bootstrap, f"A.{unique}-1", 2)
        assert Counter(sample.partition for sample in copied) == {0: 1, 2: 1}


def test_an_unreachable_cluster_is_waited_for_while_other_flows_go_on(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    for name in (f"{unique}-b", f"{unique}-c"):
        create_topic(cluster_a.bootstrap, name, 1)
        produce(cluster_a.bootstrap, name, _numbered(0, 1))
    late = KafkaCluster("C")
    late.start()
    address = late.bootstrap
    late.kill()
    text = properties(
        {"A": cluster_a.bootstrap, "B": cluster_b.bootstrap, "C": address},
        {
            "emit.heartbeats.enabled": "false",
            "A->B.enabled": "true",
            "A->B.topics": f"{unique}-b",
            "A->C.enabled": "true",
            "A->C.topics": f"{unique}-c",
        },
    )
    try:
        with Mirror(tmp_path, text) as mirror:
            consume(cluster_b.bootstrap, f"A.{unique}-b", 1)
            eventually(lambda: "cluster.unreachable" in mirror.text())
            late.restart()
            consume(address, f"A.{unique}-c", 1)
            assert mirror.stop() == 0
    finally:
        late.stop()


def test_heartbeats_need_the_target_only(cluster_b: Cluster, unique: str, tmp_path: Path) -> None:
    source, target = f"S{unique[-6:]}", f"T{unique[-6:]}"
    text = properties(
        {source: "127.0.0.1:1", target: cluster_b.bootstrap},
        {f"{source}->{target}.enabled": "true", f"{target}->{source}.enabled": "false"},
    )
    key = Heartbeat(ClusterAlias(source), ClusterAlias(target), 0).key()
    with Mirror(tmp_path, text) as mirror:
        eventually(lambda: "heartbeats" in _topics(cluster_b))
        eventually(lambda: key in {beat.key() for beat in _messages(cluster_b, "heartbeats")})
        assert mirror.stop() == 0
        mirror.wait_gone()


def test_an_outage_of_the_target_loses_nothing_and_does_not_hold_up_a_stop(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    target = KafkaCluster("D").start()
    text = properties(
        {"A": cluster_a.bootstrap, "D": target.bootstrap},
        {"A->D.enabled": "true", "topics": unique, "D->A.emit.heartbeats.enabled": "false"},
    )
    try:
        with Mirror(tmp_path, text) as mirror:
            produce(cluster_a.bootstrap, unique, _numbered(0, 10))
            consume(target.bootstrap, f"A.{unique}", 10)
            target.kill()
            produce(cluster_a.bootstrap, unique, _numbered(10, 10))
            eventually(lambda: '"source.suspended"' in mirror.text())
            target.restart()
            copied = consume(target.bootstrap, f"A.{unique}", 20)
            assert [sample.value for sample in copied] == [b"%d" % n for n in range(20)]
            eventually(lambda: b'{"offset":19}' in _positions(target, "A"))
            target.kill()
            assert mirror.stop() == 0
            mirror.wait_gone()
        target.restart()
        with Mirror(tmp_path, text):
            produce(cluster_a.bootstrap, unique, _numbered(20, 1))
            copied = consume(target.bootstrap, f"A.{unique}", 21)
            assert [sample.value for sample in copied] == [b"%d" % n for n in range(21)]
    finally:
        target.stop()


def _messages(cluster: Cluster, topic: str) -> list[Message]:
    """What a small topic holds now."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    numbers = consumer.list_topics(topic, timeout=60).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
    found = consumer.consume(10_000, timeout=1)
    consumer.close()
    return found


def _positions(cluster: Cluster, source: str) -> set[bytes | None]:
    """All values that the positions topic has had."""
    return {message.value() for message in _messages(cluster, f"mm2-offsets.{source}.internal")}


def test_three_clusters_in_a_triangle_settle(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    with KafkaCluster("C") as cluster_c:
        clusters: dict[str, Cluster] = {"A": cluster_a, "B": cluster_b, "C": cluster_c}
        for cluster in clusters.values():
            create_topic(cluster.bootstrap, unique, 1)
            produce(cluster.bootstrap, unique, _numbered(0, 3))
        flows = {
            f"{source}->{target}.enabled": "true"
            for source in clusters
            for target in clusters
            if source != target
        }
        addresses = {alias: cluster.bootstrap for alias, cluster in clusters.items()}
        text = properties(addresses, {**flows, "topics": f".*{unique}"})
        with Mirror(tmp_path, text) as mirror:
            expected = {
                "A": {unique, f"B.{unique}", f"C.{unique}", f"B.C.{unique}", f"C.B.{unique}"},
                "B": {unique, f"A.{unique}", f"C.{unique}", f"A.C.{unique}", f"C.A.{unique}"},
                "C": {unique, f"A.{unique}", f"B.{unique}", f"A.B.{unique}", f"B.A.{unique}"},
            }
            for alias, topics in expected.items():
                for topic in topics:
                    consume(clusters[alias].bootstrap, topic, 3)
            settled = {alias: set(_topics(cluster)) for alias, cluster in clusters.items()}
            looked = time.monotonic()
            while time.monotonic() < looked + 3:
                for alias, topics in expected.items():
                    mine = {t for t in _topics(clusters[alias]) if unique in t}
                    assert mine == topics
                time.sleep(0.5)
            assert {a: set(_topics(c)) for a, c in clusters.items()} == settled
            assert mirror.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 1, "usage"),
        (["missing.properties"], 255, "missing.properties"),
        (["FILE", "--clusters", "Z"], 2, "No source->target replication flows."),
    ],
)
def test_bad_arguments_end_with_javas_statuses(
    arguments: list[str], status: int, message: str, tmp_path: Path
) -> None:
    """C001, C002, C004, C005."""
    text = properties({"A": "localhost:1", "B": "localhost:2"}, {"A->B.enabled": "true"})
    mirror = Mirror(
        tmp_path,
        text,
        command=lambda file: [
            str(DRIVER),
            *(str(file) if word == "FILE" else word for word in arguments),
        ],
    )
    with mirror:
        assert mirror.process.wait(90) == status
    assert message in mirror.text()


def test_settings_and_acls_of_topics_are_followed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """C175, C180, C186-C189, C397, C399, C412."""
    create_topic(cluster_a.bootstrap, unique, 1, {"retention.bytes": "1000"})
    remote = f"A.{unique}"
    for operation in (AclOperation.ALL, AclOperation.WRITE, AclOperation.DESCRIBE):
        _allow(cluster_a, unique, operation)
    text = properties(
        {"A": cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {
            "A->B.enabled": "true",
            "topics": unique,
            "B->A.emit.heartbeats.enabled": "false",
            "sync.topic.acls.enabled": "true",
            "sync.topic.acls.interval.seconds": "1",
        },
    )
    with Mirror(tmp_path, text):
        eventually(lambda: remote in _topics(cluster_b))
        assert _configs(cluster_b, remote)["retention.bytes"] == "1000"
        allowed = eventually(lambda: _allowed(cluster_b, remote), until=lambda a: len(a) == 2)
        assert allowed == {"READ", "DESCRIBE"}
        _alter(cluster_a, unique, "retention.bytes", "2000")
        eventually(lambda: _configs(cluster_b, remote)["retention.bytes"] == "2000")
        _alter(cluster_a, unique, "retention.bytes", None)
        eventually(lambda: _configs(cluster_b, remote)["retention.bytes"] == "-1")


def _alter(cluster: Cluster, topic: str, name: str, value: str | None) -> None:
    kind = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(name, value or "", incremental_operation=kind)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (future,) = admin.incremental_alter_configs([resource]).values()
    future.result(60)


def _acl(topic: str, operation: AclOperation) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:dummy",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )


def _allow(cluster: Cluster, topic: str, operation: AclOperation) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (future,) = admin.create_acls([_acl(topic, operation)]).values()
    future.result(60)


def _allowed(cluster: Cluster, topic: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    wanted = AclBindingFilter(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:dummy",
        "*",
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    return {binding.operation.name for binding in admin.describe_acls(wanted).result(60)}
