"""
A cluster in memory that knows transactions, as far as one transactional producer can tell.

It keeps Kafka's rules (KIP-98, and the first part of KIP-890): recent clusters refuse a batch of a
transaction unless its partition was added to it, an older epoch is refused everywhere, a new epoch
aborts what the older one left open, and an end that was decided is confirmed when it is asked for
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.produce import ProduceAnswer, ProducedPartition
from tests.support.batches import Plain, read_header
from tests.support.fake_broker import FakeCluster, Trouble

_LATENCY_S = 0.01
_ANSWERS_LOST = {Trouble.LOST_RESPONSE, Trouble.DEAF_CLIENT}
_CODES = {
    Trouble.NO_LEADER: Code.COORDINATOR_NOT_AVAILABLE,
    Trouble.NOT_LEADER: Code.NOT_COORDINATOR,
    Trouble.NOT_ENOUGH_REPLICAS: Code.COORDINATOR_LOAD_IN_PROGRESS,
    Trouble.SLOW: Code.CONCURRENT_TRANSACTIONS,
}


class TransactionalCluster(FakeCluster):
    """
    Speaks what ``ExactlyOnceCommitter`` needs of ``WireClient`` too.

    Args:
        partitions: and their leaders' nodes.
        trouble: asked once for each request.
        verifies: whether a batch is refused whose partition is not in the transaction; brokers
            before 3.6 take it, and it belongs to whichever transaction comes next.

    Attributes:
        identity: of the producer that may write.
        group: committed offsets.
        aborted: how many records were.
    """

    def __init__(
        self,
        partitions: Iterable[tuple[TopicPartition, int]],
        trouble: Callable[[], Trouble],
        *,
        verifies: bool = True,
    ) -> None:
        super().__init__(partitions, trouble)
        self._verifies = verifies
        self._sent: set[asyncio.Task[ProduceAnswer]] = set()
        self.identity = ProducerIdentity(7, -1)
        self.group: dict[TopicPartition, int] = {}
        self.aborted = 0
        self._visible: dict[TopicPartition, list[Plain]] = {where: [] for where in self.logs}
        self._members: set[TopicPartition] = set()
        self._open: dict[TopicPartition, list[Plain]] = {}
        self._offsets: dict[TopicPartition, int] = {}
        self._ended: bool | None = None

    def committed(self, where: TopicPartition) -> list[Plain]:
        """What a reader of committed records sees."""
        return self._visible[where]

    def new_task(self) -> ProducerIdentity:
        """Fences the task before, and aborts what it left open (InitProducerId)."""
        self._finish(commit=False)
        self._ended = None
        self.identity = ProducerIdentity(7, self.identity.epoch + 1)
        return self.identity

    async def produce(
        self,
        node: int,
        batches: Iterable[tuple[str, int, bytes | bytearray]],
        *,
        timeout_ms: int,
        transactional_id: str | None = None,
    ) -> ProduceAnswer:
        """What was sent arrives even if nobody waits for the answer any more."""
        serving = super().produce(
            node, batches, timeout_ms=timeout_ms, transactional_id=transactional_id
        )
        sent = asyncio.ensure_future(serving)
        self._sent.add(sent)
        sent.add_done_callback(self._arrived)
        return await asyncio.shield(sent)

    def _arrived(self, sent: asyncio.Task[ProduceAnswer]) -> None:
        self._sent.discard(sent)
        if not sent.cancelled():
            sent.exception()  # nobody may be there to see it

    async def coordinator(self, _kind: object, _key: str) -> int:
        """Any node will do."""
        await asyncio.sleep(_LATENCY_S)
        return 0

    async def ask(self, _node: int, request: Any) -> Any:
        """Serves one request to a coordinator."""
        trouble = self._trouble()
        await asyncio.sleep(_LATENCY_S)
        if trouble == Trouble.LOST_REQUEST:
            raise Unavailable(self.alias, "the connection broke")
        code = _CODES.get(trouble, Code.NONE)
        if (request._producer_id, request._producer_epoch) != (7, self.identity.epoch):
            code = Code.PRODUCER_FENCED
        answer = self._answer(request, code)
        if trouble in _ANSWERS_LOST:
            raise Unavailable(self.alias, "the connection broke")
        return answer

    def _answer(self, request: Any, code: Code) -> Any:
        match type(request).__name__:
            case "AddPartitionsToTxnRequest":
                asked = [(topic, n) for topic, numbers in request._topics for n in numbers]
                if code == Code.NONE:
                    self._members |= {TopicPartition(TopicName(t), n) for t, n in asked}
                    self._ended = None
                return SimpleNamespace(errors=[(topic, [(n, code)]) for topic, n in asked])
            case "TxnOffsetCommitRequest":
                entries = [(topic, each) for topic, ns in request._topics for each in ns]
                if code == Code.NONE:
                    assert self._members, "offsets outside of a transaction"
                    self._offsets |= {
                        TopicPartition(topic, number): offset
                        for topic, (number, offset, _) in entries
                    }
                return SimpleNamespace(errors=[(topic, [(e[0], code)]) for topic, e in entries])
            case "AddOffsetsToTxnRequest":
                assert code != Code.NONE or self._members, "a group outside of a transaction"
                return SimpleNamespace(error_code=code)
            case _:
                return SimpleNamespace(error_code=self._end(request._transaction_result, code))

    def _end(self, commit: bool, code: Code) -> int:
        if code != Code.NONE:
            return code
        if not self._members:
            return Code.NONE if self._ended is commit else Code.INVALID_TXN_STATE
        self._finish(commit=commit)
        self._ended = commit
        return Code.NONE

    def _finish(self, *, commit: bool) -> None:
        for where in self._members:
            records = self._open.pop(where, [])
            if commit:
                self._visible[where] += records
            else:
                self.aborted += len(records)
        if commit:
            self.group |= self._offsets
        self._members, self._offsets = set(), {}

    def _appended(
        self, node: int, trouble: Trouble, where: TopicPartition, data: bytes
    ) -> ProducedPartition:
        if read_header(data).epoch != self.identity.epoch:
            return ProducedPartition(*where, Code.INVALID_PRODUCER_EPOCH, -1)
        if self._verifies and where not in self._members:
            return ProducedPartition(*where, Code.INVALID_TXN_STATE, -1)
        records = self.logs[where].records
        before = len(records)
        answer = super()._appended(node, trouble, where, data)
        self._open.setdefault(where, []).extend(records[before:])
        return answer
