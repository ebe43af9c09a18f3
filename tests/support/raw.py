"""
Whole batches written to and read from real clusters, with what client libraries would not show.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from flows.source.forward.record_batch import Batch, split
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.fetch import FetchRequest
from mm2.kafka.wire.requests.list_offsets import EARLIEST, LATEST
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, read_batch
from tests.support.eventually import PATIENCE_S, eventually_async

_MOST = 64 << 20
_NO_LEADER_YET = (
    Code.UNKNOWN_TOPIC_OR_PARTITION,
    Code.LEADER_NOT_AVAILABLE,
    Code.NOT_LEADER_OR_FOLLOWER,
)


@asynccontextmanager
async def wire(bootstrap: str, *topics: str) -> AsyncIterator[WireClient]:
    """A client that knows the topics' leaders."""
    client = WireClient("test", aiokafka_settings({"bootstrap.servers": bootstrap}))
    try:
        await client.start()
        await client.track(topics)
        yield client
    finally:
        await client.close()


def append(
    bootstrap: str, topic: str, *batches: bytes, partition: int = 0
) -> list[tuple[int, int]]:
    """
    Appends batches one by one; gives back the brokers' error codes and base offsets.

    A broker that does not lead a new partition yet is asked again.
    """

    async def send() -> list[tuple[int, int]]:
        async with wire(bootstrap, topic) as client:
            return [await append_batch(client, topic, partition, batch) for batch in batches]

    return asyncio.run(send())


async def append_batch(
    client: WireClient, topic: str, partition: int, batch: bytes | bytearray
) -> tuple[int, int]:
    """Appends one batch; asks again where nobody leads yet."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            node = client.leader(TopicPartition(TopicName(topic), partition))
            if node is not None:
                sent = [(topic, partition, batch)]
                (answer,) = (await client.produce(node, sent, timeout_ms=10_000)).partitions
                if answer.error not in _NO_LEADER_YET:
                    return answer.error, answer.base_offset
            await asyncio.sleep(0.05)
            await client.refresh()


def write(bootstrap: str, topic: str, *batches: bytes, partition: int = 0) -> None:
    """Appends batches that the brokers must take."""
    answers = append(bootstrap, topic, *batches, partition=partition)
    assert [error for error, _ in answers] == [Code.NONE] * len(batches)


def log_of(bootstrap: str, topic: str, *, partition: int = 0) -> list[Batch]:
    """All batches that a partition holds, markers among them."""

    async def fetch() -> list[Batch]:
        where = TopicPartition(TopicName(topic), partition)
        async with wire(bootstrap, topic) as client:
            node, position, end = await eventually_async(partial(_answering, client, where))
            batches: list[Batch] = []
            while position < end:
                answer = await client.fetch(node, _request(topic, partition, position))
                found = list(split(memoryview(bytes(answer.partitions[0].records))))
                batches += found
                position = max([found[-1].last_offset + 1] if found else [end])
        return batches

    return asyncio.run(fetch())


async def _answering(client: WireClient, where: TopicPartition) -> tuple[int, int, int]:
    """The leader, which may not answer yet for a new partition, and both ends of its log."""
    node = client.leader(where)
    first, last = [await client.list_offsets([where], at) for at in (EARLIEST, LATEST)]
    if node is None or where not in first or where not in last:
        await client.refresh()
        raise AssertionError(f"the leader of {where} does not answer")
    return node, first[where], last[where]


def records_in(batches: Sequence[Batch]) -> list[Plain]:
    """The records of all batches but markers."""
    return [r for batch in batches if not batch.is_control for r in read_batch(batch.data)]


def contents(bootstrap: str, topic: str, *, partition: int = 0) -> list[tuple[object, ...]]:
    """What a mirror must keep of each record of a partition."""
    return [r.content for r in records_in(log_of(bootstrap, topic, partition=partition))]


def _request(topic: str, partition: int, position: int) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=200,
        min_bytes=1,
        max_bytes=_MOST,
        read_committed=False,
        topics={topic: [(partition, position, _MOST)]},
    )
