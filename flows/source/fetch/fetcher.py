"""
Fetches partitions from their leaders or near replicas, one long-polling loop a broker.

Bounded memory: a broker is asked for no more than there is room for; a partition that has its
share of bytes under way is left out until some are acknowledged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import structlog

from flows.source.fetch.fetch_linger import TRICKLE_BYTES, FetchLinger
from flows.source.fetch.fetch_spec import FetchSpec
from flows.source.fetch.long_polls import LongPolls
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.fetch.position_check import PositionValidator
from flows.source.fetch.rate_limit import RateLimit
from flows.source.fetch.read_replicas import NO_NODE, ReadReplicas
from flows.source.fetch.reading import CHECKED_IN_A_SECOND, NodeReading
from flows.source.mirrored_partition import MirroredPartition
from mm2.aligned_waits import aligned
from mm2.core.model import TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import RETRIABLE, Code, code_name
from mm2.kafka.wire.requests.fetch import FetchedPartition, NoTopicIds
from mm2.kafka.wire.wire_client import WireClient

log = structlog.get_logger()

_LEAST_S: Final = 0.005
"""From one fetch to the next, if the first has brought nothing."""

_BACKOFF_S: Final = 0.2
_IDLE_S: Final = 1.0
"""How soon a broker that leads nothing to fetch is checked again; with thousands later."""

_SHARES: Final = 4
"""One partition may take this part of the memory, so that a stuck one leaves room for others."""


class Fetcher:
    """
    Fetches partitions, with one loop for each broker.

    The client must track the topics of ``partitions``; these may change, followed by ``changed()``.

    Callbacks: ``on_answer`` gets each partition that has an answer, whatever that is; ``take``
    gets the records of a partition, in order, and moves its position; ``stop`` gets a partition
    that its leader does not serve, and why, and lets it be retried later.
    """

    def __init__(
        self,
        *,
        client: WireClient,
        partitions: Mapping[TopicPartition, MirroredPartition],
        spec: FetchSpec,
        budget: MemoryBudget,
        validator: PositionValidator,
        limit: RateLimit,
        on_answer: Callable[[MirroredPartition], None],
        take: Callable[[MirroredPartition, FetchedPartition], None],
        stop: Callable[[MirroredPartition, str], None],
    ) -> None:
        self._client = client
        self._partitions = partitions
        self._settings = spec.data
        self._budget = budget
        self._validator = validator
        self._limit = limit
        self._on_answer = on_answer
        self._take = take
        self._stop = stop
        self._replicas = ReadReplicas(
            own_rack=spec.rack,
            leader=client.leader,
            is_known=lambda node: client.broker(node) is not None,
            lease_s=spec.replica_lease_s,
            clock=time.monotonic,
        )
        self._changed = asyncio.Event()
        self._freed = asyncio.Event()
        self._stale = asyncio.Event()
        self._loops: dict[int, asyncio.Task[None]] = {}
        self._polls = LongPolls(spec, client)
        self._readers: dict[TopicPartition, int | None] = {}
        # Connections of their own: one may be refused while the other goes on.
        self._failing: set[int] = set()
        self._not_validating: set[int] = set()
        self._generation = 0

    def changed(self) -> None:
        """Partitions came or went, or have new leaders, or another position."""
        self._look_again()
        self._polls.end()

    def _look_again(self) -> None:
        self._generation += 1
        self._changed.set()
        self._freed.set()

    def acknowledged(self) -> None:
        """Bytes became free."""
        self._freed.set()

    async def run(self) -> None:
        """Fetches until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_leaders(), name="source-leaders")
            while True:
                self._changed.clear()
                there = (p for p, m in self._partitions.items() if not m.validation.is_missing)
                before, self._readers = self._readers, self._replicas.readers(there)
                if self._readers != before:
                    self._polls.end()
                for node in {*self._readers.values()} - {None}:
                    if node is not None and (node not in self._loops or self._loops[node].done()):
                        task = group.create_task(self._follow(node), name=f"fetch-{node}")
                        self._loops[node] = task
                if None in self._readers.values():
                    self._stale.set()
                await self._wait_for_change()

    async def _follow(self, node: int) -> None:
        """Fetches from one broker for as long as something is read from it."""
        reading = NodeReading(self._settings.fetch_partition_bytes, self._has_room)
        linger = FetchLinger(reading, self._freed)
        async with asyncio.TaskGroup() as group:
            validating: asyncio.Task[None] | None = None
            while self._is_read(node, reading):
                # A partition under validation is left out of the next fetch.
                open_ = self._validator.pending(reading.active)
                if open_ and (validating is None or validating.done()):
                    job = self._validate(node, open_)
                    validating = group.create_task(job, name=f"validate-{node}")
                await self._read(node, reading, linger)
            if validating is not None:
                validating.cancel()
        self.changed()

    async def _read(self, node: int, reading: NodeReading, linger: FetchLinger) -> None:
        """Fetches once, or waits until there is something that may be fetched."""
        try:
            await asyncio.sleep(self._client.throttle.delay(node))
            allowed = await self._limit.allowance()
            reading.sort()
            if reading.session.is_empty:
                await self._wait_for_room()
            else:
                await self._fetch(node, reading, linger, most=allowed)
        except Unavailable as error:
            if node not in self._failing:
                self._failing.add(node)
                log.warning("source.fetch_failed", broker=node, error=str(error))
            await self._back_off(node)

    async def _validate(self, node: int, partitions: Sequence[MirroredPartition]) -> None:
        """Validates partitions without disturbing those already valid."""
        try:
            await self._validator.validate(partitions)
        except Unavailable as error:
            if node not in self._not_validating:
                self._not_validating.add(node)
                log.warning("source.validation_failed", broker=node, error=str(error))
            await self._back_off(node)
        else:
            self._not_validating.discard(node)
            if any(partition.validation.is_valid for partition in partitions):
                self._freed.set()

    async def _back_off(self, node: int) -> None:
        self._stale.set()
        self._replicas.forsake_node(node)
        await asyncio.sleep(_BACKOFF_S)

    def _is_read(self, node: int, reading: NodeReading) -> bool:
        now = time.monotonic()
        if not reading.is_due(self._generation, now):
            return True
        led = (m for s, m in self._partitions.items() if self._replicas.reader(s) == node)
        return reading.assign(led, self._generation, now)

    async def _wait_for_change(self) -> None:
        # Leaders also change when the client refreshes its metadata by itself.
        idle_s = _IDLE_S + len(self._partitions) / CHECKED_IN_A_SECOND
        with suppress(TimeoutError):
            async with asyncio.timeout(aligned(round(idle_s))):
                await self._changed.wait()

    async def _wait_for_room(self) -> None:
        self._freed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_BACKOFF_S):
                await self._freed.wait()

    def _is_fetchable(self, partition: MirroredPartition) -> bool:
        """Whether it is still ours, goes on, and is known to be of the log that it was of."""
        is_ours = self._partitions.get(partition.source) is partition
        return is_ours and partition.error is None and partition.validation.is_valid

    def _has_room(self, partition: MirroredPartition) -> bool:
        return (
            self._is_fetchable(partition)
            and partition.fetch.pause_until <= time.monotonic()
            and not partition.is_stuck
            and not partition.fetch.waits_for_overlap
            and partition.progress.queued < self._budget.limit // _SHARES
        )

    async def _fetch(
        self, node: int, reading: NodeReading, linger: FetchLinger, *, most: float
    ) -> None:
        reserved = await self._budget.acquire(int(min(most, self._share())))
        wait_ms = self._polls.wait_ms(node, is_idle=reading.is_idle(self._generation))
        request = reading.next_request(self._settings, wait_ms, reserved, self._replicas.rack)
        answer, takes_ids = None, True
        began = asyncio.get_running_loop().time()
        try:
            answer = await self._polls.answer(node, self._client.fetch(node, request), wait_ms)
        except NoTopicIds:
            takes_ids = False
            raise
        finally:
            self._budget.release(reserved)
            reading.session.answered(answer, takes_ids=takes_ids)
        if answer is None:
            return
        size = sum(len(each.records) for each in answer.partitions)
        self._limit.spend(size)
        for each in answer.partitions:
            await self._accept(node, reading, each)
        self._failing.discard(node)
        if not size:
            # Not at once again, whatever had the broker answer without any record.
            await asyncio.sleep(began + _LEAST_S - asyncio.get_running_loop().time())
        elif size < min(TRICKLE_BYTES, reserved // 2, self._settings.fetch_partition_bytes // 2):
            await linger.wait(since=began)

    def _share(self) -> int:
        """Bytes to ask one broker for: idle fetches must not take all memory from each other."""
        brokers = sum(not task.done() for task in self._loops.values())
        return min(self._settings.fetch_max_bytes, max(self._budget.limit // (2 * brokers), 1))

    async def _accept(self, node: int, reading: NodeReading, answer: FetchedPartition) -> None:
        partition = reading.answered(answer)
        if partition is None or not self._is_fetchable(partition):
            return
        self._on_answer(partition)
        if self._is_redirected(partition.source, answer):
            return
        if answer.error == Code.NONE:
            self._validator.observe(partition, answer)
            partition.fetch.answered_by(node)
            self._take(partition, answer)
        elif answer.error == Code.OFFSET_OUT_OF_RANGE:
            await self._validator.out_of_range(partition)
        else:
            self._retry_later(partition, answer.error)

    def _retry_later(self, partition: MirroredPartition, error: int) -> None:
        """Asks again later; what is not known to pass may do so as well, with another leader."""
        reason = f"the source answers {code_name(error)}"
        partition.validation.invalidate()
        self._stale.set()
        if error in RETRIABLE:
            partition.sender.report_error(reason)
            partition.fetch.pause(_BACKOFF_S)
        else:
            self._stop(partition, reason)

    def _is_redirected(self, source: TopicPartition, answer: FetchedPartition) -> bool:
        """Whether another replica is to be asked instead: a better one, or again the leader."""
        if answer.error == Code.NONE:
            is_new = self._replicas.prefer(source, answer.preferred_replica)
            if answer.preferred_replica not in {NO_NODE, self._replicas.reader(source)}:
                self._stale.set()  # the metadata do not have it yet
        else:
            # Only the leader's word counts: a follower may lag behind, or be on its way out.
            is_new = self._replicas.forsake(source)
        if is_new:
            self.changed()
        return is_new

    async def _follow_leaders(self) -> None:
        """Refreshes metadata when asked to, a few times a second at most."""
        while True:
            await self._stale.wait()
            try:
                await self._client.refresh()
            except Unavailable as error:
                log.warning("source.unavailable", error=str(error))
            self._look_again()
            await asyncio.sleep(_BACKOFF_S)
            self._stale.clear()
