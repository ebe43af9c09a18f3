"""
The partitions that the group has given to a stream: taken on, and given up once committed.

On a revocation the order is KIP-3's: no more fetches, wait for what is under way, commit, and then
the user's listener.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final

import stamina
import structlog

from flows.legacy.offset_stores import BothStores, OffsetStore, OffsetsUnknown
from flows.legacy.rebalance_listener import ListenerCalls
from flows.legacy.record_copier import RecordCopier
from flows.legacy.stream_offsets import StreamOffsets
from flows.legacy.target_topics import TargetTopics
from flows.source.fetch.fetcher import Fetcher
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.sender_callbacks import take_answers
from mm2.clock import now_ms
from mm2.core.model import TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.wire.wire_client import WireClient

log = structlog.get_logger()

_RETRY_MOST_S: Final = 2.0
_WITHDRAW_S: Final = 2.0
_ASK_AGAIN_S: Final = 1.0


@dataclass(slots=True, kw_only=True)
class OwnedPartitions:
    """
    Obeys the group (``PartitionOwner``).

    Attributes:
        partitions: shared with the parts that fetch, send and commit; changed here only.
        topics: of the target that the stream writes to beside those of the same names.
        copier: what takes records apart, if anything does.
        drain_s: how long a revocation waits for what is under way, in seconds.
        records: acknowledged records of partitions that were given up.
        skipped: likewise, records that were left out.
    """

    partitions: MutableMapping[TopicPartition, MirroredPartition]
    source: WireClient
    target: WireClient
    target_topics: TargetTopics
    budget: MemoryBudget
    producer: Producer
    errors: ErrorPolicy
    fetcher: Fetcher
    store: OffsetStore
    offsets: StreamOffsets
    listener: ListenerCalls
    wait_for_copies: Callable[[Iterable[MirroredPartition]], Awaitable[None]]
    topics: set[str]
    copier: RecordCopier | None = None
    drain_s: float = 30.0
    records: int = 0
    skipped: int = 0
    _senders: dict[TopicPartition, PartitionSender] = field(default_factory=dict)
    _waiting: dict[TopicPartition, int] = field(default_factory=dict)
    """Owned, but their offsets are not known; with the number of the assignment of each."""

    _numbers: Iterator[int] = field(default_factory=count)
    _offsets_unknown: asyncio.Event = field(default_factory=asyncio.Event)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> None:
        """
        Asks again for offsets that were not told at once, until cancelled.

        Raises:
            ClusterError: they cannot be read.
        """
        while True:
            await self._offsets_unknown.wait()
            self._offsets_unknown.clear()
            while self._waiting:
                await asyncio.sleep(_ASK_AGAIN_S)
                begun, _ = await self._begin()
                if begun:
                    log.info("stream.partitions_begun", partitions=begun)

    async def assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """
        Goes on at the group's offsets; topics of the target are there before.

        The group waits for this call. So partitions whose offsets are not told at once wait alone.
        """
        async for attempt in stamina.retry_context(
            on=Unavailable, attempts=None, timeout=None, wait_max=_RETRY_MOST_S
        ):
            with attempt:
                await self.target_topics.prepare(partitions)
                await self._track({*self.partitions, *self._waiting, *partitions})
        for where in partitions:
            self._waiting[where] = next(self._numbers)
        _, error = await self._begin()
        known = sum(self._is_known(each) for each in partitions)
        log.info("stream.partitions_assigned", partitions=len(partitions), known=known)
        if error is not None:
            log.warning("stream.offsets_awaited", partitions=len(self._waiting), error=str(error))
            self._offsets_unknown.set()
        await self.listener.assigned(partitions)

    async def _begin(self) -> tuple[int, Unavailable | None]:
        """Takes on those that wait, and whose offsets are told: how many, and why not others."""
        async with self._one_at_a_time:
            asked, cause, begun = dict(self._waiting), None, 0
            unknown: Collection[TopicPartition] = ()
            try:
                known: Mapping[TopicPartition, int] = await self.store.committed(asked)
            except OffsetsUnknown as error:
                known, unknown, cause = error.known, error.unknown, error
            except Unavailable as error:
                return 0, error
            for where, number in asked.items():
                if where not in unknown:
                    begun += await self._take_on(where, number, known.get(where))
            return begun, cause

    async def _take_on(self, where: TopicPartition, number: int, offset: int | None) -> bool:
        sender = await self._sender(where)
        if self._waiting.get(where) != number:  # it was given up meanwhile
            return False
        del self._waiting[where]
        mirrored = self._mirrored(where, sender)
        mirrored.remote.unblock()
        if offset is not None:
            mirrored.continue_from(offset - 1, Lineage())
            if isinstance(self.store, BothStores):
                mirrored.progress.require_commit()  # one of them may not have it
        self.partitions[where] = mirrored
        self.fetcher.changed()  # the next one may have to wait for its sender
        return True

    def _is_known(self, where: TopicPartition) -> bool:
        mirrored = self.partitions.get(where)
        return mirrored is not None and mirrored.fetch.position is not None

    async def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """Waits for what is under way, commits, and calls the user's listener."""
        given = self._take_away(partitions)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.drain_s):
                await self.wait_for_copies(given)
        with suppress(ClusterError):  # it is logged; who owns them next copies again
            await self.offsets.commit(given)
        await self._forget(given)
        log.info("stream.partitions_revoked", partitions=len(partitions))
        await self.listener.revoked(partitions)

    async def lost(self, partitions: Sequence[TopicPartition]) -> None:
        """
        Sends nothing more of them, and commits nothing: another stream may copy them by now.

        What is queued and was not sent yet is dropped. What was sent may still be appended.
        """
        given = self._take_away(partitions)
        await self._forget(given)
        log.warning("stream.partitions_lost", partitions=len(partitions))
        await self.listener.revoked(partitions)

    async def leaving(self) -> None:
        """The stream ends, and its offsets are committed: the user's listener is told."""
        if owned := [*self.partitions, *self._waiting]:
            await self.listener.revoked(owned)

    def _take_away(self, partitions: Sequence[TopicPartition]) -> list[MirroredPartition]:
        for each in partitions:
            self._waiting.pop(each, None)
        given = [self.partitions.pop(each) for each in partitions if each in self.partitions]
        self.fetcher.changed()
        return given

    async def _forget(self, given: Sequence[MirroredPartition]) -> None:
        """Drops what is still queued, so that nothing comes behind another stream's copies."""
        for mirrored in given:
            self.records += mirrored.progress.records
            self.skipped += mirrored.progress.skipped
            if self.copier is not None:
                self.copier.forget(mirrored)
            sender = mirrored.sender
            if sender.is_idle or self.producer.withdraw(sender):
                continue
            await self.producer.wait_until(partial(_is_answered, sender), within_s=_WITHDRAW_S)
            self.producer.withdraw(sender)

    async def _track(self, partitions: Iterable[TopicPartition]) -> None:
        topics = {where.topic for where in partitions}
        await self.source.track(topics)
        await self.target.track(topics | self.topics)

    async def _sender(self, where: TopicPartition) -> PartitionSender:
        """Lives as long as its producer id: the broker remembers its sequence numbers."""
        sender = self._senders.setdefault(where, PartitionSender(where, merges=True))
        if not sender.is_idle:  # it was given up while the target did not answer
            await self.producer.wait_until(partial(_is_answered, sender))
            self.producer.withdraw(sender)
        self.producer.resume(sender)
        return sender

    def _mirrored(self, source: TopicPartition, sender: PartitionSender) -> MirroredPartition:
        mirrored = MirroredPartition(source, sender)
        take_answers(
            mirrored,
            lambda batch: mirrored.acknowledge(batch, now_ms()),
            budget=self.budget,
            fetcher=self.fetcher,
            errors=self.errors,
        )
        return mirrored


def _is_answered(sender: PartitionSender) -> bool:
    return sender.unanswered == 0
