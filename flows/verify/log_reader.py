"""
Reads a range of a partition as batches that are not compressed.

Records that no consumer sees are left out: transaction markers, and aborted records if only
committed ones are wanted. The next fetch is under way while the last one is decoded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from flows.source.fetch.aborted_transactions import AbortedTransactions
from flows.source.forward.recode import encode, records_of
from flows.source.forward.record_batch import HEADER_SIZE, MAGIC, Batch, plain, split
from flows.verify.ask_again import ask_again
from mm2.core.model import TopicPartition
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.compression import MOST_PLAIN, NONE, UNCOMPRESSED, decompress
from mm2.kafka.wire.error_codes import RETRIABLE, Code, code_name
from mm2.kafka.wire.requests.fetch import FetchedPartition, FetchRequest
from mm2.kafka.wire.requests.list_offsets import EARLIEST
from mm2.kafka.wire.wire_client import WireClient

_FETCH_BYTES: Final = 8 << 20
_WAIT_MS: Final = 200


class LogPart(NamedTuple):
    """
    What one fetch has brought.

    Attributes:
        data: batches of format v2, not compressed; the first and the last may reach beyond the
            range that was asked for.
        is_behind_gap: whether records before it were deleted while the log was read.
    """

    data: bytes
    is_behind_gap: bool


@asynccontextmanager
async def connected(
    alias: str, properties: Mapping[str, str], topic: str
) -> AsyncIterator[WireClient]:
    """
    A client of a cluster that knows who leads the partitions of a topic.

    Raises:
        ClusterError: the cluster does not answer, or refuses.
        ConfigError: a setting cannot be used.
    """
    client = WireClient(alias, aiokafka_settings(properties))
    try:
        await client.start()
        await client.track([topic])
        yield client
    finally:
        await client.close()


class LogReader:
    """
    Reads one range.

    Args:
        client: of the cluster; tracks the topic.
        span: the first offset, and the one behind the last.
        read_committed: whether records of aborted transactions are left out.
        most_plain: bytes that may come out of one batch.
    """

    def __init__(
        self,
        client: WireClient,
        where: TopicPartition,
        span: tuple[int, int],
        *,
        read_committed: bool,
        most_plain: int = MOST_PLAIN,
    ) -> None:
        self._client = client
        self._where = where
        self._position, self._end = span
        self._read_committed = read_committed
        self._most_plain = most_plain
        self._is_behind_gap = False

    async def parts(self) -> AsyncGenerator[LogPart, None]:
        """
        What the range holds, in order; less if the log ends before.

        Raises:
            ClusterError: the leader does not answer for a minute, or refuses.
            ValueError: a batch cannot be read.
        """
        fetching = self._begin()
        try:
            while fetching is not None:
                answer, is_behind_gap = await fetching, self._is_behind_gap
                self._is_behind_gap = False
                batches = list(split(answer.records))
                if batches:
                    self._position = batches[-1].last_offset + 1
                fetching = self._begin()
                data = await asyncio.to_thread(self._decoded, batches, answer)
                if data or is_behind_gap:
                    yield LogPart(data, is_behind_gap)
        finally:
            if fetching is not None:
                fetching.cancel()

    def _begin(self) -> asyncio.Task[FetchedPartition] | None:
        if self._position >= self._end:
            return None
        return asyncio.create_task(self._next(), name=f"fetch-{self._where}")

    async def _next(self) -> FetchedPartition:
        """The next answer that has records; an empty one if there are none any more."""
        return await ask_again(self._client, self._fetch_records)

    async def _fetch_records(self) -> FetchedPartition:
        answer = await self._fetch()
        if not len(answer.records) and self._position < self._end:
            message = f"{self._where}: no records from offset {self._position} on"
            raise Unavailable(self._client.alias, message)
        return answer

    async def _fetch(self) -> FetchedPartition:
        if (node := self._client.leader(self._where)) is None:
            raise Unavailable(self._client.alias, f"{self._where} has no leader")
        await asyncio.sleep(self._client.throttle.delay(node))
        asked = [(self._where.partition, self._position, _FETCH_BYTES)]
        request = FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=_FETCH_BYTES,
            read_committed=self._read_committed,
            topics={self._where.topic: asked},
        )
        partitions = (await self._client.fetch(node, request)).partitions
        if not partitions:
            raise Unavailable(self._client.alias, f"no answer about {self._where}")
        if (error := partitions[0].error) == Code.OFFSET_OUT_OF_RANGE:
            await self._pass_deleted()
        elif error:
            message = f"{self._where}: {code_name(error)}"
            kind = Unavailable if error in RETRIABLE else ClusterError
            raise kind(self._client.alias, message)
        return partitions[0]

    async def _pass_deleted(self) -> None:
        """Goes on where the log begins now, or ends where it has lost its end."""
        starts = await self._client.list_offsets([self._where], EARLIEST)
        if (start := starts.get(self._where)) is None:
            raise Unavailable(self._client.alias, f"no answer about {self._where}")
        self._is_behind_gap |= start > self._position
        self._position = min(start, self._end) if start > self._position else self._end

    def _decoded(self, batches: list[Batch], answer: FetchedPartition) -> bytes:
        return b"".join(self._each_plain(batches, answer.aborted))

    def _each_plain(
        self, batches: list[Batch], aborted: tuple[tuple[int, int], ...]
    ) -> Iterator[memoryview | bytes]:
        void = AbortedTransactions(aborted if self._read_committed else ())
        for batch in batches:
            batch.verify()
            if void.is_void(batch):
                continue
            if batch.magic < MAGIC:
                yield from self._upgraded(batch)
            elif batch.codec == NONE:
                yield batch.data
            else:
                payload = batch.data[HEADER_SIZE:]
                yield plain(batch, decompress(batch.codec, payload, most=self._most_plain))

    def _upgraded(self, batch: Batch) -> Iterator[bytes]:
        """Messages of older formats, each as a batch: their offsets need not be consecutive."""
        for record in records_of(batch, self._most_plain):
            data = bytearray(encode([record], UNCOMPRESSED).data)
            data[:8] = record.offset.to_bytes(8, "big")
            yield bytes(data)
