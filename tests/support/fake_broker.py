"""
A cluster in memory that appends as Kafka's brokers do, and fails as they and networks do.

It keeps Kafka's rules for idempotent producers (``ProducerStateManager``, ``ProducerAppendInfo``):
the last five batches of a producer are remembered for each partition, a gap in the sequence is
refused, an older epoch is refused, a newer one begins at 0, and **a partition that knows nothing of
a producer takes any first sequence**. The broker tests hold the same scripts against real brokers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mm2.core.model import TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.metadata import PartitionMetadata
from mm2.kafka.wire.requests.produce import ProduceAnswer, ProducedPartition
from mm2.kafka.wire.throttle import Throttle
from tests.support.batches import Header, Plain, read_batch, read_header

POISON = b"poison"
"""A record with this key is refused for good."""

_SEQUENCES = 1 << 31
_LATENCY_S = 0.01
_THROTTLE_S = 0.5


class Trouble(StrEnum):
    """What may happen to a request."""

    NONE = "none"
    LOST_REQUEST = "lost request"
    LOST_RESPONSE = "lost response"
    DEAF_CLIENT = "lost responses, while the broker goes on with what it has received"
    SLOW = "slow"
    THROTTLED = "answered at once, and nothing more read for a while"
    OVERTAKEN = "overtaken by what was sent after it"
    NOT_LEADER = "not leader"
    NO_LEADER = "no leader for a while"
    NOT_ENOUGH_REPLICAS = "not enough replicas"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = "not enough replicas after append"
    CORRUPT = "corrupt"


@dataclass
class _Producer:
    epoch: int = -1
    last_sequence: int = -1
    recent: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=5))


@dataclass
class Log:
    """One partition; ``refused`` counts batches that were too large."""

    leader: int
    max_bytes: int = 1 << 20
    refused: int = 0
    records: list[Plain] = field(default_factory=list)
    producers: dict[int, _Producer] = field(default_factory=dict)

    def append(self, data: bytes) -> tuple[int, int]:
        """Kafka's error code, and the offset of the first record."""
        header = read_header(data)
        records = read_batch(data)
        assert [r.offset for r in records] == list(range(header.count)), "offsets with gaps"
        if len(data) > self.max_bytes:
            self.refused += 1
            return Code.MESSAGE_TOO_LARGE, -1
        if any(record.key == POISON for record in records):
            return Code.INVALID_RECORD, -1
        if header.producer_id < 0:
            return self._append(records)
        return self._append_idempotently(header, records)

    def _append(self, records: list[Plain]) -> tuple[int, int]:
        self.records += records
        return Code.NONE, len(self.records) - len(records)

    def _append_idempotently(self, header: Header, records: list[Plain]) -> tuple[int, int]:
        producer = self.producers.setdefault(header.producer_id, _Producer())
        last = (header.sequence + header.count - 1) % _SEQUENCES
        if header.epoch < producer.epoch:
            return Code.INVALID_PRODUCER_EPOCH, -1
        if header.epoch > producer.epoch:
            if header.sequence != 0 and producer.epoch >= 0:
                return Code.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            producer.recent.clear()
        else:
            for first, end, offset in producer.recent:
                if (first, end) == (header.sequence, last):
                    return Code.NONE, offset
            if header.sequence != (producer.last_sequence + 1) % _SEQUENCES:
                return Code.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
        code, offset = self._append(records)
        producer.epoch, producer.last_sequence = header.epoch, last
        producer.recent.append((header.sequence, last, offset))
        return code, offset


