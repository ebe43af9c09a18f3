"""
A transactional producer as its coordinators see it (KIP-98).

What belongs to its transaction, and how that ends. Calls are repeated until a coordinator has
answered for good; whoever calls sets the limit in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

import structlog
from aiokafka.client import CoordinationType
from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    TxnOffsetCommitRequest,
)

from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.errors import Fenced, FlowError, NotAuthorized, Unavailable
from mm2.kafka.wire.error_codes import FENCED, Code, code_name
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient

log = structlog.get_logger()

T = TypeVar("T")

_PAUSE_S: Final = 0.2
_PAUSE_CONCURRENT_S: Final = 0.005
"""The transaction before is being completed, which takes milliseconds."""

_REPORTED_AFTER_S: Final = 10.0
"""A coordinator that lets its transactions wait for so long is reported."""

_MOVED: Final = frozenset(
    {
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.NOT_COORDINATOR,
        Code.NETWORK_EXCEPTION,
        Code.REQUEST_TIMED_OUT,
    }
)
_AGAIN: Final = _MOVED | {
    Code.UNKNOWN_SERVER_ERROR,
    Code.COORDINATOR_LOAD_IN_PROGRESS,
    Code.CONCURRENT_TRANSACTIONS,
    Code.THROTTLING_QUOTA_EXCEEDED,
}

_OF_ONE_PARTITION: Final = frozenset(
    {
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.TOPIC_AUTHORIZATION_FAILED,
        Code.OPERATION_NOT_ATTEMPTED,
    }
)
"""Others can go on without it."""

_MISSING_PERMISSIONS: Final = {
    Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Write and Describe on transactional id {id}",
    Code.GROUP_AUTHORIZATION_FAILED: "Read on group {group}",
    Code.CLUSTER_AUTHORIZATION_FAILED: "IdempotentWrite on the cluster",
}


class TransactionLost(FlowError):
    """The coordinator does not know the transaction as we do; a new task must start over."""

    retriable = True


class TransactionalProducer:
    """
    Speaks with the coordinators of one transactional id and of one group, one call at a time.

    Calls raise ``Fenced`` if a newer producer has our transactional id, ``NotAuthorized`` if we may
    not use it or commit for the group, and ``TransactionLost`` if the coordinator does not know us.

    Args:
        group: whose offsets belong to the transactions.
    """

    def __init__(
        self,
        client: WireClient,
        *,
        flow: str,
        transactional_id: str,
        identity: ProducerIdentity,
        group: GroupId,
    ) -> None:
        self.alias = client.alias
        self._client = client
        self._flow = flow
        self._id = transactional_id
        self._identity = identity
        self._group = group
        self._nodes: dict[CoordinationType, int] = {}
        self._delayed_since: float | None = None
        self._is_reported = False

    async def add_partitions(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """
        Makes partitions part of the transaction, which begins with that.

        Returns:
            Error codes of those that could not be added; then none was.
        """
        topics = _by_topic((where, where.partition) for where in partitions)
        request = AddPartitionsToTxnRequest(self._id, *self._who, topics)
        codes = await self._codes(CoordinationType.TRANSACTION, request)
        return self._refused(codes, "add partitions to a transaction")

    async def add_offsets(self) -> None:
        """Makes the group's offsets part of the transaction."""
        request = AddOffsetsToTxnRequest(self._id, *self._who, self._group)
        await self._ask_until_done(request, "add offsets to a transaction")

    async def commit_offsets(
        self, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """
        Commits offsets for the group, for when the transaction is committed.

        Returns:
            Error codes of those that were not taken; a topic must exist here, for one.
        """
        topics = _by_topic((where, (where.partition, at, "")) for where, at in offsets.items())
        request = TxnOffsetCommitRequest(self._id, self._group, *self._who, topics)
        codes = await self._codes(CoordinationType.GROUP, request)
        return self._refused(codes, "commit offsets in a transaction")

    async def end(self, *, commit: bool) -> None:
        """
        Commits or aborts the transaction; returns once that is decided for good.

        Raises:
            Fenced: a newer producer has our transactional id, or the transaction took too long.
            TransactionLost: there is no such transaction.
        """
        request = EndTxnRequest(self._id, *self._who, commit)
        await self._ask_until_done(request, "end a transaction")

    @property
    def _who(self) -> tuple[int, int]:
        return self._identity.producer_id, self._identity.epoch

    async def _ask_until_done(self, request: object, what: str) -> None:
        while True:
            answer = await self._ask(CoordinationType.TRANSACTION, request)
            code = Code.NETWORK_EXCEPTION if answer is None else answer.error_code
            if code not in _AGAIN:
                self._answered()
                if code == Code.NONE:
                    return
                raise self._failure(code, what)
            await self._pause(CoordinationType.TRANSACTION, code)

    async def _codes(self, kind: CoordinationType, request: object) -> dict[TopicPartition, int]:
        """Asks until no partition has an error that goes away by itself."""
        while True:
            answer = await self._ask(kind, request)
            codes = {} if answer is None else _codes_in(answer.errors)
            if answer is not None and not _AGAIN.intersection(codes.values()):
                self._answered()
                return codes
            again = (code for code in codes.values() if code in _AGAIN)
            await self._pause(kind, next(again, Code.NETWORK_EXCEPTION))

    def _refused(self, codes: Mapping[TopicPartition, int], what: str) -> dict[TopicPartition, int]:
        refused = {where: code for where, code in codes.items() if code != Code.NONE}
        for code in refused.values():
            if code not in _OF_ONE_PARTITION:
                raise self._failure(code, what)
        return refused

    async def _ask(self, kind: CoordinationType, request: object) -> Any | None:
        key = self._group if kind is CoordinationType.GROUP else self._id
        try:
            if kind not in self._nodes:
                self._nodes[kind] = await self._client.coordinator(kind, key)
            return await self._client.ask(self._nodes[kind], request)
        except Unavailable:
            with suppress(Unavailable):
                await self._client.refresh()
            return None

    async def _pause(self, kind: CoordinationType, code: int) -> None:
        if code in _MOVED:
            self._nodes.pop(kind, None)
        now = asyncio.get_running_loop().time()
        if self._delayed_since is None:
            self._delayed_since = now
        waited_s = now - self._delayed_since
        if waited_s >= _REPORTED_AFTER_S and not self._is_reported:
            self._is_reported = True
            error = code_name(code)
            log.warning("source.transaction_delayed", error=error, waited_s=round(waited_s))
        is_soon = code == Code.CONCURRENT_TRANSACTIONS
        await asyncio.sleep(_PAUSE_CONCURRENT_S if is_soon else _PAUSE_S)

    def _answered(self) -> None:
        """A coordinator has answered for good."""
        self._delayed_since = None
        if self._is_reported:
            self._is_reported = False
            log.info("source.transaction_resumed")

    def _failure(self, code: int, what: str) -> Exception:
        where = f"{what} on {self.alias}: {code_name(code)}"
        if code in FENCED:
            reason = "a newer producer of ours has taken over, or the transaction took too long"
            return Fenced(self._flow, f"cannot {where}: {reason}")
        if code in _MISSING_PERMISSIONS:
            needs = _MISSING_PERMISSIONS[Code(code)].format(id=self._id, group=self._group)
            return NotAuthorized(self.alias, f"may not {where}: it needs {needs}")
        return TransactionLost(self._flow, f"cannot {where}")


def _by_topic(partitions: Iterable[tuple[TopicPartition, T]]) -> list[tuple[str, list[T]]]:
    topics: dict[str, list[T]] = {}
    for where, entry in partitions:
        topics.setdefault(where.topic, []).append(entry)
    return list(topics.items())


def _codes_in(errors: Iterable[tuple[str, list[tuple[int, int]]]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(TopicName(topic), number): code
        for topic, partitions in errors
        for number, code in partitions
    }
