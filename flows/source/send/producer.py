"""
An idempotent producer of ready-made batches.

Order: batches of one target partition are appended in the order of ``send``; retries keep their
sequence numbers, so that nothing is appended twice or out of order (KIP-98). Up to five requests
are in flight to a broker, the most for which a broker remembers sequence numbers. A partition in
trouble is held back until all its requests are answered, then resent from its first unanswered
batch; other partitions go on. A batch that is refused for the sake of a record is halved until that
record is alone; the sender's owner decides about it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.record_batch import oldest_timestamp, rewrite_header
from flows.source.send.in_flight import InFlightLimits
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.queued_batches import next_batch
from flows.source.send.send_queue import PartitionSender
from flows.source.send.send_recovery import Recovery, SequenceLost, Unwanted, after
from flows.source.send.target_leaders import TargetLeaders
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import NO_OFFSET
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient

REQUEST_TIMEOUT_MS: Final = 30_000
"""Java's default of ``request.timeout.ms``."""


class Producer:
    """
    Sends batches of any number of partitions to one cluster.

    The client's tracked topics must cover them. ``max_request_size`` is of the batches in one
    request; a single larger batch is sent alone. Without a ``gate`` batches are sent outside of
    transactions. ``may_send`` is called before each request; after it was false, ``wake`` must
    follow once it is true. ``clock`` returns seconds.
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
        gate: TransactionGate | None = None,
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
        self._leaders = TargetLeaders(client, self._on_refresh)
        self._recovery = Recovery(
            flow=flow,
            alias=client.alias,
            stamp=self._stamped,
            release=self._release,
            refresh=self._leaders.refresh,
            most_plain=self._policy.most_plain,
            spoil=None if gate is None else gate.spoil,
        )
        self._ready: dict[PartitionSender, None] = {}
        self._work = asyncio.Event()
        self._in_flight = InFlightLimits(client.throttle, self._work.set)
        self._answered = asyncio.Event()

    @property
    def is_transactional(self) -> bool:
        """Whether all that it sends is part of a transaction."""
        return self._gate is not None

    def send(
        self,
        sender: PartitionSender,
        data: bytes | bytearray | memoryview,
        offsets: Sequence[int],
        covers: range | None = None,
    ) -> OutgoingBatch:
        """
        Stamps the batch, or a copy if it is no bytearray, and queues it, in the order of the calls.

        ``covers`` as in ``OutgoingBatch``.
        """
        sender.touch(self._clock())
        batch, oldest = self._stamped(data, sender.sequence), oldest_timestamp(data)
        outgoing = OutgoingBatch(batch, sender.sequence, offsets, oldest, len(batch), covers=covers)
        outgoing.continues = covers is not None and sender.continues
        outgoing.turn = self._gate.turn if self._gate else 0
        sender.sequence = after(sender.sequence, outgoing)
        sender.queue.append(outgoing)
        self._offer(sender)
        return outgoing

    def withdraw(self, sender: PartitionSender) -> bool:
        """
        Sends no more to a target partition that is gone, and drops what is not appended.

        False while answers are awaited: then ask again. What is dropped must be sent again.

        Raises:
            SequenceLost: a transaction may hold batches that we do not know of.
        """
        sender.is_withdrawn = True
        self._ready.pop(sender, None)
        if sender.unanswered:
            return False
        if self._gate is not None and not sender.is_certain:
            raise SequenceLost(self._flow, f"{sender.target} is gone in mid-transaction")
        self.start_over(sender)
        return True

    def start_over(self, sender: PartitionSender) -> None:
        """Drops all that is queued; of what was sent it must be certain whether it is appended."""
        self._ready.pop(sender, None)
        sender.drop_unacked()
        self._answered.set()

    def resume(self, sender: PartitionSender) -> None:
        """Sends to a partition again that was withdrawn."""
        sender.is_withdrawn = False
        self._offer(sender)

    async def flush(
        self, senders: Iterable[PartitionSender], *, within_s: float | None = None
    ) -> bool:
        """Waits until all that was sent is appended or refused; False if it takes longer."""
        senders = list(senders)
        return await self.wait_until(
            lambda: all(sender.is_idle for sender in senders), within_s=within_s
        )

    async def wait_until(
        self, condition: Callable[[], bool], *, within_s: float | None = None
    ) -> bool:
        """Waits for a condition that answers of brokers bring about; False if it takes longer."""
        try:
            async with asyncio.timeout(within_s):
                while not condition():
                    self._answered.clear()
                    await self._answered.wait()
        except TimeoutError:
            return False
        return True

    def wake(self) -> None:
        """Senders that were turned away may send now."""
        self._work.set()

    def skip(self, sender: PartitionSender, batch: OutgoingBatch) -> bool:
        """As ``Recovery.skip``."""
        self._answered.set()
        return self._recovery.skip(sender, batch)

    def withhold(self, sender: PartitionSender, unwanted: Unwanted) -> list[OutgoingBatch]:
        """As ``Recovery.withhold``."""
        withheld = self._recovery.withhold(sender, unwanted)
        if not sender.queue:
            self._ready.pop(sender, None)
        return withheld

    def drop(self, sender: PartitionSender) -> None:
        """Drops all that is queued in a sender that waits (``SendState.WAIT``)."""
        self._recovery.stop(sender)
        self._answered.set()

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
                    slow = [
                        self._launch(group, node, senders)
                        for node, senders in self._sendable().items()
                    ]
                    if any(slow):
                        await asyncio.sleep(0)  # others have their turn

    def _stamped(self, data: bytes | bytearray | memoryview, sequence: int) -> bytearray:
        return rewrite_header(
            data,
            producer_id=self._identity.producer_id,
            epoch=self._identity.epoch,
            sequence=sequence,
            transactional=self.is_transactional,
        )

    def _offer(self, sender: PartitionSender) -> None:
        if sender.queue and not sender.is_held and sender.has_room:
            self._ready[sender] = None
            self._work.set()

    def _sendable(self) -> dict[int, list[PartitionSender]]:
        """Ready senders by leader; asks for metadata when a leader is not known."""
        by_node: dict[int, list[PartitionSender]] = {}
        for sender in self._ready:
            node = self._client.leader(sender.target)
            if node is None:
                sender.report_error("the partition has no leader")
                self._leaders.refresh()
            elif self._gate is None or self._gate.admits(sender):
                by_node.setdefault(node, []).append(sender)
        return {
            node: senders for node, senders in by_node.items() if self._in_flight.has_room(node)
        }

    def _launch(self, group: asyncio.TaskGroup, node: int, senders: list[PartitionSender]) -> bool:
        """Starts a request with one batch of as many senders as fit; whether that took long."""
        taken: list[tuple[PartitionSender, OutgoingBatch]] = []
        size, is_slow = 0, False
        for sender in senders:
            batch, is_slow = next_batch(
                sender, self._policy, self._stamped, self._leaders.has_followers
            )
            if taken and size + len(batch.data) > self._max_request:
                break
            sender.launch()
            size += len(batch.data)
            taken.append((sender, batch))
            del self._ready[sender]
            self._offer(sender)
            if is_slow:
                break
        self._in_flight.begin(node)
        group.create_task(self._request(node, taken), name=f"produce-{node}")
        if self._ready:
            self._work.set()
        return is_slow

    async def _request(self, node: int, taken: list[tuple[PartitionSender, OutgoingBatch]]) -> None:
        answers: dict[tuple[str, int], tuple[int, int]] = {}
        trouble = None
        try:
            reply = await self._client.produce(
                node,
                [(*sender.target, batch.data) for sender, batch in taken],
                timeout_ms=self._timeout_ms,
                transactional_id=self._gate.transactional_id if self._gate else None,
            )
            answers = {(p.topic, p.partition): (p.error, p.base_offset) for p in reply.partitions}
        except Unavailable as error:
            trouble = str(error)
        finally:
            self._in_flight.end(node)
        lost = (int(Code.NETWORK_EXCEPTION), NO_OFFSET)
        for sender, batch in taken:
            batch.answer, batch.base_offset = answers.get(sender.target, lost)
            sender.unanswered -= 1
            self._take_answers(sender, trouble)
        self._work.set()
        self._answered.set()

    def _take_answers(self, sender: PartitionSender, trouble: str | None) -> None:
        """Reports what is appended in order, and deals with trouble once all answers are in."""
        sender.report_appended()
        if any(not batch.is_appended for batch in sender.flying if batch.answer is not None):
            sender.is_held = True
            self._ready.pop(sender, None)
        if not sender.is_held:
            self._offer(sender)
        elif sender.unanswered == 0:
            self._recovery.recover(sender, trouble)

    def _release(self, sender: PartitionSender) -> None:
        sender.is_held = False
        self._offer(sender)

    def _on_refresh(self) -> None:
        idle = (sender for sender in self._ready if not sender.flying)
        for sender in (each for each in idle if self._client.leader(each.target) is None):
            sender.attempts += 1
            if sender.is_stuck:
                self._recovery.free_memory(sender)
        self._work.set()
