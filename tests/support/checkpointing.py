"""
A flow of checkpoints between two real clusters, with offset syncs that are written by hand.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

from flows.checkpoint.checkpoint_flow import run_checkpoints
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import load_maker
from mm2.config.offset_topics import offset_runs_topic, offset_syncs_topic
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.model import TopicPartition as OurPartition
from mm2.core.policy import build_policy
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import UNKNOWN_LOGS, Block, Logs, Run, Runs
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.flow_clusters import admin_clients
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.groups import group_offsets
from tests.support.mirror import properties
from tests.support.records import (
    Sample,
    commit_group,
    consume,
    create_topic,
    produce,
)

Emitted = tuple[str, int, int, int]
"""Group, partition, upstream offset, downstream offset."""


@dataclass(frozen=True, slots=True)
class Pair:
    """
    One flow between the two clusters, with aliases of its own, and a topic that it mirrors.
    """

    source: str
    target: str
    config: FlowConfig
    topic: str

    @property
    def remote(self) -> str:
        return f"{self.config.flow.source}.{self.topic}"

    @property
    def checkpoints(self) -> str:
        return f"{self.config.flow.source}.checkpoints.internal"

    @asynccontextmanager
    async def with_topics(self) -> AsyncIterator[None]:
        """Makes the internal topics without running anything."""
        async with admin_clients(self.config) as clusters:
            policy = build_policy(self.config.source.properties)
            for on_source in (False, True):
                await create_internal_topics(self.config, policy, clusters, on_source=on_source)
            yield

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the flow; it must not end by itself."""
        async with self.with_topics(), admin_clients(self.config) as clusters:
            flow = asyncio.create_task(run_checkpoints(self.config, clusters), name="checkpoints")
            try:
                yield
                assert not flow.done()
            finally:
                flow.cancel()
                with suppress(asyncio.CancelledError):
                    await flow

    def commit(self, group: str, offsets: Mapping[int, int]) -> None:
        """Commits offsets of the topic's partitions on the source."""
        commit_group(self.source, group, {(self.topic, n): at for n, at in offsets.items()})

    def sync(self, *syncs: tuple[int, int, int]) -> None:
        """Writes offset syncs: partition, upstream, downstream."""
        at_source = self.config.checkpoint.offset_syncs_location == "source"
        where = offset_syncs_topic(self.config, build_policy(self.config.source.properties))
        samples = [
            Sample(
                key=text_bytes(self.topic) + struct.pack(">i", n),
                value=struct.pack(">qq", up, down),
            )
            for n, up, down in syncs
        ]
        produce(self.source if at_source else self.target, where, samples)

    async def logs(self) -> Logs:
        """The ids that the topic and its copy have now."""
        async with admin_clients(self.config) as clusters:
            here, there = TopicName(self.topic), TopicName(self.remote)
            on_source = await clusters.source.topic_ids([here])
            on_target = await clusters.target.topic_ids([there])
        return Logs(on_source.get(here), on_target.get(there))

    def exact_runs(self, start: int, end: int, *runs: Run, logs: Logs = UNKNOWN_LOGS) -> None:
        """Writes what is known of the source offsets from ``start`` to ``end`` of partition 0."""
        at_source = self.config.checkpoint.offset_syncs_location == "source"
        where = OurPartition(TopicName(self.topic), 0)
        value = encode_value(Block(start, end, Runs(runs), logs))
        produce(
            self.source if at_source else self.target,
            offset_runs_topic(self.config),
            [Sample(key=encode_key(where, start), value=value)],
        )

    def raw(self) -> list[Sample]:
        """All records of the checkpoints topic."""
        consumer = Consumer({"bootstrap.servers": self.target, "group.id": "unused"})
        try:
            where = TopicPartition(self.checkpoints, 0)
            end = consumer.get_watermark_offsets(where, timeout=60)[1]
        except KafkaException as error:
            raise AssertionError("the topic does not appear") from error
        finally:
            consumer.close()
        return consume(self.target, self.checkpoints, end) if end else []

    async def emitted(self, count: int) -> list[Emitted]:
        """The checkpoints in the order of their topic, once there are so many."""
        found = await eventually_async(
            lambda: asyncio.to_thread(self.raw), until=lambda found: len(found) >= count
        )
        return [_emitted(sample) for sample in found]

    async def emitted_until(self, last: Emitted) -> list[Emitted]:
        """All of them, once this one is the last."""

        async def seen() -> list[Emitted]:
            return [_emitted(sample) for sample in await asyncio.to_thread(self.raw)]

        return await eventually_async(seen, until=lambda found: found[-1:] == [last])

    def target_offsets(self, group: str) -> dict[int, int]:
        """What a group has committed on the target for the remote topic."""
        found = group_offsets(self.target, group)
        return {number: at for (topic, number), at in found.items() if topic == self.remote}


def text_bytes(text: str) -> bytes:
    """A text as in Java's records."""
    encoded = text.encode()
    return len(encoded).to_bytes(2, "big") + encoded


def _emitted(sample: Sample) -> Emitted:
    assert sample.key is not None
    assert sample.value is not None
    length = int.from_bytes(sample.key[:2], "big")
    upstream, downstream = struct.unpack_from(">qq", sample.value, 2)
    partition = int.from_bytes(sample.key[-4:], "big")
    return sample.key[2 : 2 + length].decode(), partition, upstream, downstream


def make_pair(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, folder: Path, settings: Mapping[str, str]
) -> Pair:
    """Makes the flow's configuration, the topic and its copy."""
    suffix = unique[-8:]
    source, target = f"s{suffix}", f"t{suffix}"
    every = {
        f"{source}->{target}.enabled": "true",
        "topics": f"orders-{suffix}",
        "groups": f".*-{suffix}",
        "sync.group.offsets.interval.seconds": "1",
    }
    file = folder / "mm2.properties"
    addresses = {source: cluster_a.bootstrap, target: cluster_b.bootstrap}
    file.write_text(properties(addresses, {**every, **settings}))
    config = flow_config(
        load_maker(file), SourceAndTarget(ClusterAlias(source), ClusterAlias(target))
    )
    topic = f"orders-{suffix}"
    create_topic(cluster_a.bootstrap, topic, 2)
    remote = f"{source}.{topic}"
    create_topic(cluster_b.bootstrap, remote, 2)
    # No group is given an offset that the log has not reached.
    samples = [Sample(value=b"x", partition=number) for number in (0, 1) for _ in range(300)]
    produce(cluster_b.bootstrap, remote, samples)
    return Pair(cluster_a.bootstrap, cluster_b.bootstrap, config, topic)
