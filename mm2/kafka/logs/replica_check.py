"""
Compares the replicas of partitions, as Kafka's ReplicaVerificationTool does.

Brokers let consumers read from followers (KIP-392, Kafka 2.4), up to where the follower knows that
all replicas have what it has. So each replica is fetched from its own broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mm2.core.model import TopicPartition
from mm2.core.verification.replica_comparison import (
    LogEntry,
    ReplicaDifference,
    corrupt_entries,
    replica_differences,
)
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.logs.segment_file import SegmentBatch, read_batches, read_records
from mm2.kafka.wire.error_codes import Code, code_name
from mm2.kafka.wire.requests.fetch import FetchRequest
from mm2.kafka.wire.requests.list_offsets import EARLIEST, LATEST
from mm2.kafka.wire.requests.metadata import PartitionMetadata
from mm2.kafka.wire.wire_client import WireClient

_FETCH_BYTES: Final = 4 << 20
_WAIT_MS: Final = 500
_PAUSE_S: Final = 0.1
_AT_ONCE: Final = 8
_POLICY: Final = "cleanup.policy"
_COMPACT: Final = "compact"

_WAITS: Final = frozenset({Code.OFFSET_OUT_OF_RANGE, Code.OFFSET_NOT_AVAILABLE})
"""A follower that is behind does not know the offset yet."""


@dataclass(slots=True, kw_only=True)
class ReplicaCheck:
    """
    What was found about one replica.

    Attributes:
        begin: from which offset on it was compared.
        end: up to which offset it was to be compared.
        reached: up to which offset it was compared.
        differences: the first of them.
        found: how many differences there are.
        failure: why it was not compared up to the end; None if it was, or is just behind.
    """

    where: TopicPartition
    node: int
    is_leader: bool
    in_sync: bool
    begin: int
    end: int
    reached: int
    differences: list[ReplicaDifference] = field(default_factory=list)
    found: int = 0
    failure: str | None = None

    @property
    def behind(self) -> int:
        """Offsets that were not compared."""
        return self.end - self.reached

    @property
    def is_equal(self) -> bool:
        """Whether all of it was compared, and no difference found."""
        return not (self.found or self.behind or self.failure)


async def check_replicas(
    client: WireClient, partitions: Collection[TopicPartition], *, patience_s: float, most: int
) -> list[ReplicaCheck]:
    """
    Compares all replicas of tracked partitions, from their beginning up to their end as of now.

    Args:
        client: it tracks the partitions' topics.
        partitions: which.
        patience_s: how long a replica may have nothing new before it counts as behind.
        most: how many differences of a replica are kept; the others are counted.

    Raises:
        ClusterError: the cluster does not answer, or refuses us.
    """
    begins = await client.list_offsets(partitions, EARLIEST)
    ends = await client.list_offsets(partitions, LATEST)
    compacted = await _compacted(client, {each.topic for each in partitions})
    turns = asyncio.Semaphore(_AT_ONCE)
    checks = [
        _ReplicaPartition(
            client,
            where,
            begin=begins.get(where, -1),
            end=ends.get(where, -1),
            is_compacted=where.topic in compacted,
            patience_s=patience_s,
            most=most,
        )
        for where in sorted(partitions)
    ]
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(each.run(turns), name=str(each.where)) for each in checks]
    return [row for task in running for row in task.result()]


async def _compacted(client: WireClient, topics: Collection[str]) -> set[str]:
    settings = await client.topic_settings(topics, [_POLICY])
    return {topic for topic, found in settings.items() if _COMPACT in found.get(_POLICY, "")}


class _ReplicaPart(NamedTuple):
    """Part of a replica's log, up to an offset."""

    entries: list[LogEntry]
    until: int


_NOTHING: Final = _ReplicaPart([], -1)


