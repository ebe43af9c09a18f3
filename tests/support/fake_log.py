"""A leader of one partition that answers fetches from memory."""

from __future__ import annotations

from collections.abc import Iterable

from flows.source.forward.record_batch import split
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.fetch import FetchAnswer, FetchedPartition, FetchRequest
from mm2.kafka.wire.requests.list_offsets import EARLIEST
from mm2.kafka.wire.throttle import Throttle
from tests.support.batches import Plain, write_batch

WHERE = TopicPartition(TopicName("t"), 0)


def batch(first: int, values: Iterable[bytes], codec: int = 0, *, attributes: int = 0) -> bytes:
    """Records with these values, of the producer 7."""
    records = [Plain(offset=first + at, value=value) for at, value in enumerate(values)]
    return write_batch(records, codec_number=codec, attributes=attributes, producer=(7, 0, 0))


class FakeLog:
    """
    Has batches by their first offsets, and answers with one at a time.

    Attributes:
        errors: codes that are answered first.
        failed_refreshes: how often no broker answers who asks for the leaders.
        refreshed: how often somebody has asked for the leaders anew.
    """

    def __init__(
        self, batches: dict[int, bytes], *, aborted: tuple[tuple[int, int], ...] = ()
    ) -> None:
        self.alias, self.throttle = "A", Throttle("A")
        self.batches, self.aborted = batches, aborted
        self.errors: list[int] = []
        self.failed_refreshes = 0
        self.refreshed = 0

    def leader(self, _: TopicPartition) -> int:
        return 1

    async def refresh(self) -> None:
        if self.failed_refreshes:
            self.failed_refreshes -= 1
            raise Unavailable(self.alias, "no broker answers")
        self.refreshed += 1

    async def list_offsets(
        self, asked: Iterable[TopicPartition], at: int, *, read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        del read_committed
        if at == EARLIEST:
            return {where: min(self.batches) for where in asked}
        return {where: _end(self.batches[max(self.batches)]) for where in asked}

    async def fetch(self, _: int, request: FetchRequest) -> FetchAnswer:
        ((_topic, ((_number, position, _most),)),) = request._topics
        error = self.errors.pop(0) if self.errors else 0
        if position < min(self.batches):
            error = Code.OFFSET_OUT_OF_RANGE
        later = [data for _, data in sorted(self.batches.items()) if _end(data) > position]
        data = memoryview(later[0] if later and not error else b"")
        found = FetchedPartition("t", 0, error, 0, 0, 0, self.aborted, data)
        return FetchAnswer(0, 0, 0, [found])


def _end(data: bytes) -> int:
    """The offset behind the last record of batches."""
    return max(each.last_offset for each in split(memoryview(data))) + 1
