"""
A partition of a log to which one process at a time appends.

Who takes it has the brokers refuse the producers of all who had it before (``fencing``). Batches
are sent one after the other, each until the brokers have answered for good, and with the same
sequence number, so that none is appended twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from mm2.clock import now_ms
from mm2.core.model import TopicPartition
from mm2.errors import ClusterError, NotAuthorized, Unavailable
from mm2.kafka.wire.error_codes import FENCED, SEQUENCE_LOST, TOO_LARGE, Code, code_name
from mm2.kafka.wire.fencing import fencing_identity
from mm2.kafka.wire.grouped_requests import GroupedRequests
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.list_offsets import LATEST
from mm2.kafka.wire.requests.produce import ProducedPartition
from mm2.kafka.wire.wire_client import WireClient

LogRecord = tuple[bytes, bytes | None]
"""Key and value; a value of None is a tombstone."""

_TAKE_S: Final = 30.0
_PAUSE_S: Final = 0.1
_MOST_PAUSE_S: Final = 1.0
_TRANSACTION_MS: Final = 10_000
_ACKNOWLEDGE_MS: Final = 5_000
_SEQUENCES: Final = 1 << 31
_BATCH_BYTES: Final = 32 << 20
_REQUEST_BYTES: Final = 32 << 20
"""Of several batches; a broker closes the connection above ``socket.request.max.bytes``."""

_TAKEN_OVER: Final = FENCED | SEQUENCE_LOST | {Code.DUPLICATE_SEQUENCE_NUMBER}
"""
Somebody else has the log, or may have.

