"""
What becomes of records that cannot be mirrored: Connect's ``errors.*`` keys (KIP-298).

Without tolerance (the default) a partition stops at such a record, reports it, and is retried after
``errors.retry.delay.max.ms``: no restart is needed after a limit of the target was raised.
With ``errors.tolerance=all`` the record goes to the dead-letter topic, or where there is none to
the log, is counted, and the partition goes on. Its position passes the record only once the
dead-letter topic has it. The dead-letter record is sent by the task's own producer, so that in a
transaction it is part of that transaction.

Errors that are not about single records stop the partition in any case: going on would skip all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import structlog

from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.damaged_batch import damaged_batch
from flows.source.forward.dead_letter_writer import DeadLetterWriter
from flows.source.forward.dead_letters import (
    CONSUMED,
    PRODUCED,
    TRANSFORMED,
    Failure,
    refused_record,
)
from flows.source.forward.record_body import DecodedRecord, unreadable_record
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.config.connector_settings import ErrorSettings
from mm2.core.model import TopicPartition
from mm2.kafka.wire.compression import MOST_PLAIN
from mm2.kafka.wire.error_codes import RECORD_AT_FAULT, Code, code_name

log = structlog.get_logger()

_CHECK_EVERY_S: Final = 1.0


class ErrorPolicy:
    """
    Decides about records that cannot be mirrored.

    Args:
        partitions: of the task; may change at any time.
        changed: called when a partition stops, skips records or may be fetched again.
        most_plain: bytes that a batch may have when it is decompressed.

    Attributes:
        letters: writes dead letters, or logs them where there is no topic for them.
    """

    def __init__(
        self,
        settings: ErrorSettings,
        *,
        task: int,
        producer: Producer,
        budget: MemoryBudget,
        partitions: Mapping[TopicPartition, MirroredPartition],
        changed: Callable[[], None],
        most_plain: int = MOST_PLAIN,
    ) -> None:
        self._settings = settings
        self._producer = producer
        self._budget = budget
        self._partitions = partitions
        self._changed = changed
        self._most_plain = most_plain
        self._refused: dict[MirroredPartition, dict[int, float]] = {}
        self._stopped: set[MirroredPartition] = set()
        self._has_stopped = asyncio.Event()
        self.letters = DeadLetterWriter(settings, task=task, producer=producer, changed=changed)

    async def run(self) -> None:
        """Lets stopped partitions try again when their time has come, until cancelled."""
        while True:
            await self._has_stopped.wait()
            await asyncio.sleep(_CHECK_EVERY_S)
            self._retry_those_due()
            if not self._stopped:
                self._has_stopped.clear()

    def _retry_those_due(self) -> None:
        now = time.monotonic()
        for partition in list(self._stopped):
            if not self._is_ours(partition):
                self._stopped.discard(partition)
            elif partition.retry_at is not None and partition.retry_at <= now:
                self._stopped.discard(partition)
                partition.retry()
                self._changed()

    def refused(
        self, partition: MirroredPartition, sender: PartitionSender, batch: OutgoingBatch, code: int
    ) -> SendState:
        """Decides about the first batch of a sender, a partition's, which the target refuses."""
        if code not in RECORD_AT_FAULT or not self._settings.tolerates:
            self.stop(partition, _refusal(batch, code))
            return SendState.STOP
        if self._is_worth_another(partition, batch.offsets[0]):
            if self._producer.is_transactional and partition.routed.owners:
                # A transaction needs all copies of a record, and cannot wait for the next try.
                self.stop(partition, _refusal(batch, code))
                return SendState.STOP
            return SendState.RETRY
        failure = Failure(
            source=partition.source, offset=batch.offsets[0], stage=PRODUCED, code=code
        )

        def delivered() -> None:
            if self._producer.skip(sender, batch):
                self._budget.release(batch.size)
                partition.skip(batch)
                self.count_letter(partition)

        def failed(reason: str) -> None:
            self._producer.drop(sender)
            self.stop(partition, f"{_refusal(batch, code)}; {reason}")

        record = refused_record(batch, self._most_plain)
        self._write(partition, failure, record, delivered, failed)
        return SendState.WAIT

    def _is_worth_another(self, partition: MirroredPartition, offset: int) -> bool:
        """Whether a record has been refused for less than ``errors.retry.timeout``."""
        now, timeout = time.monotonic(), self._settings.retry_timeout
        self._forget_mirrored()
        since = self._refused.setdefault(partition, {}).setdefault(offset, now)
        return timeout is None or now - since < timeout.total_seconds()

    def _forget_mirrored(self) -> None:
        """Forgets refused records that were mirrored or skipped, and partitions of others."""
        self._refused = {
            partition: left
            for partition, refused in self._refused.items()
            if self._is_ours(partition)
            and (left := {o: s for o, s in refused.items() if o > partition.progress.mirrored})
        }

    def unreadable(self, partition: MirroredPartition, records: memoryview, reason: str) -> None:
        """
        Decides about a batch of the source that cannot be read, again and again.

        With tolerance all its offsets are passed over; the dead letter's value is its bytes. The
        partition is paused until that is written. If the batch's end is unknown, the partition
        stops in any case. In a transaction the letter follows all that was sent before it, and the
        position passes it with the answer; until then the batch is read again.
        """
        position = partition.fetch.position or 0
        found = damaged_batch(records, position, partition.fetch.end)
        if not self._settings.tolerates or found is None:
            self.stop(partition, f"unreadable at offset {position}: {reason}")
            return
        has_landed = partition.is_sent and partition.fetch.pending_from is None
        if self._producer.is_transactional and not (has_landed and self._is_ours(partition)):
            partition.fetch.pause(_CHECK_EVERY_S)
            return
        failure = Failure(
            source=partition.source,
            offset=position,
            stage=CONSUMED,
            code=Code.CORRUPT_MESSAGE,
            reason=reason,
        )
        partition.fetch.hold()

        def failed(text: str) -> None:
            partition.fetch.resume()
            self.stop(partition, f"unreadable at offset {position}: {reason}; {text}")

        def delivered() -> None:
            if partition.fetch.position != position:
                partition.fetch.resume()  # it went back meanwhile, and meets the batch again
                return
            self._pass_over(partition, found.offsets.stop - 1)
            partition.skip_unreadable(found.offsets)
            self.count_letter(partition)

        letter = unreadable_record(position, found.data)
        self._write(partition, failure, letter, delivered, failed)

    async def failed_transform(
        self, partition: MirroredPartition, record: DecodedRecord, reason: str
    ) -> None:
        """
        Decides about a record that the user's code cannot handle.

        Returns when it may be left out, because its dead letter is written, or else the partition
        has gone back to it, or before it meanwhile.
        """
        if self._settings.tolerates and not self._is_worth_another(partition, record.offset):
            failure = Failure(
                source=partition.source,
                offset=record.offset,
                stage=TRANSFORMED,
                code=Code.UNKNOWN_SERVER_ERROR,
                reason=reason,
            )
            refusal = await self._pass_with_letter(partition, failure, record)
            if refusal is None:
                return
            reason = f"{reason}; {refusal}"
        partition.fetch.go_back(record.offset)
        if self._settings.tolerates and self._is_worth_another(partition, record.offset):
            partition.fetch.pause(_CHECK_EVERY_S)
        else:
            self.stop(partition, reason)

    async def _pass_with_letter(
        self, partition: MirroredPartition, failure: Failure, record: DecodedRecord
    ) -> str | None:
        """
        Passes a record over once its dead letter is written; returns why that is refused.

        In a transaction the letter follows all that was sent before it, and the position passes it
        with the answer: one that commits has both or none, also if nobody waits here any more.
        """
        fetch = partition.fetch
        resets = fetch.resets
        if self._producer.is_transactional:
            await self._producer.wait_until(lambda: partition.is_sent or fetch.resets != resets)
            if not self._is_ours(partition):
                fetch.go_back(failure.offset)
        if fetch.resets != resets:
            return None
        written: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def delivered() -> None:
            if fetch.resets == resets:
                partition.progress.count_skipped(1)
                self.count_letter(partition)
                self._pass_over(partition, failure.offset)
                fetch.hand_on(failure.offset + 1)
                partition.advance_past_skipped()
            answered(None)

        def answered(refusal: str | None) -> None:
            if not written.done():
                written.set_result(refusal)

        self._write(partition, failure, record, delivered, answered)
        refusal = await written
        return refusal if fetch.resets == resets else None

    def count_letter(self, partition: MirroredPartition) -> None:
        """Something of a partition was skipped: the dead-letter topic has it, if there is one."""
        if self._settings.dead_letter_topic is not None:
            partition.progress.count_dead_letter()

    def _write(
        self,
        partition: MirroredPartition,
        failure: Failure,
        record: DecodedRecord,
        delivered: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        """As ``DeadLetterWriter.write``; the partition is not given up meanwhile."""
        if self._settings.dead_letter_topic is None:
            self.letters.write(failure, record, delivered, failed)
            return
        progress = partition.progress
        progress.begin_letter()

        def ended(then: Callable[..., None], *reason: str) -> None:
            progress.end_letter()
            then(*reason)

        self.letters.write(failure, record, partial(ended, delivered), partial(ended, failed))

    def _pass_over(self, partition: MirroredPartition, offset: int) -> None:
        """In a transaction, positions pass a record with its letter, whatever is sent behind it."""
        if self._producer.is_transactional:
            partition.progress.pass_over(offset)

    def _is_ours(self, partition: MirroredPartition) -> bool:
        return self._partitions.get(partition.source) is partition

    def stop(self, partition: MirroredPartition, reason: str) -> None:
        """Stops a partition, and lets it try again after ``errors.retry.delay.max.ms``."""
        retry_at = time.monotonic() + self._settings.retry_delay.total_seconds()
        partition.fail_until(retry_at, reason)
        self._stopped.add(partition)
        self._has_stopped.set()
        self._changed()


def _refusal(batch: OutgoingBatch, code: int) -> str:
    what = "record" if code in RECORD_AT_FAULT else "batch"
    return f"the target refuses the {what} at offset {batch.offsets[0]} for good: {code_name(code)}"
