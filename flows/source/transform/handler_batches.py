"""A message handler that is given the records of whole batches, and each of them once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from inspect import iscoroutine, iscoroutinefunction
from typing import Any, Final, NamedTuple

from flows.source.forward.record_batch import Batch
from flows.source.transform.column_handle import Sections
from flows.source.transform.message_handler import Handle, Handled
from mm2.core.handled_records import SourceRecord
from mm2.core.model import TopicPartition
from mm2.kafka.wire.compiled import Compiled

_WORTH_IT: Final = 32
"""Records for which a batch takes as long as they do one by one."""

_compiled: Final = Compiled("flows.source.transform.handler_parts", "handled_parts")


class HandledPart(NamedTuple):
    """
    Source offsets, and what becomes of their records.

    Attributes:
        sections: for batches, by where they go; None if the records are to be handled one by one.
        answer: of the handler for the only record, if it was asked: the one thing that it has
            returned or raised.
    """

    covers: range
    sections: Sections | None = None
    answer: tuple[object] | None = None


def compile_handler_batches() -> None:
    """Waits until the code for it is compiled."""
    _compiled.wait()


class HandlerOfBatches:
    """
    A ``Handle`` that decodes and encodes many records at a time.

    Where the handler raises, waits, or returns what is no list of records, its answer is kept until
    that record is handled alone, which follows at once.

    Args:
        least: so many records at least are worth it.
    """

    def __init__(self, handle: Handle, *, least: int = _WORTH_IT) -> None:
        self._handle = handle
        self._least = least
        self._kept: dict[tuple[str, int, int], Any] = {}
        self._waits = iscoroutinefunction(handle)

    def __call__(self, record: SourceRecord) -> Handled | Awaitable[Handled]:
        """What one record becomes."""
        key = record.topic, record.partition, record.offset
        if key not in self._kept:
            return self._handle(record)
        answer = self._kept.pop(key)
        if isinstance(answer, BaseException):
            raise answer
        found: Handled | Awaitable[Handled] = answer
        return found

    async def parts(
        self,
        batches: Sequence[Batch],
        cover: range,
        target: TopicPartition,
        most: int,
        most_plain: int,
    ) -> AsyncIterator[tuple[range, Sections | None]]:
        """
        What becomes of the records of batches: parts of ``cover``, in order.

        None instead of sections: these are to be handled one by one. So are all if they are few,
        if the handler waits, and until the code for batches is compiled.
        """
        handled_parts = None if self._waits else _compiled.get()
        if handled_parts is None or sum(batch.count for batch in batches) < self._least:
            yield cover, None
            return
        parts: AsyncIterator[HandledPart] = handled_parts(
            self._handle, batches, cover, target, most=most, most_plain=most_plain
        )
        async for part in parts:
            if part.answer is None:
                yield part.covers, part.sections
                continue
            (answer,) = part.answer
            self._waits = self._waits or isinstance(answer, Awaitable)
            key = target.topic, target.partition, part.covers.start
            self._kept[key] = answer
            try:
                yield part.covers, None
            finally:
                left = self._kept.pop(key, None)
                if iscoroutine(left):
                    left.close()
