"""A message handler that is given the records of whole batches, and each of them once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cached_property
from inspect import iscoroutine, iscoroutinefunction
from typing import Any, Final, NamedTuple

from flows.source.forward.record_batch import Batch
from flows.source.transform.column_handle import ChangedPart, Sections
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
        answers: what the handler has returned or raised, by offset.
        is_odd: whether it has returned what batches do not take.
        left_out: for how many records it has returned none.
    """

    covers: range
    sections: Sections | None = None
    answers: Callable[[], dict[int, object]] = dict
    is_odd: bool = False
    left_out: int = 0


def compile_handler_batches() -> None:
    """Waits until the code for it is compiled."""
    _compiled.wait()


class HandlerOfBatches:
    """
    A ``Handle`` that decodes and encodes many records at a time.

    What the handler answers is kept until the records are sent: if they cannot be, they are handled
    one by one with these answers. Once it has returned what batches do not take (it waits, or
    returns no list of plain records), all that follows is handled one by one.

    Args:
        least: so many records at least are worth it.
    """

    def __init__(self, handle: Handle, *, least: int = _WORTH_IT) -> None:
        self._handle = handle
        self._least = least
        self._kept: dict[tuple[str, int], _Kept] = {}
        self._is_alone = iscoroutinefunction(handle)

    def __call__(self, record: SourceRecord) -> Handled | Awaitable[Handled]:
        """What one record becomes."""
        kept = self._kept.get((record.topic, record.partition))
        if kept is None or record.offset not in kept.answers:
            return self._handle(record)
        answer: Any = kept.answers.pop(record.offset)
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
    ) -> AsyncIterator[ChangedPart]:
        """
        What becomes of the records of batches: parts of ``cover``, in order.

        None instead of sections: these are to be handled one by one. So are all if they are few,
        and until the code for batches is compiled.
        """
        handled_parts = None if self._is_alone else _compiled.get()
        if handled_parts is None or sum(batch.count for batch in batches) < self._least:
            yield ChangedPart(cover)
            return
        parts: AsyncIterator[HandledPart] = handled_parts(
            self._handle, batches, cover, target, most=most, most_plain=most_plain
        )
        async for part in parts:
            self._is_alone |= part.is_odd
            kept = self._kept[target] = _Kept(part)
            try:
                yield ChangedPart(part.covers, part.sections, part.left_out)
            finally:
                self._kept.pop(target, None)
                if part.sections is None:
                    kept.close()
            if part.is_odd and part.covers.stop < cover.stop:
                yield ChangedPart(range(part.covers.stop, cover.stop))
                return


class _Kept:
    """What a handler has answered, until nobody needs it any more."""

    def __init__(self, part: HandledPart) -> None:
        self._part = part

    @cached_property
    def answers(self) -> dict[int, object]:
        """By offset; those that were used are taken out."""
        return self._part.answers()

    def close(self) -> None:
        """Closes coroutines that nobody has awaited."""
        for answer in self.answers.values():
            if iscoroutine(answer):
                answer.close()
