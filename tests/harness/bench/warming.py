"""
Brokers that have their code compiled.

A JVM compiles what it does often, on cores that whoever is measured needs; the faster of two
mirrors would meet more of it.
"""

from __future__ import annotations

import asyncio
import time
from itertools import cycle
from typing import Final

from mm2.core.model import TopicName, TopicPartition
from mm2.demo.raw_cluster import RawCluster
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.requests.fetch import FetchRequest
from mm2.kafka.wire.wire_client import WireClient
from tests.harness.bench.fill import batches
from tests.support.records import create_topic

_TOPIC: Final = "warm"
_PARTITIONS: Final = 4
_CODECS: Final = ("none", "lz4", "zstd")
_SHAPES: Final = ((100, 150), (1_000, 16))
"""Bytes of a record, and records of a batch."""

_FETCHED: Final = 256 << 10


def warm(bootstrap: str, seconds: float, *, replicas: int = 1) -> None:
    """
    Writes to a cluster and reads from it for so long.

    Args:
        bootstrap: of the cluster.
        seconds: half a minute compiles it all on a machine that is not busy.
        replicas: of what is written.
    """
    create_topic(bootstrap, _TOPIC, _PARTITIONS, replication_factor=replicas)
    asyncio.run(_warm(bootstrap, time.monotonic() + seconds))


async def _warm(bootstrap: str, until: float) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_write(bootstrap, until))
        group.create_task(_read(bootstrap, until))


async def _write(bootstrap: str, until: float) -> None:
    made = [batch for codec in _CODECS for shape in _SHAPES for batch in batches(codec, *shape)]
    async with RawCluster(_TOPIC, bootstrap) as cluster:
        for batch in cycle(made):
            await cluster.write(dict.fromkeys(_partitions(), batch))
            if time.monotonic() > until:
                return


async def _read(bootstrap: str, until: float) -> None:
    client = WireClient(_TOPIC, aiokafka_settings({"bootstrap.servers": bootstrap}))
    await client.start()
    try:
        await client.track([_TOPIC])
        while time.monotonic() < until:
            for partition in _partitions():
                await _fetch(client, partition)
    finally:
        await client.close()


async def _fetch(client: WireClient, partition: TopicPartition) -> None:
    """Fetches what the partition begins with, again and again."""
    leader = client.leader(partition)
    if leader is None:
        await client.refresh()
        return
    request = FetchRequest(
        max_wait_ms=1,
        min_bytes=1,
        max_bytes=_FETCHED,
        read_committed=False,
        topics={partition.topic: [(partition.partition, 0, _FETCHED)]},
    )
    await client.fetch(leader, request)


def _partitions() -> list[TopicPartition]:
    return [TopicPartition(TopicName(_TOPIC), number) for number in range(_PARTITIONS)]