@dataclass
class _Connection:
    """Requests on it are served one after the other; when it breaks, the rest is not answered."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_broken: bool = False
    is_deaf: bool = False
    muted_until: float = 0.0


def _now() -> float:
    return asyncio.get_running_loop().time()


class FakeCluster:
    """
    Speaks what ``Producer`` needs of ``WireClient``.

    Args:
        partitions: and their leaders' nodes.
        trouble: asked once for each request.

    Attributes:
        throttle: as ``WireClient`` has it.
        hasty: requests that were sent to a broker while it wanted none.
    """

    alias = "fake"

    def __init__(
        self, partitions: Iterable[tuple[TopicPartition, int]], trouble: Callable[[], Trouble]
    ) -> None:
        self.logs = {partition: Log(leader) for partition, leader in partitions}
        self._trouble = trouble
        self._known = {partition: log.leader for partition, log in self.logs.items()}
        self._leaderless: set[TopicPartition] = set()
        self._connections: dict[int, _Connection] = {}
        self._in_flight: dict[int, int] = {}
        self.most_in_flight = 0
        self.throttle = Throttle(self.alias, _now)
        self.hasty = 0
        self.requests = 0

    def add(self, *partitions: TopicPartition) -> None:
        """More partitions, led by node 0."""
        for each in partitions:
            self.logs[each], self._known[each] = Log(0), 0

    def leader(self, partition: TopicPartition) -> int | None:
        """The leader as of the last refresh."""
        return None if partition in self._leaderless else self._known[partition]

    def partition(self, partition: TopicPartition) -> PartitionMetadata:
        """Each partition has a follower: larger batches become one then."""
        leader = self._known[partition]
        return PartitionMetadata(partition.partition, 0, leader, 0, (leader, leader + 1))

    def forget_producers(self) -> None:
        """As brokers do after ``producer.id.expiration.ms``."""
        for log in self.logs.values():
            log.producers.clear()

    async def refresh(self) -> None:
        """Learns the leaders."""
        await asyncio.sleep(_LATENCY_S)
        self._leaderless.clear()
        self._known = {partition: log.leader for partition, log in self.logs.items()}

    async def produce(
        self,
        node: int,
        batches: Iterable[tuple[str, int, bytes | bytearray]],
        *,
        timeout_ms: int,
        transactional_id: str | None = None,
    ) -> ProduceAnswer:
        """Serves one request; calls begun one after the other arrive in that order."""
        del timeout_ms, transactional_id
        taken = [(TopicPartition(topic, n), bytes(data)) for topic, n, data in batches]  # type: ignore[arg-type]  # a name as the protocol has it
        assert len({where for where, _ in taken}) == len(taken), "one batch for each partition"
        self.requests += 1
        # What leaves in the very moment in which the answer comes cannot know of it.
        self.hasty += 0 < self.throttle.delay(node) < _THROTTLE_S - _LATENCY_S
        self._in_flight[node] = self._in_flight.get(node, 0) + 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight[node])
        try:
            answers, throttle_ms = await self._served(node, taken)
            self.throttle.answered(node, throttle_ms)
            return ProduceAnswer(throttle_ms, answers)
        finally:
            self._in_flight[node] -= 1

    async def _served(
        self, node: int, taken: list[tuple[TopicPartition, bytes]]
    ) -> tuple[Sequence[ProducedPartition], int]:
        connection = self._connections.get(node) or _Connection()
        self._connections[node] = connection
        trouble = self._trouble()
        while trouble == Trouble.OVERTAKEN:
            await asyncio.sleep(_LATENCY_S)
            trouble = self._trouble()
        async with connection.lock:
            await asyncio.sleep(max(0.0, connection.muted_until - _now()))
            await asyncio.sleep(_LATENCY_S * (10 if trouble == Trouble.SLOW else 1))
            if connection.is_broken or trouble == Trouble.LOST_REQUEST:
                self._break(node, connection)
                raise Unavailable(self.alias, "the connection broke")
            answers = [self._appended(node, trouble, where, data) for where, data in taken]
            if trouble == Trouble.LOST_RESPONSE:
                self._break(node, connection)
            if trouble == Trouble.DEAF_CLIENT:
                connection.is_deaf = True
                self._forget(node, connection)
            self._check(connection)
            if trouble != Trouble.THROTTLED:
                return answers, 0
            connection.muted_until = _now() + _THROTTLE_S
            return answers, round(_THROTTLE_S * 1000)

    def _check(self, connection: _Connection) -> None:
        """An answer finds nobody when its connection broke meanwhile."""
        if connection.is_broken or connection.is_deaf:
            raise Unavailable(self.alias, "the connection broke")

    def _break(self, node: int, connection: _Connection) -> None:
        connection.is_broken = True
        self._forget(node, connection)

    def _forget(self, node: int, connection: _Connection) -> None:
        if self._connections.get(node) is connection:
            del self._connections[node]

    def _appended(
        self, node: int, trouble: Trouble, where: TopicPartition, data: bytes
    ) -> ProducedPartition:
        log = self.logs[where]
        if trouble in {Trouble.NOT_LEADER, Trouble.NO_LEADER}:
            log.leader = 1 - node
            if trouble == Trouble.NO_LEADER:
                self._leaderless.add(where)
        code, offset = Code.NOT_LEADER_OR_FOLLOWER.value, -1
        if trouble == Trouble.NOT_ENOUGH_REPLICAS:
            code = Code.NOT_ENOUGH_REPLICAS
        elif trouble == Trouble.CORRUPT:
            code = Code.CORRUPT_MESSAGE
        elif log.leader == node:
            code, offset = log.append(data)
            if trouble == Trouble.NOT_ENOUGH_REPLICAS_AFTER_APPEND and code == Code.NONE:
                code, offset = Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND, -1
        return ProducedPartition(*where, code, offset)
