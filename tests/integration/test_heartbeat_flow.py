"""
Heartbeats on a real cluster.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from flows.heartbeat.flow import run_heartbeats
from mm2.config.flow import FlowConfig, flow_config
from mm2.config.maker import load_maker
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.core.policy import build_policy
from mm2.herder.clusters import admin_clients
from mm2.herder.topics import create_internal_topics
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.mirror import properties
from tests.support.records import Sample, consume

pytestmark = pytest.mark.broker


@pytest.fixture
def config(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> FlowConfig:
    suffix = unique[-8:]
    source, target = ClusterAlias(f"s{suffix}"), ClusterAlias(f"t{suffix}")
    settings = {f"{source}->{target}.enabled": "false", "emit.heartbeats.interval.seconds": "1"}
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
        end = consumer.get_watermark_offsets(TopicPartition("heartbeats", 0), timeout=10)[1]
    finally:
        consumer.close()
    return [sample for sample in consume(bootstrap, "heartbeats", end) if sample.key == key]


async def test_a_disabled_flow_still_sends_javas_heartbeats_each_second_after_the_first(
    config: FlowConfig, cluster_b: Cluster
) -> None:
    """C311, C316, C317."""
    key = _text(config.flow.source) + _text(config.flow.target)
    begun_ms = time.time() * 1000
    async with _beating(config):
        beats = await eventually_async(
            lambda: asyncio.to_thread(_own, cluster_b.bootstrap, key),
            until=lambda found: len(found) >= 2,
        )
    first, second = (beat.timestamp_ms or 0 for beat in beats[:2])
    assert first >= begun_ms + 1000
    assert 900 <= second - first <= 3000
    assert [beat.value for beat in beats[:2]] == [
        b"\x00\x00" + stamp.to_bytes(8, "big") for stamp in (first, second)
    ]
    assert {beat.partition for beat in beats} == {0}
