"""How much of a remote partition's overlap is read, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import pytest

from flows.source.fetch.contiguous_batches import MOST_RECORDS
from flows.source.forward.overlap import Overlap
from flows.source.forward.overlap_reader import OverlapReader
from flows.source.forward.recode import each_record
from flows.source.forward.record_batch import CONTROL, TRANSACTIONAL, split
from flows.source.forward.record_body import DecodedRecord, keyed_body
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.fetch import FetchAnswer, FetchedPartition, FetchRequest
from mm2.kafka.wire.throttle import Throttle
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, write_batch
from tests.support.virtual_time import run

_WHERE = TopicPartition(TopicName("A.t"), 0)
_END = 100
_LONG_S = 60.0


class _Target:
    """
    The same log in each partition.

    Args:
        fetches: the batches that each fetch brings, in order.
    """

    def __init__(self, *fetches: bytes) -> None:
        self._fetches = fetches
        self.asked: list[int] = []
        self.alias = "B"
        self.throttle = Throttle("B")
        self.is_away = self.is_throttled = False
        self.error = Code.NONE
        self.node: int | None = 1

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: int
    ) -> dict[TopicPartition, int]:
        del at
        return dict.fromkeys(partitions, _END)

    def leader(self, partition: TopicPartition) -> int | None:
        del partition
        return self.node

    async def refresh(self) -> None:
        self.is_away = self.is_throttled = False
        self.node = 1
        if self.error == Code.NOT_LEADER_OR_FOLLOWER:
            self.error = Code.NONE

    async def fetch(self, node: int, request: FetchRequest) -> FetchAnswer:
        del node
        if self.is_away:
            raise Unavailable("B", "nobody answers")
        if self.is_throttled:
            return FetchAnswer(100, 0, 0, [])
        ((_, asked),) = request._topics
        ((_, position, *_),) = asked
        self.asked.append(position)
        data = next(filter(lambda data: _last(data) >= position, self._fetches), b"")
        answer = FetchedPartition("A.t", 0, self.error, _END, _END, 0, (), memoryview(data))
        return FetchAnswer(0, 0, 0, [answer])


def _last(data: bytes) -> int:
    return list(split(memoryview(data)))[-1].last_offset


class _Bench:
    """
    A task that has just begun.

    Args:
        target: has the remote partitions.
        partitions: how many.
    """

    def __init__(self, target: _Target, partitions: int = 1) -> None:
        self.target = target
        senders = [
            PartitionSender(_WHERE._replace(partition=number)) for number in range(partitions)
        ]
        self.partitions = {
            sender.target: MirroredPartition(sender.target, sender) for sender in senders
        }
        self.first = self.partitions[_WHERE]
        self._supplied = asyncio.Event()
        client = cast("WireClient", target)
        self.overlaps = OverlapReader(client, self.partitions, self._supplied.set)

    def held(self, records: Iterable[DecodedRecord]) -> int:
        """How many of some records the target is known to have."""
        return run(self._held(records))

    async def _held(self, records: Iterable[DecodedRecord]) -> int:
        found = await self.overlaps.find(dict.fromkeys(self.partitions, 0))
        overlap = found[_WHERE]
        self.first.fetch.compare_with(overlap)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(self.overlaps.run(), name="overlaps")
            for record in records:
                while overlap.is_used_up:
                    self._supplied.clear()
                    await self._supplied.wait()
                if not overlap.holds_next(record):
                    break
            self.first.fetch.compare_with(None)
            await asyncio.sleep(_LONG_S)  # in virtual time
            reading.cancel()
        return overlap.passed


def _numbers(count: int = 1 << 20) -> Iterator[DecodedRecord]:
    """What the source has."""
    return (DecodedRecord(n, 1, keyed_body(b"%d" % n, b"")) for n in range(count))


def _held(*fetches: bytes, partitions: int = 1) -> int:
    return _Bench(_Target(*fetches), partitions).held(_numbers())


def _batch(first: int, count: int, *, shift: int = 0) -> bytes:
    """Records that hold their offsets, or others by ``shift``."""
    records = [
        Plain(offset=n, timestamp=1, key=b"%d" % (n + shift), value=b"")
        for n in range(first, first + count)
    ]
    return write_batch(records, codec_number=4)


def test_a_tail_that_is_equal_is_read_to_its_end() -> None:
    target = _Target(_batch(0, 5) + _batch(5, 3), _batch(8, 40), _batch(48, 52))
    assert _Bench(target).held(_numbers()) == 100
    assert target.asked == [0, 8, 48]


@pytest.mark.parametrize("common", [0, 4, 8])
def test_nothing_is_read_behind_the_first_difference(common: int) -> None:
    fetches = [_batch(0, 8), _batch(8, 8), _batch(16, 84)]
    others = [DecodedRecord(n, 2, b"") for n in range(10)]
    target = _Target(*fetches)
    assert _Bench(target).held([*_numbers(common), *others]) == common
    assert target.asked == ([0] if common < 8 else [0, 8])


def test_nothing_is_read_before_the_source_has_something_to_compare_it_with() -> None:
    target = _Target(_batch(0, 8), _batch(8, 92))
    assert _Bench(target).held(_numbers(7)) == 7
    assert target.asked == [0]


def test_a_fetch_may_begin_and_end_inside_of_batches() -> None:
    """The broker brings whole batches, from the one that has the offset."""
    overlap = Overlap(range(3, 100), 1 << 20, lambda: None)
    asyncio.run(overlap.read_on(memoryview(_batch(0, 8) + _batch(8, 9)[:-1])))
    records = list(_numbers(9))
    assert [overlap.holds_next(each) for each in records[3:8]] == [True] * 5
    assert (overlap.is_used_up, overlap.unread.start, overlap.end) == (True, 8, 8)


def test_what_has_no_records_is_passed_by() -> None:
    marker = write_batch([Plain(offset=5)], attributes=CONTROL, last_offset=59)
    assert _held(_batch(0, 5), marker, _batch(60, 40, shift=-55)) == 45


@pytest.mark.parametrize(
    "trouble",
    [
        {"is_away": True},
        {"is_throttled": True},
        {"node": None},
        {"error": Code.NOT_LEADER_OR_FOLLOWER},
    ],
)
def test_what_passes_is_waited_for(trouble: Mapping[str, object]) -> None:
    target = _Target(_batch(0, 100))
    for name, value in trouble.items():
        setattr(target, name, value)
    assert _Bench(target).held(_numbers()) == 100


@pytest.mark.parametrize("error", [Code.OFFSET_OUT_OF_RANGE, Code.TOPIC_AUTHORIZATION_FAILED])
def test_what_cannot_be_had_is_copied_again(error: Code) -> None:
    target = _Target(_batch(0, 100))
    target.error = error
    assert _Bench(target).held(_numbers()) == 0


@pytest.mark.parametrize("is_damaged", [True, False])
def test_what_is_too_large_or_damaged_ends_what_is_read(*, is_damaged: bool) -> None:
    """The records behind it may be copied twice; the task goes on."""
    bad = write_batch([Plain(offset=5, value=bytes(80 << 20))], codec_number=4)
    if is_damaged:
        bad = _batch(5, 3)
        bad = bad[:61] + b"x" * (len(bad) - 61)
    assert _held(_batch(0, 5), bad, _batch(8, 1)) == 5


def test_what_may_have_been_aborted_ends_what_is_read() -> None:
    records = [Plain(offset=5, timestamp=1, key=b"5", value=b"")]
    assert (
        _held(_batch(0, 5), write_batch(records, attributes=TRANSACTIONAL, producer=(9, 0, 0))) == 5
    )


def test_bytes_that_are_no_batch_end_what_is_read() -> None:
    overlap = Overlap(range(100), 1 << 20, lambda: None)
    asyncio.run(overlap.read_on(memoryview(_batch(0, 5) + b"\0" * 100)))
    assert [overlap.holds_next(each) for each in _numbers(6)] == [True] * 5 + [False]
    assert overlap.is_over


def test_records_count_however_small_they_are() -> None:
    many = bytearray(_batch(5, 3))
    many[57:61] = (6_000_000).to_bytes(4, "big")
    assert _held(_batch(0, 5), bytes(many)) == 5


def test_of_many_tails_a_batch_as_large_as_we_write_is_read_in_each() -> None:
    assert _held(_batch(0, MOST_RECORDS), partitions=100) == MOST_RECORDS


def test_of_many_tails_no_more_is_read_when_the_share_of_each_is_used_up() -> None:
    large = [write_batch([Plain(offset=n, value=bytes(2 << 20))]) for n in (5, 6)]
    (batch,) = split(memoryview(large[0]))
    (behind,) = each_record(batch)
    target = _Target(_batch(0, 5), *large)
    records = [*_numbers(5), behind, DecodedRecord(6, behind.timestamp, behind.body)]
    assert _Bench(target, partitions=100).held(records) == 6
