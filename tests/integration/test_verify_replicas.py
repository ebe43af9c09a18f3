"""``mm2 verify replicas``: replicas of three brokers, of which one has other bytes on its disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient
from crc32c import crc32c

from mm2.cli.mm2 import main
from mm2.kafka.logs.segment_file import read_batches
from tests.support.cluster import KafkaCluster
from tests.support.eventually import eventually
from tests.support.records import Sample, consume, create_topic, numbered, produce

pytestmark = pytest.mark.broker

_IN_ORDER = {"enable.idempotence": "true"}


@pytest.fixture(scope="module")
def replicated() -> Iterator[KafkaCluster]:
    properties = {"min.insync.replicas": "2", "log.cleaner.backoff.ms": "200"}
    with KafkaCluster("R", brokers=3, heap="320m", properties=properties) as cluster:
        yield cluster


def _verify(cluster: KafkaCluster, topics: str, *words: str, status: int) -> list[dict[str, Any]]:
    asked = ["verify", "replicas", "--bootstrap-server", cluster.bootstrap, "--topics", topics]
    done = CliRunner().invoke(main, [*asked, "--format", "json", *words])
    assert done.exit_code == status, done.output
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def _batches(cluster: KafkaCluster, topic: str, values: list[bytes]) -> None:
    for value in values:
        produce(cluster.bootstrap, topic, [Sample(key=b"key", value=value)])


def _metadata(cluster: KafkaCluster, topic: str) -> Any:
    """Of its partition, once the broker that answers knows it: it need not be who created it."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    return eventually(
        lambda: admin.list_topics(topic, 30).topics[topic].partitions.get(0),
        until=lambda found: found is not None and found.leader > 0,
    )


def _follower(cluster: KafkaCluster, topic: str) -> int:
    """A node id of one; nodes are counted from 0."""
    found = _metadata(cluster, topic)
    return next(int(each) for each in found.replicas if each != found.leader)


def _in_sync_again(cluster: KafkaCluster, *topics: str) -> None:
    for topic in topics:
        eventually(partial(_metadata, cluster, topic), until=lambda found: len(found.isrs) == 3)


def _change(segment: Path, old: bytes, new: bytes, *, checksum: bool) -> None:
    """Changes bytes of a batch as a bad disk would, or with the checksum that belongs to them."""
    data = bytearray(segment.read_bytes())
    (batch,) = (
        each
        for each in read_batches(memoryview(bytes(data)))
        if old in data[each.position : each.position + each.size]
    )
    at = data.index(old)
    data[at : at + len(old)] = new
    if checksum:
        end = batch.position + batch.size
        fresh = crc32c(bytes(data[batch.position + 21 : end]))
        data[batch.position + 17 : batch.position + 21] = fresh.to_bytes(4, "big")
    segment.write_bytes(data)


def test_replicas_with_other_bytes_on_a_disk_are_found(
    replicated: KafkaCluster, unique: str
) -> None:
    altered, corrupt, equal = (f"{unique}-{each}" for each in ("altered", "corrupt", "equal"))
    for topic in (altered, corrupt, equal):
        create_topic(replicated.bootstrap, topic, replication_factor=3)
        _batches(replicated, topic, [b"value-0", b"value-1", b"value-2"])
    wanted = [(topic, "equal", 3, True) for topic in (altered, corrupt, equal) for _ in range(3)]

    def seen() -> list[tuple[object, ...]]:
        rows = _verify(replicated, f"{unique}-.*", status=0)
        return [(each["topic"], each["result"], each["end"], each["in_sync"]) for each in rows]

    # A broker that the machine has kept waiting is out of sync for a while.
    eventually(seen, until=lambda rows: rows == wanted)

    node = _follower(replicated, altered)
    replicated.stop_node(node - 1)
    (segment,) = replicated.log_folder(altered, node=node - 1).glob("*.log")
    _change(segment, b"value-1", b"other-1", checksum=True)
    (segment,) = replicated.log_folder(corrupt, node=node - 1).glob("*.log")
    _change(segment, b"value-2", b"other-2", checksum=False)
    results = {broker: "failed" if broker == node else "equal" for broker in (1, 2, 3)}
    eventually(
        lambda: {each["broker"]: each["result"] for each in _verify(replicated, equal, status=1)},
        until=lambda down: down == results,
    )
    replicated.restart(node - 1)
    _in_sync_again(replicated, altered, corrupt, equal)

    rows = _verify(replicated, f"{unique}-.*", status=1)
    assert {(each["topic"], each["broker"]) for each in rows if each["result"] != "equal"} == {
        (altered, node),
        (corrupt, node),
    }
    shown = CliRunner().invoke(
        main,
        ["verify", "replicas", "--bootstrap-server", replicated.bootstrap, "--topics", altered],
    )
    _, differences = shown.stdout.strip().split("\n\n")
    (_, difference) = differences.splitlines()
    assert difference.split() == [altered, "0", str(node), "altered", "1", "1"]
    assert _verify(replicated, equal, status=0)


def test_replicas_of_a_compacted_topic_are_equal(replicated: KafkaCluster, unique: str) -> None:
    settings = {"cleanup.policy": "compact", "segment.bytes": "1048576", "segment.ms": "100"}
    settings["min.cleanable.dirty.ratio"] = "0.01"
    create_topic(replicated.bootstrap, unique, configs=settings, replication_factor=3)
    node = _follower(replicated, unique)
    _batches(replicated, unique, [b"%d" % number for number in range(5)])

    def cleaned(node: int) -> bool:
        folder = replicated.log_folder(unique, node=node - 1)
        try:
            data = memoryview(b"".join(each.read_bytes() for each in sorted(folder.glob("*.log"))))
        except FileNotFoundError:  # the cleaner puts another one in its place
            return False
        return sum(each.count or 0 for each in read_batches(data)) < 5

    def one_is_cleaned() -> bool:
        _batches(replicated, unique, [b"more"])
        return cleaned(node)

    eventually(one_is_cleaned)
    rows = _verify(replicated, unique, status=0)
    assert len(rows) == 3
    assert all(each["end"] >= 6 for each in rows)


def test_replicas_are_equal_after_their_leaders_were_killed(
    replicated: KafkaCluster, unique: str
) -> None:
    """What Kafka's replica_basic_test was about."""
    create_topic(replicated.bootstrap, unique, replication_factor=3)
    for turn in range(2):
        leader = _metadata(replicated, unique).leader
        produce(replicated.bootstrap, unique, numbered(1_000 * turn, 500), settings=_IN_ORDER)
        replicated.kill(leader - 1)
        produce(replicated.bootstrap, unique, numbered(1_000 * turn + 500, 500), settings=_IN_ORDER)
        replicated.restart(leader - 1)
        _in_sync_again(replicated, unique)
    eventually(
        lambda: [(each["end"], each["result"]) for each in _verify(replicated, unique, status=0)],
        until=lambda rows: rows == [(2_000, "equal")] * 3,
    )
    found = consume(replicated.bootstrap, unique, 2_000)
    assert [each.value for each in found] == [b"%d" % number for number in range(2_000)]
