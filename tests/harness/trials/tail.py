"""Follows the copies of topics, and remembers each record even when compaction takes it away."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from tests.harness.trials.gap_traffic import number_of
from tests.harness.trials.verdict import Log, Where

_WITHIN_S: Final = 60.0
_AT_ONCE: Final = 5_000


class Tail:
    """
    The records of some partitions, by the names that their topics have on the source.

    Args:
        bootstrap: of the cluster with the copies.
        copies: each partition of the source, and the topic that holds its copy.
    """

    def __init__(self, bootstrap: str, copies: Mapping[Where, str]) -> None:
        self._origins = {(copy, where[1]): where for where, copy in copies.items()}
        self._logs: dict[Where, list[tuple[int, int]]] = {where: [] for where in copies}
        self._next = dict.fromkeys(self._origins, 0)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"tail-{uuid4().hex}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )

    def __enter__(self) -> Self:
        self._consumer.assign([TopicPartition(*copy, OFFSET_BEGINNING) for copy in self._origins])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def refresh(self) -> None:
        """
        Reads on to what is the end of all that is committed now.

        Raises:
            AssertionError: a partition has no leader yet, or was not read to its end in time.
        """
        ends = {copy: self._end(copy) for copy in self._origins}
        deadline = time.monotonic() + _WITHIN_S
        while any(self._next[copy] < end for copy, end in ends.items()):
            for message in self._consumer.consume(_AT_ONCE, timeout=0.2):
                self._take(message)
            assert time.monotonic() < deadline, f"read to {self._next}, not to {ends}"

    def log(self, where: Where) -> Log:
        """What was found of a partition's copy so far."""
        return self._logs[where]

    def _take(self, message: Message) -> None:
        copy = (message.topic() or "", message.partition() or 0)
        offset = message.offset() or 0
        error = message.error()
        if error is None:
            self._logs[self._origins[copy]].append((offset, number_of(message.value())))
            self._next[copy] = offset + 1
        elif error.code() == KafkaError._PARTITION_EOF:
            # Behind the markers, too.
            self._next[copy] = offset

    def _end(self, copy: Where) -> int:
        where = TopicPartition(*copy)
        try:
            return self._consumer.get_watermark_offsets(where, timeout=_WITHIN_S)[1]
        except KafkaException as error:
            raise AssertionError(f"{copy} does not answer") from error
