"""
An idempotent producer of ready-made batches.

Order: batches of one target partition are appended in the order of ``send``; retries keep their
sequence numbers, so that nothing is appended twice or out of order (KIP-98). Up to five requests
are in flight to a broker, the most for which a broker remembers sequence numbers. A partition in
trouble is held back until all its requests are answered, then resent from its first unanswered
batch; other partitions go on. A batch that is refused for the sake of a record is halved until that
record is alone; what becomes of it is for the lane's owner to say.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from flows.source.forward.batch import oldest_timestamp, rewrite_header
from flows.source.forward.merge_batches import MergePolicy
from flows.source.send.in_flight import InFlightLimits
from flows.source.send.queued_batches import merge_queued
from flows.source.send.send_queue import OutgoingBatch, PartitionSender
from flows.source.send.send_recovery import Recovery, SequenceLost, after
from flows.source.send.target_leaders import TargetLeaders
from mm2.core.model import NO_OFFSET
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient

REQUEST_TIMEOUT_MS: Final = 30_000
"""Java's default of ``request.timeout.ms``."""

_FORGOTTEN_AFTER_S: Final = 1.0
"""A broker may be told to forget idle producers at once (``producer.id.expiration.ms``)."""


class Gate(Protocol):
    """Lets batches pass only as part of an open transaction."""

    transactional_id: str

    def admits(self, lane: PartitionSender) -> bool:
        """Whether the next batch of a lane may be sent now; otherwise ``Producer.wake`` follows."""