A duplicate has been appended before, but where is not told; so it has to be read.
"""


class TakenOver(ClusterError):
    """Somebody else has taken the partition: what was appended last may be there or not."""


class BatchTooLarge(ClusterError):
    """The brokers take no batch of this size; nothing of it was appended."""


class ExclusiveLogs:
    """
    The partitions of one topic, with requests that they share.

    Args:
        client: of the cluster; it tracks the topic.
        compression: number of the codec.
    """

    def __init__(self, client: WireClient, *, compression: int) -> None:
        self.client = client
        self.compression = compression
        self.produces: GroupedRequests[bytearray, ProducedPartition] = GroupedRequests(
            client.alias, self._produce
        )
        self.ends: GroupedRequests[bool, int] = GroupedRequests(client.alias, self._ends)

    def partition(self, where: TopicPartition, transactional_id: str) -> ExclusiveLog:
        """One of them."""
        return ExclusiveLog(self, where, transactional_id)

    async def _produce(
        self, node: int, batches: Mapping[TopicPartition, bytearray]
    ) -> Mapping[TopicPartition, ProducedPartition]:
        listed: list[tuple[str, int, bytearray]] = []
        size = 0
        for where, batch in batches.items():
            if listed and size + len(batch) > _REQUEST_BYTES:
                break  # what is left without an answer is sent again
            listed.append((where.topic, where.partition, batch))
            size += len(batch)
        answer = await self.client.produce(node, listed, timeout_ms=_ACKNOWLEDGE_MS)
        answers = {(each.topic, each.partition): each for each in answer.partitions}
        return {each: answers[each] for each in batches if each in answers}

    async def _ends(
        self, _node: int, asked: Mapping[TopicPartition, bool]
    ) -> Mapping[TopicPartition, int]:
        return await self.client.list_offsets(asked, LATEST)


class ExclusiveLog:
    """
    One partition.

    Attributes:
        where: which one.
    """

    def __init__(self, logs: ExclusiveLogs, where: TopicPartition, transactional_id: str) -> None:
        self.where = where
        self._logs = logs
        self._id = transactional_id
        self._identity = ProducerIdentity(-1, -1)
        self._sequence = 0

    async def take(self) -> int:
        """
        Has the brokers refuse whoever had it before; returns where the log ends then.

        Raises:
            Fenced: somebody takes it at the same time.
            ClusterError: the brokers do not answer in time, or refuse us.
        """
        client = self._logs.client
        self._identity = await fencing_identity(
            client,
            self._id,
            [self.where],
            flow=self._id,
            transaction_timeout_ms=_TRANSACTION_MS,
            within_s=_TAKE_S,
        )
        self._sequence = 0
        try:
            async with asyncio.timeout(_TAKE_S):
                return await self._stable_end()
        except TimeoutError as error:
            raise Unavailable(client.alias, f"the end of {self.where} is not known") from error

    async def _stable_end(self) -> int:
        """The end, once no transaction of anybody's is open before it: readers get that far."""
        while True:
            client = self._logs.client
            ends = await client.list_offsets([self.where], LATEST)
            stable = await client.list_offsets([self.where], LATEST, read_committed=True)
            if self.where in ends and stable.get(self.where, -1) >= ends[self.where]:
                return ends[self.where]
            await asyncio.sleep(_PAUSE_S)
            await client.refresh()

    async def end(self) -> int:
        """
        Where the log ends, asked after the call.

        Raises:
            Unavailable: nobody says.
        """
        node = self._logs.client.leader(self.where)
        with suppress(Unavailable):
            if node is not None:
                return await self._logs.ends.ask(node, self.where, True)  # noqa: FBT003 - unused
        await self._logs.client.refresh()
        raise Unavailable(self._logs.client.alias, f"nobody says where {self.where} ends")

    async def append(self, records: Sequence[LogRecord]) -> int:
        """
        Appends records as one batch; returns the first one's offset once all replicas have it.

        Does not give up while the brokers may have the batch.

        Raises:
            TakenOver: somebody else has the log.
            BatchTooLarge: the batch is.
            ClusterError: we may not write.
        """
        batch, pause_s = self._batch(records), _PAUSE_S
        while True:
            code, base_offset = await self._attempt(batch)
            if code == Code.NONE:
                self._sequence = (self._sequence + len(records)) % _SEQUENCES
                return base_offset
            self._raise_if_final(code)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _MOST_PAUSE_S)

    async def _attempt(self, batch: bytearray) -> tuple[int, int]:
        client = self._logs.client
        try:
            node = client.leader(self.where)
            if node is not None:
                answer = await self._logs.produces.ask(node, self.where, batch)
                if answer.error == Code.NONE or _is_final(answer.error):
                    return answer.error, answer.base_offset
            await client.refresh()
        except Unavailable:
            try:
                await client.refresh()
            except Unavailable:
                return Code.NETWORK_EXCEPTION, -1
        return Code.NOT_LEADER_OR_FOLLOWER, -1

    def _raise_if_final(self, code: int) -> None:
        alias, what = self._logs.client.alias, f"append to {self.where}: {code_name(code)}"
        if code in _TAKEN_OVER:
            raise TakenOver(alias, what)
        if code in TOO_LARGE:
            raise BatchTooLarge(alias, what)
        if code == Code.TOPIC_AUTHORIZATION_FAILED:
            raise NotAuthorized(alias, f"{what}: it needs Write on the topic")

    def _batch(self, records: Sequence[LogRecord]) -> bytearray:
        builder = DefaultRecordBatchBuilder(
            magic=2,
            compression_type=self._logs.compression,
            is_transactional=0,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            base_sequence=self._sequence,
            batch_size=_BATCH_BYTES,
        )
        time_ms = now_ms()
        for offset, (key, value) in enumerate(records):
            if builder.append(offset, time_ms, key, value, []) is None:
                what = f"append to {self.where}: the batch is over {_BATCH_BYTES} bytes"
                raise BatchTooLarge(self._logs.client.alias, what)
        return bytearray(builder.build())


def _is_final(code: int) -> bool:
    return code in _TAKEN_OVER or code in TOO_LARGE or code == Code.TOPIC_AUTHORIZATION_FAILED
