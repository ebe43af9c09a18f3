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

from flows.source.budget import Budget
from flows.source.pace import RateLimit
from flows.source.partition import Mirrored
from flows.source.replicas import ReadReplicas
from flows.source.settling import Settler
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.herder.bundle import FetchSpec
from mm2.kafka.wire.client import WireClient
from mm2.kafka.wire.codes import RETRIABLE, Code, code_name
from mm2.kafka.wire.requests import FetchedPartition, FetchRequest

log = structlog.get_logger()

_SHORT_WAIT_MS: Final = 20
"""While a partition waits for room, the others may not hold up the next fetch for long."""

_BACKOFF_S: Final = 0.2
_IDLE_S: Final = 1.0
"""How soon a broker that leads nothing we can fetch is looked at again."""

_SHARES: Final = 4
"""One partition may take this part of the memory, so that a stuck one leaves room for others."""


class Fetcher:
    """
    Keeps the partitions coming.

    Args:
        client: the source; its tracked topics must cover the partitions.
        partitions: what to fetch; may change at any time, followed by ``changed()``.
        spec: sizes, waits, isolation and where to begin.
        budget: the memory that batches may take.
        settler: compares positions with the source's logs before they are fetched.
        limit: the bytes per second that may be fetched.
        take: called with each partition's answer, in order; moves the position.
    """

    def __init__(
        self,
        *,
        client: WireClient,
        partitions: Mapping[TopicPartition, Mirrored],
        spec: FetchSpec,
        budget: Budget,
        settler: Settler,
        limit: RateLimit,
        take: Callable[[Mirrored, FetchedPartition], None],
    ) -> None:
        self._client = client
        self._partitions = partitions
        self._spec = spec
        self._budget = budget
        self._settler = settler
        self._limit = limit
        self._take = take
        self._replicas = ReadReplicas(
            leader=client.leader,
            is_known=lambda node: client.broker(node) is not None,
            lease_s=spec.replica_lease_s,
            clock=time.monotonic,
        )
        self._changed = asyncio.Event()
        self._freed = asyncio.Event()
        self._stale = asyncio.Event()
        self._loops: dict[int, asyncio.Task[None]] = {}
        self._failing: set[int] = set()
        self._turn = 0

    def changed(self) -> None:
        """Partitions came or went, or have new leaders."""
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
                partitions = self._partitions.items()
                readers = {self._replicas.reader(p) for p, m in partitions if not m.is_missing}
                for node in readers - {None}:
                    if node is not None and (node not in self._loops or self._loops[node].done()):
                        task = group.create_task(self._follow(node), name=f"fetch-{node}")
                        self._loops[node] = task
                if None in readers:
                    self._stale.set()
                await self._wait_for_change()

    async def _follow(self, node: int) -> None:
        """Fetches from one broker for as long as something is read from it."""
        while led := [m for s, m in self._partitions.items() if self._replicas.reader(s) == node]:
            try:
                await asyncio.sleep(self._client.throttle.delay(node))
                allowed = await self._limit.allowance()
                await self._settler.settle(led)
                wanted = [m for m in led if self._has_room(m)]
                if wanted:
                    waits = len(wanted) < sum(m.error is None and m.is_remote_there for m in led)
                    await self._fetch(node, wanted, is_short=waits, most=allowed)
                else:
                    await self._wait_for_room()
            except Unavailable as error:
                if node not in self._failing:
                    self._failing.add(node)
                    log.warning("source.fetch_failed", broker=node, error=str(error))
                self._stale.set()
                self._replicas.forsake_node(node)
                await asyncio.sleep(_BACKOFF_S)
        self.changed()

    async def _wait_for_change(self) -> None:
        # Leaders also change when the client refreshes its metadata by itself.
        with suppress(TimeoutError):
            async with asyncio.timeout(_IDLE_S):
                await self._changed.wait()

    async def _wait_for_room(self) -> None:
        self._freed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_BACKOFF_S):
                await self._freed.wait()

    def _has_room(self, partition: Mirrored) -> bool:
        return (
            partition.is_settled
            and partition.error is None
            and partition.pause_until <= time.monotonic()
            and not partition.lane.is_stuck
            and partition.queued < self._budget.limit // _SHARES
        )

    async def _fetch(
        self, node: int, wanted: list[Mirrored], *, is_short: bool, most: float
    ) -> None:
        # Brokers fill an answer in the order of the request: whoever was first goes last.
        self._turn = (self._turn + 1) % len(wanted)
        wanted = wanted[self._turn :] + wanted[: self._turn]
        topics: dict[str, list[tuple[int, int, int]]] = {}
        for partition in wanted:
            topics.setdefault(partition.source.topic, []).append(
                (
                    partition.source.partition,
                    partition.position or 0,
                    self._spec.max_partition_bytes,
                )
            )
        asked = {partition.source: partition.position for partition in wanted}
        reserved = await self._budget.reserve(int(min(most, self._share())))
        try:
            answers = await self._client.fetch(
                node,
                FetchRequest(
                    max_wait_ms=_SHORT_WAIT_MS if is_short else self._spec.max_wait_ms,
                    min_bytes=self._spec.min_bytes,
                    max_bytes=reserved,
                    read_committed=self._spec.read_committed,
                    topics=topics,
                    rack=self._spec.rack,
                ),
            )
        finally:
            self._budget.give(reserved)
        self._failing.discard(node)
        self._limit.spend(sum(len(each.records) for each in answers.partitions))
        await self._accept(node, answers.partitions, asked)

    def _share(self) -> int:
        """Bytes to ask one broker for: idle fetches must not take all memory from each other."""
        brokers = sum(not task.done() for task in self._loops.values())
        return min(self._spec.max_bytes, max(self._budget.limit // (2 * brokers), 1))

    async def _accept(
        self,
        node: int,
        answers: Sequence[FetchedPartition],
        asked: Mapping[TopicPartition, int | None],
    ) -> None:
        for answer in answers:
            source = TopicPartition(TopicName(answer.topic), answer.partition)
            partition = self._partitions.get(source)
            if partition is None or partition.error or partition.position != asked.get(source):
                continue  # gone, stopped or moved while the answer was under way
            if not partition.is_settled:
                continue  # it may be of another log
            if self._is_redirected(source, answer):
                continue
            if answer.error == Code.NONE:
                self._settler.observe(partition, answer)
                partition.broker = node
                self._take(partition, answer)
            elif answer.error == Code.OFFSET_OUT_OF_RANGE:
                await self._settler.out_of_range(partition)
            elif answer.error in RETRIABLE:
                partition.lane.last_error = f"the source answers {code_name(answer.error)}"
                partition.pause_until = time.monotonic() + _BACKOFF_S
                partition.is_settled = False
                self._stale.set()
            else:
                partition.fail(f"the source answers {code_name(answer.error)}")

    def _is_redirected(self, source: TopicPartition, answer: FetchedPartition) -> bool:
        """Whether another replica is to be asked instead: a better one, or again the leader."""
        if answer.error == Code.NONE:
            is_new = self._replicas.prefer(source, answer.preferred_replica)
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
            self.changed()
            await asyncio.sleep(_BACKOFF_S)
            self._stale.clear()
