"""
Writes dead letters one after the other, or says in the log what is skipped.

They are sent by the task's own producer, so that in a transaction they are part of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

import structlog

from flows.source.forward.dead_letters import (
    Failure,
    context_headers,
    dead_letter,
    key_and_value,
    readable,
)
from flows.source.forward.record_body import DecodedRecord
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.config.connector_settings import ErrorSettings
from mm2.core.model import SOURCE_CONNECTOR, TopicName, TopicPartition
from mm2.kafka.wire.error_codes import code_name

log = structlog.get_logger()

_SHOWN_BYTES: Final = 1_000
"""Of keys and values in the log."""


class DeadLetterWriter:
    """
    The dead letters of a task.

    Args:
        changed: called when one is written.
    """

    def __init__(
        self,
        settings: ErrorSettings,
        *,
        task: int,
        producer: Producer,
        changed: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._task = task
        self._producer = producer
        self._changed = changed
        self._letters: deque[tuple[Callable[[], None], Callable[[str], None]]] = deque()
        self._sender = PartitionSender(
            TopicPartition(TopicName(settings.dead_letter_topic or ""), 0),
            on_ack=lambda _: self._delivered(),
            on_refused=self._refused,
            has_letters=True,
        )

    def write(
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

    def _refused(self, batch: OutgoingBatch, code: int) -> SendState:
        """The partition whose letter is refused stops; the letters behind it are still sent."""
        _, failed = self._letters.popleft()
        failed(f"the dead-letter topic {self._sender.target.topic} answers {code_name(code)}")
        asyncio.get_running_loop().call_soon(self._producer.skip, self._sender, batch)
        return SendState.WAIT

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