class Producer:
    """
    Sends batches of any number of lanes to one cluster.

    Args:
        flow: for messages.
        client: the target; its tracked topics must cover the lanes.
        identity: the producer id and epoch that the batches are stamped with.
        request_timeout_ms: how long a broker may take to have a batch on all its replicas.
        max_request_size: bytes of batches in one request; a single larger batch goes alone.
        policy: how batches that wait are merged.
        gate: says when batches may be sent, in transactions; None sends them outside of any.
        may_send: asked before each request; when what it withholds may be sent, ``wake`` follows.
        clock: tells seconds.
    """

    def __init__(
        self,
        *,
        flow: str,
        client: WireClient,
        identity: ProducerIdentity,
        request_timeout_ms: int = REQUEST_TIMEOUT_MS,
        max_request_size: int = 4 << 20,
        policy: MergePolicy | None = None,
        gate: Gate | None = None,
        may_send: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._flow = flow
        self._client = client
        self._identity = identity
        self._timeout_ms = request_timeout_ms
        self._max_request = max_request_size
        self._policy = policy or MergePolicy()
        self._gate = gate
        self._may_send = may_send
        self._clock = clock
        self._leaders = TargetLeaders(client, self._look_at_leaders)
        self._recovery = Recovery(
            flow=flow,
            alias=client.alias,
            stamp=self._stamped,
            release=self._release,
            refresh=self._leaders.refresh,
            most_plain=self._policy.most_plain,
        )
        self._ready: dict[PartitionSender, None] = {}
        self._work = asyncio.Event()
        self._under_way = InFlightLimits(client.throttle, self._work.set)
        self._settled = asyncio.Event()

    def send(
        self,
        lane: PartitionSender,
        data: bytes | bytearray | memoryview,
        offsets: Sequence[int],
    ) -> None:
        """
        Stamps the batch, or a copy if it is no bytearray, and queues it.

        Order: that of the calls.
        """
        now = self._clock()
        if lane.is_idle and now - lane.used_at > _FORGOTTEN_AFTER_S:
            lane.is_known = False
        lane.used_at = now
        batch = self._stamped(data, lane.sequence)
        outgoing = OutgoingBatch(batch, lane.sequence, offsets, oldest_timestamp(batch), len(batch))
        lane.sequence = after(lane.sequence, outgoing)
        lane.queue.append(outgoing)
        self._offer(lane)

    def withdraw(self, lane: PartitionSender) -> bool:
        """
        Sends no more to a target partition that is gone, and drops what is not appended.

        False while answers are awaited: then ask again. What is dropped must be sent anew from
        the first dropped batch on, after ``resume``.

        Raises:
            SequenceLost: a transaction may hold batches that we do not know of.
        """
        lane.is_withdrawn = True
        self._ready.pop(lane, None)
        if lane.unanswered:
            return False
        if self._gate is not None and not lane.is_settled:
            raise SequenceLost(self._flow, f"{lane.target} is gone in mid-transaction")
        lane.requeue_in_flight()
        self._settled.set()
        return True

    def resume(self, lane: PartitionSender) -> None:
        """Sends to a partition again that was withdrawn."""
        lane.is_withdrawn = False
        self._offer(lane)

    async def flush(
        self, lanes: Iterable[PartitionSender], *, within_s: float | None = None
    ) -> bool:
        """
        Waits until everything sent on these lanes is appended or refused; False if it takes longer.
        """
        lanes = list(lanes)
        return await self.wait_until(lambda: all(lane.is_idle for lane in lanes), within_s=within_s)

    async def wait_until(
        self, condition: Callable[[], bool], *, within_s: float | None = None
    ) -> bool:
        """
        Waits for a condition that answers of brokers bring about; False if it takes longer.
        """
        try:
            async with asyncio.timeout(within_s):
                while not condition():
                    self._settled.clear()
                    await self._settled.wait()
        except TimeoutError:
            return False
        return True

    def wake(self) -> None:
        """Lanes that were turned away may send now."""
        self._work.set()

    def skip(self, lane: PartitionSender, batch: OutgoingBatch) -> bool:
        """
        Leaves out the batch for which the lane waits (``Verdict.WAIT``), and goes on.

        False if it has been taken off the lane meanwhile.
        """
        is_skipped = self._recovery.skip(lane, batch)
        self._settled.set()
        return is_skipped

    def drop(self, lane: PartitionSender) -> None:
        """Drops all that is queued in a lane that waits (``Verdict.WAIT``)."""
        lane.requeue_in_flight()
        self._settled.set()

    async def run(self) -> None:
        """
        Sends until cancelled.

        Raises:
            Fenced: a newer producer has our transactional id.
            SequenceLost: the target forgot our sequence numbers.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._leaders.follow(), name="leaders")
            while True:
                await self._work.wait()
                self._work.clear()
                if self._may_send():
                    for node, lanes in self._sendable().items():
                        self._launch(group, node, lanes)

    def _stamped(self, data: bytes | bytearray | memoryview, sequence: int) -> bytearray:
        """A batch as ours."""
        return rewrite_header(
            data,
            producer_id=self._identity.producer_id,
            epoch=self._identity.epoch,
            sequence=sequence,
            transactional=self._gate is not None,
        )

    def _offer(self, lane: PartitionSender) -> None:
        if lane.queue and not lane.is_held and lane.has_room:
            self._ready[lane] = None
            self._work.set()

    def _sendable(self) -> dict[int, list[PartitionSender]]:
        """Ready lanes by leader; asks for metadata when a leader is not known."""
        by_node: dict[int, list[PartitionSender]] = {}
        for lane in self._ready:
            node = self._client.leader(lane.target)
            if node is None:
                lane.last_error = "nobody leads the partition"
                self._leaders.refresh()
            elif self._gate is None or self._gate.admits(lane):
                by_node.setdefault(node, []).append(lane)
        return {node: lanes for node, lanes in by_node.items() if self._under_way.has_room(node)}

    def _launch(self, group: asyncio.TaskGroup, node: int, lanes: list[PartitionSender]) -> None:
        """Starts one request with one batch of as many lanes as fit."""
        taken: list[tuple[PartitionSender, OutgoingBatch]] = []
        size = 0
        for lane in lanes:
            batch = self._head(lane)
            if taken and size + len(batch.data) > self._max_request:
                break
            lane.queue.popleft()
            batch.is_fixed = True
            lane.flying.append(batch)
            lane.unanswered += 1
            size += len(batch.data)
            taken.append((lane, batch))
            del self._ready[lane]
            self._offer(lane)
        self._under_way.begin(node)
        group.create_task(self._request(node, taken), name=f"produce-{node}")
        if self._ready:
            self._work.set()

    def _head(self, lane: PartitionSender) -> OutgoingBatch:
        """The next batch to send; what waits behind it goes with it if it is small."""
        if lane.merges and len(lane.queue) > 1 and (one := merge_queued(lane, self._policy)):
            one.data = self._stamped(one.data, one.sequence)
            lane.queue.appendleft(one)
        return lane.queue[0]

    async def _request(self, node: int, taken: list[tuple[PartitionSender, OutgoingBatch]]) -> None:
        batches = [(*lane.target, batch.data) for lane, batch in taken]
        answers: dict[tuple[str, int], tuple[int, int]] = {}
        trouble = None
        try:
            answered = await self._client.produce(
                node,
                batches,
                timeout_ms=self._timeout_ms,
                transactional_id=self._gate.transactional_id if self._gate else None,
            )
            answers = {
                (p.topic, p.partition): (p.error, p.base_offset) for p in answered.partitions
            }
        except Unavailable as error:
            trouble = str(error)
        finally:
            self._under_way.end(node)
        lost = (int(Code.NETWORK_EXCEPTION), NO_OFFSET)
        for lane, batch in taken:
            batch.answer, batch.base_offset = answers.get(lane.target, lost)
            lane.unanswered -= 1
            self._settle(lane, trouble)
        self._work.set()
        self._settled.set()

    def _settle(self, lane: PartitionSender, trouble: str | None) -> None:
        """Reports what is appended in order, and deals with trouble once all answers are in."""
        while lane.flying and lane.flying[0].is_appended:
            lane.recovered()
            lane.is_known = True
            lane.on_ack(lane.flying.popleft())
        if any(not batch.is_appended for batch in lane.flying if batch.answer is not None):
            lane.is_held = True
            self._ready.pop(lane, None)
        if not lane.is_held:
            self._offer(lane)
        elif lane.unanswered == 0:
            self._recovery.recover(lane, trouble)

    def _release(self, lane: PartitionSender) -> None:
        lane.is_held = False
        self._offer(lane)

    def _look_at_leaders(self) -> None:
        self._free_memory_of_the_leaderless()
        self._work.set()

    def _free_memory_of_the_leaderless(self) -> None:
        for lane in self._ready:
            if not lane.flying and self._client.leader(lane.target) is None:
                lane.attempts += 1
                if lane.is_stuck:
                    self._recovery.free_memory(lane)
