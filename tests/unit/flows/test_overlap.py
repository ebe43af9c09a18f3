"""How much of a remote partition's tail is read before a task begins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import cast

import pytest

from flows.source.batch import split
from flows.source.overlap import find_overlaps
from flows.source.recode import Record, each_record, keyed_body
from flows.source.strips import MOST_RECORDS
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.client import WireClient
from mm2.kafka.wire.fetch import FetchAnswer, FetchedPartition, FetchRequest
from tests.support.batches import Plain, write_batch

_WHERE = TopicPartition(TopicName("A.t"), 0)


class _Target:
    """A log of these batches."""

    def __init__(self, *batches: bytes) -> None:
        self.data = memoryview(b"".join(batches))

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: int
    ) -> dict[TopicPartition, int]:
        del at
        return dict.fromkeys(partitions, 100)

    def leader(self, partition: TopicPartition) -> int:
        del partition
        return 1

    async def fetch(self, node: int, request: FetchRequest) -> FetchAnswer:
        del node, request
        data, self.data = self.data, memoryview(b"")
        return FetchAnswer(0, 0, 0, [FetchedPartition("A.t", 0, 0, 100, 100, 0, (), data)])


def _held(*batches: bytes, partitions: int = 1) -> int:
    """How many records the target is known to have, which are 0, 1, 2 and so on."""
    target = cast("WireClient", _Target(*batches))
    ends = {_WHERE._replace(partition=number): 0 for number in range(partitions)}
    overlap = asyncio.run(find_overlaps(target, ends))[_WHERE]
    number = 0
    while overlap.holds_next(Record(number, 1, keyed_body(b"%d" % number, b""))):
        number += 1
    return number


def _batch(first: int, count: int) -> bytes:
    records = [
        Plain(offset=n, timestamp=1, key=b"%d" % n, value=b"") for n in range(first, first + count)
    ]
    return write_batch(records, codec_number=4)


def test_a_tail_is_read_to_its_end() -> None:
    assert _held(_batch(0, 5), _batch(5, 3)) == 8


@pytest.mark.parametrize("is_damaged", [True, False])
def test_what_is_too_large_or_damaged_ends_what_is_read(*, is_damaged: bool) -> None:
    """The records behind it may be copied twice; the task goes on."""
    bad = write_batch([Plain(offset=5, value=bytes(80 << 20))], codec_number=4)
    if is_damaged:
        bad = _batch(5, 3)
        bad = bad[:61] + b"x" * (len(bad) - 61)
    assert _held(_batch(0, 5), bad, _batch(8, 1)) == 5


def test_records_count_however_small_they_are() -> None:
    many = bytearray(_batch(5, 3))
    many[57:61] = (6_000_000).to_bytes(4, "big")
    assert _held(_batch(0, 5), bytes(many)) == 5


def test_of_many_tails_a_batch_as_large_as_we_write_is_read_in_each() -> None:
    assert _held(_batch(0, MOST_RECORDS), partitions=100) == MOST_RECORDS


def test_of_many_tails_no_more_is_read_when_the_share_of_each_is_used_up() -> None:
    large = [write_batch([Plain(offset=n, value=bytes(2 << 20))]) for n in (5, 6)]
    target = _Target(_batch(0, 5), *large)
    ends = {_WHERE._replace(partition=number): 0 for number in range(100)}
    overlap = asyncio.run(find_overlaps(cast("WireClient", target), ends))[_WHERE]
    first = [Record(n, 1, keyed_body(b"%d" % n, b"")) for n in range(5)]
    (batch,) = split(memoryview(large[0]))
    (behind,) = each_record(batch)
    assert all(map(overlap.holds_next, [*first, behind]))
    assert overlap.is_over
