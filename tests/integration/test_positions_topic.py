"""The positions topic as others have made it: with any number of partitions, and old records."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.connect.offset_records import SourcePartition, encode_key, encode_offset
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.herder.offsets.position_store import PositionStore
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, committed, create_topic, produce

pytestmark = pytest.mark.broker

_PARTITIONS = 5


def _values(bench: Bench) -> list[bytes | None]:
    (topic,) = bench.topics
    return [sample.value for sample in committed(bench.target.bootstrap, bench.remote(topic))]


def _write(bench: Bench, *values: bytes) -> None:
    (topic,) = bench.topics
    produce(bench.source.bootstrap, topic, [Sample(value=value) for value in values])


def _key(topic: str) -> bytes:
    source = SourcePartition(ClusterAlias("A"), TopicName(topic), 0)
    return encode_key("MirrorSourceConnector", source)


def _stored_in(bench: Bench, partition: int) -> list[bytes | None]:
    """The positions in one partition of their topic."""
    batches = log_of(bench.target.bootstrap, f"{bench.unique}-offsets", partition=partition)
    return [record.value for record in records_in(batches)]


@pytest.mark.parametrize("exactly_once", [False, True])
def test_positions_follow_their_topic_and_the_newest_counts(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, *, exactly_once: bool
) -> None:
    """A position of another number of partitions is ahead, and one is behind: none of them wins."""
    # With five partitions, the key is not where it is with one.
    topic = next(
        name
        for name in (f"{unique}-{number}" for number in range(50))
        if 0 < partition_for(_key(name), _PARTITIONS) < _PARTITIONS - 1
    )
    home = partition_for(_key(topic), _PARTITIONS)
    create_topic(cluster_a.bootstrap, topic)
    target = {
        "bootstrap.servers": cluster_b.bootstrap,
        "client.id": "test-producer",
        "metadata.max.age.ms": "1500",
    }
    bench = Bench(
        cluster_a,
        cluster_b,
        unique,
        {topic: 1},
        exactly_once=exactly_once,
        offsets_partitions=1,
        changes={"target": target},
    )
    positions = f"{unique}-offsets"
    with bench.running():
        _write(bench, b"0", b"1")
        eventually(partial(_values, bench), until=lambda found: len(found) == 2)
        eventually(lambda: _stored_in(bench, 0))
        admin = AdminClient({"bootstrap.servers": cluster_b.bootstrap})
        admin.create_partitions([NewPartitions(positions, _PARTITIONS)])[positions].result(60)

        def moved() -> bool:
            _write(bench, b"x")
            return bool(_stored_in(bench, home))

        eventually(moved)
    stale = [
        Sample(key=_key(topic), value=encode_offset(500), partition=_PARTITIONS - 1, timestamp_ms=9)
    ]
    produce(cluster_b.bootstrap, positions, stale)
    with bench.running():
        _write(bench, b"last")
        eventually(partial(_values, bench), until=lambda found: b"last" in found)
        eventually(lambda: bench.progress()[topic, 0].contested)
    written = [sample.value for sample in committed(cluster_a.bootstrap, topic)]
    assert _values(bench) == written


def _flow(source: str, target: str, target_bootstrap: str) -> FlowConfig:
    raw = {
        "clusters": f"{source}, {target}",
        f"{source}.bootstrap.servers": "nowhere:1",
        f"{target}.bootstrap.servers": target_bootstrap,
        f"{source}->{target}.enabled": "true",
        f"{target}.offset.storage.partitions": "-1",
    }
    flow = SourceAndTarget(ClusterAlias(source), ClusterAlias(target))
    return flow_config(MirrorMakerConfig(raw=raw), flow)


async def test_what_an_operator_does_is_the_newest_though_a_stale_record_is_of_a_later_time(
    cluster_b: Cluster, unique: str
) -> None:
    config = _flow(unique, "B", cluster_b.bootstrap)
    where = TopicPartition(TopicName("orders"), 0)
    key = encode_key("MirrorSourceConnector", SourcePartition(ClusterAlias(unique), *where))
    positions = f"mm2-offsets.{unique}.internal"
    create_topic(cluster_b.bootstrap, positions, 50, {"cleanup.policy": "compact"})
    stale = (partition_for(key, 50) + 1) % 50
    later_ms = time.time_ns() // 1_000_000 + 600_000
    record = Sample(key=key, value=encode_offset(9), partition=stale, timestamp_ms=later_ms)
    produce(cluster_b.bootstrap, positions, [record])
    store = PositionStore(config)
    assert await store.load() == {where: 9}
    await store.save({where: 3})
    assert await store.load() == {where: 3}
    await store.save({where: None})
    assert (await store.last())[0] == {where: None}
    last = records_in(
        await asyncio.to_thread(log_of, cluster_b.bootstrap, positions, partition=stale)
    )[-1]
    # Once deletions are compacted away, nothing older comes to light.
    assert (last.key, last.value) == (key, None)
