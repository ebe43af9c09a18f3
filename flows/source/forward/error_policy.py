"""
What becomes of records that cannot be mirrored: Connect's ``errors.*`` keys (KIP-298).

Without tolerance (the default) a partition stops at such a record, says so, and tries again after
``errors.retry.delay.max.ms``: whoever raises a limit of the target need not restart anything.
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
from math import inf
from typing import Final

import structlog

from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.batch import split
from flows.source.forward.damaged_batch import damaged_batch
from flows.source.forward.dead_letters import (
    CONSUMED,
    PRODUCED,
    Failure,
    context_headers,
    dead_letter,
    key_and_value,
    with_headers,
)
from flows.source.forward.recode import DecodedRecord, keyed_body, records_of
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import OutgoingBatch, PartitionSender, SendState
from mm2.core.model import SOURCE_CONNECTOR, TopicName, TopicPartition
from mm2.kafka.wire.compression import MOST_PLAIN
from mm2.kafka.wire.error_codes import RECORD_AT_FAULT, Code, code_name
from mm2.protocol.bundle_spec import ErrorSpec

log = structlog.get_logger()

_LOOK_EVERY_S: Final = 1.0
_NO_TIMESTAMP: Final = -1
_SHOWN_BYTES: Final = 1_000
"""Of keys and values in the log."""


class ErrorPolicy:
    """
    Decides about records that cannot be mirrored.

    Args:
        spec: what the user wants.
        task: number of the bundle.
        producer: sends dead letters.
        budget: counts the bytes of what is refused.
        partitions: of the task; may change at any time.
        changed: called when a partition stops, skips something or may be fetched again.
        most_plain: bytes that a batch may have when it is decompressed.
    """

    def __init__(
        self,
        spec: ErrorSpec,
        *,
        task: int,
        producer: Producer,
        budget: MemoryBudget,
        partitions: Mapping[TopicPartition, MirroredPartition],
        changed: Callable[[], None],
        most_plain: int = MOST_PLAIN,
    ) -> None:
        self._spec = spec
        self._task = task
        self._producer = producer
        self._budget = budget
        self._partitions = partitions
        self._changed = changed
        self._most_plain = most_plain
        self._refused: dict[MirroredPartition, tuple[int, float]] = {}
        self._stopped: set[MirroredPartition] = set()
        self._has_stopped = asyncio.Event()
        self._letters: deque[tuple[Callable[[], None], Callable[[str], None]]] = deque()
        self._lane = PartitionSender(
            TopicPartition(TopicName(spec.dead_letter_topic or ""), 0),
            on_ack=lambda _: self._delivered(),
            on_refused=self._letter_refused,
        )

    async def run(self) -> None:
        """Lets stopped partitions try again when their time has come, until cancelled."""
        while True:
            await self._has_stopped.wait()
            await asyncio.sleep(_LOOK_EVERY_S)
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

    def refused(self, partition: MirroredPartition, batch: OutgoingBatch, code: int) -> SendState:
        """Decides about the first batch of a partition's lane, which the target refuses."""
        if code not in RECORD_AT_FAULT or not self._spec.tolerates:
            self.stop(partition, _refusal(batch, code))
            return SendState.STOP
        if self._is_worth_another(partition, batch.offsets[0]):
            return SendState.RETRY
        failure = Failure(
            source=partition.source, offset=batch.offsets[0], stage=PRODUCED, code=code
        )

        def delivered() -> None:
            if self._producer.skip(partition.lane, batch):
                self._budget.release(batch.size)
                partition.skip(batch)

        def failed(reason: str) -> None:
            self._producer.drop(partition.lane)
            self.stop(partition, f"{_refusal(batch, code)}; {reason}")

        self._report(failure, _record_of(batch, self._most_plain), delivered, failed)
        return SendState.WAIT

    def _is_worth_another(self, partition: MirroredPartition, offset: int) -> bool:
        """Whether a record has been refused for less than ``errors.retry.timeout``."""
        now = time.monotonic()
        refused, since = self._refused.get(partition, (offset, now))
        since = since if refused == offset else now
        self._refused[partition] = offset, since
        return now - since < self._spec.retry_timeout_s

    def unreadable(self, partition: MirroredPartition, records: memoryview, reason: str) -> None:
        """
        Decides about a batch of the source that cannot be read, again and again.

        With tolerance all its offsets are passed over; the dead letter's value is its bytes. The
        partition rests until that is written. If nothing tells where the batch ends, the partition
        stops in any case.
        """
        position = partition.position or 0
        found = damaged_batch(records, position, partition.end)
        if not self._spec.tolerates or found is None:
            self.stop(partition, f"unreadable at offset {position}: {reason}")
            return
        failure = Failure(
            source=partition.source,
            offset=position,
            stage=CONSUMED,
            code=Code.CORRUPT_MESSAGE,
            reason=reason,
        )
        partition.pause_until = inf

        def failed(text: str) -> None:
            partition.pause_until = 0.0
            self.stop(partition, f"unreadable at offset {position}: {reason}; {text}")

        self._report(
            failure,
            DecodedRecord(position, _NO_TIMESTAMP, keyed_body(None, found.data)),
            lambda: partition.pass_over(found.offsets),
            failed,
        )

    def _report(
        self,
        failure: Failure,
        record: DecodedRecord,
        delivered: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        """Has something be skipped once its dead letter is written, or the log has it."""
        if self._spec.logs or self._spec.dead_letter_topic is None:
            self._log(failure, record)
        self._letters.append((delivered, failed))
        if self._spec.dead_letter_topic is None:
            asyncio.get_running_loop().call_soon(self._delivered)
            return
        headers = []
        if self._spec.context_headers:
            headers = context_headers(failure, connector=SOURCE_CONNECTOR, task=self._task)
        letter = dead_letter(record, headers)
        self._producer.send(self._lane, letter.data, [failure.offset])

    def _delivered(self) -> None:
        delivered, _ = self._letters.popleft()
        delivered()
        self._changed()

    def _letter_refused(self, batch: OutgoingBatch, code: int) -> SendState:
        """The partition whose letter is refused stops; the letters behind it are still sent."""
        _, failed = self._letters.popleft()
        failed(f"the dead-letter topic {self._lane.target.topic} answers {code_name(code)}")
        asyncio.get_running_loop().call_soon(self._producer.skip, self._lane, batch)
        return SendState.WAIT

    def stop(self, partition: MirroredPartition, reason: str) -> None:
        """Stops a partition, and lets it try again after ``errors.retry.delay.max.ms``."""
        partition.fail(reason)
        partition.retry_at = time.monotonic() + self._spec.retry_delay_s
        self._stopped.add(partition)
        self._has_stopped.set()
        self._changed()

    def _log(self, failure: Failure, record: DecodedRecord) -> None:
        message: dict[str, object] = {}
        if self._spec.logs_messages:
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


def _record_of(batch: OutgoingBatch, most: int) -> DecodedRecord:
    """The refused record; what cannot be read is one record, whose value is its bytes."""
    try:
        (entry,) = split(memoryview(batch.data))
        (record,) = records_of(entry, most)
        with_headers(record.body, ())  # whether its body is one
    except ValueError:
        return DecodedRecord(batch.offsets[0], _NO_TIMESTAMP, keyed_body(None, bytes(batch.data)))
    return record


def _refusal(batch: OutgoingBatch, code: int) -> str:
    what = "record" if code in RECORD_AT_FAULT else "batch"
    return f"the target refuses the {what} at offset {batch.offsets[0]} for good: {code_name(code)}"