class _ReplicaPartition:
    """One partition: reads all of its replicas from the same offset, again and again."""

    def __init__(
        self,
        client: WireClient,
        where: TopicPartition,
        *,
        begin: int,
        end: int,
        is_compacted: bool,
        patience_s: float,
        most: int,
    ) -> None:
        self.where = where
        self._client = client
        self._begin = begin
        self._end = end
        self._is_compacted = is_compacted
        self._patience_s = patience_s
        self._most = most

    async def run(self, turns: asyncio.Semaphore) -> list[ReplicaCheck]:
        """Compares them; the leader is first."""
        found = self._client.partition(self.where)
        if found is None or found.leader < 0 or self._begin < 0 or self._end < 0:
            return [self._unknown()]
        rows = self._rows(found)
        async with turns:
            await self._compare(rows)
        return rows

    def _unknown(self) -> ReplicaCheck:
        row = self._row(-1, is_leader=True, in_sync=False)
        row.failure = "nobody leads it"
        return row

    def _rows(self, found: PartitionMetadata) -> list[ReplicaCheck]:
        followers = [each for each in found.replicas if each != found.leader]
        return [
            self._row(node, is_leader=node == found.leader, in_sync=node in found.in_sync)
            for node in (found.leader, *followers)
        ]

    def _row(self, node: int, *, is_leader: bool, in_sync: bool) -> ReplicaCheck:
        begin, end = max(self._begin, 0), max(self._end, 0)
        return ReplicaCheck(
            where=self.where,
            node=node,
            is_leader=is_leader,
            in_sync=in_sync,
            begin=begin,
            end=end,
            reached=begin,
        )

    async def _compare(self, rows: list[ReplicaCheck]) -> None:
        leader, at, live = rows[0], self._begin, rows
        while at < self._end and not leader.failure:
            parts = await asyncio.gather(*(self._read(each, at) for each in live))
            read = {row.node: part for row, part in zip(live, parts, strict=True)}
            if read[leader.node] is _NOTHING:
                at = await self._later_begin(leader, at)
                continue
            live = [row for row in live if read[row.node] is not _NOTHING]
            until = min(self._end, *(read[row.node].until for row in live))
            self._note(live, read, at, until)
            at = until

    async def _later_begin(self, leader: ReplicaCheck, at: int) -> int:
        """Where the leader's log begins now: retention may have deleted what was to be read."""
        begins = await self._client.list_offsets([self.where], EARLIEST)
        if begins.get(self.where, -1) <= at:
            leader.failure = leader.failure or f"it has nothing at offset {at}"
        return max(begins.get(self.where, at), at)

    def _note(
        self, live: Sequence[ReplicaCheck], read: Mapping[int, _ReplicaPart], at: int, until: int
    ) -> None:
        leader = read[live[0].node].entries
        for row in live:
            entries = read[row.node].entries
            found = (
                corrupt_entries(leader, at, until)
                if row.is_leader
                else replica_differences(
                    leader, entries, at, until, is_compacted=self._is_compacted
                )
            )
            row.found += len(found)
            row.differences += found[: self._most - len(row.differences)]
            row.reached = until

    async def _read(self, row: ReplicaCheck, at: int) -> _ReplicaPart:
        """What a replica has from an offset on; nothing if it is behind, or does not answer."""
        clock = asyncio.get_running_loop().time
        patient_until = clock() + self._patience_s
        while True:
            try:
                code, found = await self._fetch(row.node, at)
            except Unavailable as error:
                row.failure = f"broker {row.node} does not answer: {error}"
                return _NOTHING
            except ClusterError as error:
                row.failure = str(error)
                return _NOTHING
            if code and code not in _WAITS:
                row.failure = f"broker {row.node} answers {code_name(code)}"
            if found is not _NOTHING or row.failure or clock() > patient_until:
                return found
            await asyncio.sleep(_PAUSE_S)

    async def _fetch(self, node: int, at: int) -> tuple[int, _ReplicaPart]:
        request = FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=_FETCH_BYTES,
            read_committed=False,
            topics={self.where.topic: [(self.where.partition, at, _FETCH_BYTES)]},
        )
        (answer,) = (await self._client.fetch(node, request)).partitions
        batches = [each for each in read_batches(answer.records) if _last(each) >= at]
        if not batches:
            return answer.error, _NOTHING
        found = [entry for each in batches for entry in self._entries(answer.records, each)]
        return answer.error, _ReplicaPart(found, _last(batches[-1]) + 1)

    def _entries(self, data: memoryview, batch: SegmentBatch) -> list[LogEntry]:
        """A batch as a whole; where replicas are compacted, its records."""
        first, last = batch.base_offset, _last(batch)
        records = read_records(data, batch) if self._is_compacted and batch.is_valid else None
        if records is None:
            return [LogEntry(first, last, batch.checksum, batch.is_valid)]
        return [LogEntry(each.offset, each.offset, hash(each)) for each in records]


def _last(batch: SegmentBatch) -> int:
    return batch.base_offset if batch.last_offset is None else batch.last_offset
