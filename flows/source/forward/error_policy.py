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
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.damaged_batch import damaged_batch
from flows.source.forward.dead_letters import (
    CONSUMED,
    PRODUCED,
    TRANSFORMED,
    Failure,
    context_headers,
    dead_letter,
    key_and_value,
    readable,
    refused_record,
)
from flows.source.forward.record_body import DecodedRecord, keyed_body
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.config.connector_settings import ErrorSettings
from mm2.core.model import SOURCE_CONNECTOR, TopicName, TopicPartition
from mm2.kafka.wire.compression import MOST_PLAIN
from mm2.kafka.wire.error_codes import RECORD_AT_FAULT, Code, code_name

log = structlog.get_logger()

_CHECK_EVERY_S: Final = 1.0
_NO_TIMESTAMP: Final = -1
_SHOWN_BYTES: Final = 1_000
"""Of keys and values in the log."""


class ErrorPolicy:
    """
    Decides about records that cannot be mirrored.

    Args:
        partitions: of the task; may change at any time.
        changed: called when a partition stops, skips records or may be fetched again.
        most_plain: bytes that a batch may have when it is decompressed.
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
        self._task = task
        self._producer = producer
        self._budget = budget
        self._partitions = partitions
        self._changed = changed
        self._most_plain = most_plain
        self._refused: dict[MirroredPartition, dict[int, float]] = {}
        self._stopped: set[MirroredPartition] = set()
        self._has_stopped = asyncio.Event()
        self._letters: deque[tuple[Callable[[], None], Callable[[str], None]]] = deque()
        self._sender = PartitionSender(
            TopicPartition(TopicName(settings.dead_letter_topic or ""), 0),
            on_ack=lambda _: self._delivered(),
            on_refused=self._letter_refused,
        )

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
            if self._partitions.get(partition.source) is not partition:
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

        self.report(failure, refused_record(batch, self._most_plain), delivered, failed)
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
            if self._partitions.get(partition.source) is partition
            and (left := {o: s for o, s in refused.items() if o > partition.progress.mirrored})
        }

    def unreadable(self, partition: MirroredPartition, records: memoryview, reason: str) -> None:
        """
        Decides about a batch of the source that cannot be read, again and again.

        With tolerance all its offsets are passed over; the dead letter's value is its bytes. The
        partition is paused until that is written. If the batch's end is unknown, the partition
        stops in any case.
        """
        position = partition.fetch.position or 0
        found = damaged_batch(records, position, partition.fetch.end)
        if not self._settings.tolerates or found is None:
            self.stop(partition, f"unreadable at offset {position}: {reason}")
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
            partition.count_skipped(found.offsets)
            self.count_letter(partition)

        letter = DecodedRecord(position, _NO_TIMESTAMP, keyed_body(None, found.data))
        self.report(failure, letter, delivered, failed)

    async def failed_transform(
        self, partition: MirroredPartition, record: DecodedRecord, reason: str
    ) -> None:
        """
        Decides about a record that the user's code cannot handle.

        Returns when it may be left out, because its dead letter is written, or else the partition
        has gone back to it, or before it meanwhile.
        """
        resets = partition.fetch.resets
        if self._settings.tolerates and not self._is_worth_another(partition, record.offset):
            failure = Failure(
                source=partition.source,
                offset=record.offset,
                stage=TRANSFORMED,
                code=Code.UNKNOWN_SERVER_ERROR,
                reason=reason,
            )
            written: asyncio.Future[str] = asyncio.get_running_loop().create_future()

            def done(refusal: str = "") -> None:
                if not written.done():
                    written.set_result(refusal)

            self.report(failure, record, done, done)
            refusal = await written
            if partition.fetch.resets != resets:
                return
            if not refusal:
                partition.progress.count_skipped(1)
                self.count_letter(partition)
                return
            reason = f"{reason}; {refusal}"
        partition.fetch.go_back(record.offset)
        if self._settings.tolerates and self._is_worth_another(partition, record.offset):
            partition.fetch.pause(_CHECK_EVERY_S)
        else:
            self.stop(partition, reason)

    def count_letter(self, partition: MirroredPartition) -> None:
        """Something of a partition was skipped: the dead-letter topic has it, if there is one."""
        if self._settings.dead_letter_topic is not None:
            partition.progress.count_dead_letter()

    def report(
        self,
        failure: Failure,
        record: DecodedRecord,
        delivered: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        """Has something be skipped once its dead letter is written, or the log has it."""
        record = readable(record)
        if self._settings.logs or self._settings.dead_letter_topic is None:
            self._log(failure, record)
        self._letters.append((delivered, failed))
        if self._settings.dead_letter_topic is None:
            asyncio.get_running_loop().call_soon(self._delivered)
            return
        headers = []
        if self._settings.context_headers:
            headers = context_headers(failure, connector=SOURCE_CONNECTOR, task=self._task)
        letter = dead_letter(record, headers)
        self._producer.send(self._sender, letter.data, [failure.offset])

    def _delivered(self) -> None:
        delivered, _ = self._letters.popleft()
        delivered()
        self._changed()

    def _letter_refused(self, batch: OutgoingBatch, code: int) -> SendState:
        """The partition whose letter is refused stops; the letters behind it are still sent."""
        _, failed = self._letters.popleft()
        failed(f"the dead-letter topic {self._sender.target.topic} answers {code_name(code)}")
        asyncio.get_running_loop().call_soon(self._producer.skip, self._sender, batch)
        return SendState.WAIT

    def stop(self, partition: MirroredPartition, reason: str) -> None:
        """Stops a partition, and lets it try again after ``errors.retry.delay.max.ms``."""
        retry_at = time.monotonic() + self._settings.retry_delay.total_seconds()
        partition.fail_until(retry_at, reason)
        self._stopped.add(partition)
        self._has_stopped.set()
        self._changed()

    def _log(self, failure: Failure, record: DecodedRecord) -> None:
        message: dict[str, object] = {}
        if self._settings.logs_messages:
            key, value = key_and_value(record.body)
            message = {
                "timestamp_ms": record.timestamp,
                "key": None if key is None else repr(key[:_SHOWN_BYTES]),
                "value": None if value is None else repr(value[:_SHOWN_BYTES]),
            }
        log.error(
            "source.record_skipped",
            topic=failure.source.topic,
            partition=failure.source.partition,
            upstream_offset=failure.offset,
            stage=failure.stage,
            error=failure.message,
            **message,
        )


def _refusal(batch: OutgoingBatch, code: int) -> str:
    what = "record" if code in RECORD_AT_FAULT else "batch"
    return f"the target refuses the {what} at offset {batch.offsets[0]} for good: {code_name(code)}"
