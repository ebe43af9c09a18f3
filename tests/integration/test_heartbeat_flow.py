"""
Heartbeats on a real cluster.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from flows.heartbeat.heartbeat_flow import run_heartbeats
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import load_maker
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.core.policy import build_policy
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.flow_clusters import admin_clients
from mm2.kafka.logs.read_log import read_to_end
from mm2.protocol.heartbeat_progress import decode_heartbeats
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.mirror import properties
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = pytest.mark.broker


@pytest.fixture
def config(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> FlowConfig:
    suffix = unique[-8:]
    source, target = ClusterAlias(f"s{suffix}"), ClusterAlias(f"t{suffix}")
    settings = {
        f"{source}->{target}.enabled": "false",
        "emit.heartbeats.interval.seconds": "1",
        "tasks.max": "4",
    }
    file = tmp_path / "mm2.properties"
    file.write_text(
        properties({source: cluster_a.bootstrap, target: cluster_b.bootstrap}, settings)
    )
    return flow_config(load_maker(file), SourceAndTarget(source, target))


@asynccontextmanager
async def _beating(config: FlowConfig) -> AsyncIterator[None]:
    async with admin_clients(config) as clusters:
        policy = build_policy(config.source.properties)
        for on_source in (False, True):
            await create_internal_topics(config, policy, clusters, on_source=on_source)
        flow = asyncio.create_task(run_heartbeats(config, clusters), name="heartbeats")
        try:
            yield
            assert not flow.done()
        finally:
            flow.cancel()
            with suppress(asyncio.CancelledError):
                await flow


def _text(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def _own(bootstrap: str, key: bytes) -> list[Sample]:
    """The flow's heartbeats; other tests may write to the topic too."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    try:
        end = consumer.get_watermark_offsets(TopicPartition("heartbeats", 0), timeout=60)[1]
    finally:
        consumer.close()
    return [sample for sample in consume(bootstrap, "heartbeats", end) if sample.key == key]


async def test_a_disabled_flow_still_sends_javas_heartbeats_each_second_after_the_first(
    config: FlowConfig, cluster_b: Cluster
) -> None:
    """C311, C312 (one task, whatever ``tasks.max`` is), C316, C317."""
    key = _text(config.flow.source) + _text(config.flow.target)
    begun_ms = time.time() * 1000
    async with _beating(config):
        # Where the machine stands still, one comes late.
        beats = await eventually_async(
            lambda: asyncio.to_thread(_own, cluster_b.bootstrap, key),
            until=lambda found: any(900 <= pause <= 1500 for pause in _pauses_ms(found)),
        )
    assert (beats[0].timestamp_ms or 0) >= begun_ms + 1000
    assert [beat.value for beat in beats] == [
        b"\x00\x00" + (beat.timestamp_ms or 0).to_bytes(8, "big") for beat in beats
    ]
    assert {beat.partition for beat in beats} == {0}


def _pauses_ms(beats: list[Sample]) -> list[int]:
    """The time between each and the next one."""
    times = [beat.timestamp_ms or 0 for beat in beats]
    return [later - earlier for earlier, later in pairwise(times)]


async def test_nothing_is_written_if_the_flow_ends_before_the_first_interval_has_passed(
    config: FlowConfig, cluster_b: Cluster
) -> None:
    """C317."""
    async with _beating(config):
        pass
    key = _text(config.flow.source) + _text(config.flow.target)
    # Where the topic is new, a client may not know it at once.
    await eventually_async(
        lambda: asyncio.to_thread(_own, cluster_b.bootstrap, key), until=lambda found: not found
    )


async def test_a_flow_reports_how_old_heartbeats_are_that_come_in_through_it(
    config: FlowConfig, cluster_b: Cluster
) -> None:
    source, target = config.flow.source, config.flow.target
    near, far = f"{source}.heartbeats", f"{source}.c{source}.heartbeats"
    now_ms = time.time_ns() // 1_000_000
    for topic, age_ms in ((near, 5_000), (far, 60_000)):
        create_topic(cluster_b.bootstrap, topic)
        produce(cluster_b.bootstrap, topic, [Sample(value=b"", timestamp_ms=now_ms - age_ms)])
    async with _beating(config):
        records = await eventually_async(
            lambda: read_to_end(
                target,
                {"bootstrap.servers": cluster_b.bootstrap},
                config.herder.names.progress_topic,
            )
        )
    report = decode_heartbeats(records[0].value)
    assert report.time_ms >= report.last_ms >= now_ms
    assert [(each.topic, each.way, each.hops) for each in report.ways] == [
        (far, (f"c{source}", source, target), 2),
        (near, (source, target), 1),
    ]
    assert [each.last_ms for each in report.ways] == [now_ms - 60_000, now_ms - 5_000]
    assert [each.last_ms + each.age_ms for each in report.ways] == [report.time_ms] * 2


async def test_heartbeats_go_through_the_transforms_of_their_connector(
    cluster_a: Cluster, cluster_b: Cluster, config: FlowConfig
) -> None:
    transforms = {
        "transforms": "mark,mask",
        "transforms.mark.type": "InsertHeader",
        "transforms.mark.header": "h",
        "transforms.mark.value.literal": "x",
        "transforms.mask.type": "MaskField$Value",
        "transforms.mask.fields": "f",
    }
    heartbeat = replace(config.heartbeat, properties={**config.heartbeat.properties, **transforms})
    key = _text(config.flow.source) + _text(config.flow.target)
    async with _beating(replace(config, heartbeat=heartbeat)):
        found = await eventually_async(lambda: asyncio.to_thread(_own, cluster_b.bootstrap, key))
    assert found[0].headers == (("h", b"x"),)
