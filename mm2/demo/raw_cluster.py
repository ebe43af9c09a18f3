"""A cluster's logs, batch by batch: what clients do not show."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping
from types import TracebackType
from typing import Final, Self

from mm2.core.model import TopicName, TopicPartition
from mm2.demo.raw_batches import RawRecord, decode
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.error_codes import code_name
from mm2.kafka.wire.requests.fetch import FetchRequest
from mm2.kafka.wire.requests.list_offsets import LATEST
from mm2.kafka.wire.wire_client import WireClient

_BYTES: Final = 1 << 20
_NO_LEADER_S: Final = 0.1
_DEADLINE_S: Final = 60.0


class RawCluster:
    """
    Reads and writes batches of one cluster; an asynchronous context.

    Args:
        alias: for messages.
        bootstrap: its address.
    """

    def __init__(self, alias: str, bootstrap: str) -> None:
        self._client = WireClient(alias, aiokafka_settings({"bootstrap.servers": bootstrap}))
        self.alias = alias
        self._topics: set[str] = set()

    async def __aenter__(self) -> Self:
        await self._client.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self._client.close()

    async def ends(self, topics: Mapping[str, int]) -> dict[TopicPartition, int]:
        """The end of each partition of these topics; those that do not exist (yet) are left out."""
        partitions = _partitions(topics)
        await self._know(topics, partitions)
        return await self._client.list_offsets(partitions, LATEST)

    async def read(self, partition: TopicPartition, offset: int) -> list[RawRecord]:
        """Some records from ``offset`` on; none when there are none (yet)."""
        leader = self._client.leader(partition)
        if leader is None:
            return []
        request = FetchRequest(
            max_wait_ms=1,
            min_bytes=1,
            max_bytes=_BYTES,
            read_committed=False,
            topics={partition.topic: [(partition.partition, offset, _BYTES)]},
        )
        (answer,) = (await self._client.fetch(leader, request)).partitions
        return [record for record in decode(answer.records) if record.offset >= offset]

    async def write(self, batches: Mapping[TopicPartition, bytes]) -> None:
        """
        Appends one batch to each partition.

        Raises:
            RuntimeError: the cluster refuses one for too long.
        """
        left = dict(batches)
        deadline = time.monotonic() + _DEADLINE_S
        while left:
            await self._know({partition.topic for partition in left}, left)
            refused = await self._try(left)
            if refused and time.monotonic() > deadline:
                raise RuntimeError(f"cluster {self.alias} refuses hand-made records: {refused}")

    async def _try(self, left: dict[TopicPartition, bytes]) -> list[str]:
        """Sends what has a leader and drops what is written; returns the errors."""
        leader = next((node for node in map(self._client.leader, left) if node is not None), None)
        if leader is None:
            return ["no leader"]
        entries = [
            (where.topic, where.partition, batch)
            for where, batch in left.items()
            if self._client.leader(where) == leader
        ]
        answers = (await self._client.produce(leader, entries, timeout_ms=10_000)).partitions
        for answer in answers:
            if not answer.error:
                del left[TopicPartition(TopicName(answer.topic), answer.partition)]
        if left:
            # A new topic's leader may not know yet that it is.
            await asyncio.sleep(_NO_LEADER_S)
            await self._client.refresh()
        return [code_name(answer.error) for answer in answers if answer.error]

    async def _know(self, topics: Iterable[str], partitions: Collection[TopicPartition]) -> None:
        if not self._topics.issuperset(topics):
            self._topics |= set(topics)
            await self._client.track(self._topics)
        elif any(self._client.leader(partition) is None for partition in partitions):
            await asyncio.sleep(_NO_LEADER_S)
            await self._client.refresh()


def _partitions(topics: Mapping[str, int]) -> list[TopicPartition]:
    return [
        TopicPartition(TopicName(topic), number)
        for topic, count in topics.items()
        for number in range(count)
    ]
