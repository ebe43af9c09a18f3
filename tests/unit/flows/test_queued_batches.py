"""What waits in a sender becomes fewer batches, with the same records in the same order."""

from __future__ import annotations

import pytest

from flows.source.forward.merge_batches import MergePolicy
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.queued_batches import merge_queued
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.compression import Compression
from tests.support.batches import Plain, read_batch, read_header, with_checksum, write_batch

_TARGET = TopicPartition(TopicName("A.t"), 0)


def _waiting(*offsets: list[int], codecs: tuple[int, ...] = (), size: int = 1) -> PartitionSender:
    """A sender in which batches with records of these source offsets wait."""
    sender = PartitionSender(_TARGET, merges=True)
    for number, sources in enumerate(offsets):
        codec = codecs[number] if codecs else 0
        records = [
            Plain(offset=n, timestamp=source, value=b"%d" % source + b"x" * size)
            for n, source in enumerate(sources)
        ]
        data = bytearray(write_batch(records, codec_number=codec, producer=(7, 1, sender.sequence)))
        sender.queue.append(OutgoingBatch(data, sender.sequence, sources, sources[0], len(data)))
        sender.sequence += len(sources)
    return sender


def _values(batch: OutgoingBatch) -> list[int]:
    return [
        int((record.value or b"").rstrip(b"x")) for record in read_batch(with_checksum(batch.data))
    ]


def test_small_batches_that_wait_become_one() -> None:
    sender = _waiting([5, 6], [7], [8, 9])
    sizes = sum(batch.size for batch in sender.queue)
    one = merge_queued(sender, MergePolicy())
    assert one is not None
    assert (one.sequence, one.size, one.oldest_ms) == (0, sizes, 5)
    assert one.offsets == range(5, 10)
    assert _values(one) == [5, 6, 7, 8, 9]
    assert not sender.queue


def test_offsets_with_gaps_are_kept_one_by_one() -> None:
    one = merge_queued(_waiting([5], [8]), MergePolicy())
    assert one is not None
    assert one.offsets == [5, 8]


@pytest.mark.parametrize(
    ("codecs", "policy", "codec", "left"),
    [
        ((0, 3, 0), MergePolicy(), 3, 0),
        ((3, 3, 4), MergePolicy(), 3, 1),
        ((2, 2, 2), MergePolicy(compression=Compression(2)), 2, 0),
    ],
)
def test_codecs_are_kept(
    codecs: tuple[int, ...], policy: MergePolicy, codec: int, left: int
) -> None:
    sender = _waiting([1], [2], [3], codecs=codecs)
    one = merge_queued(sender, policy)
    assert one is not None
    assert read_header(one.data).attributes == codec
    assert len(sender.queue) == left


def test_no_more_is_merged_than_the_target_takes() -> None:
    sender = _waiting([1], [2], [3], [4], size=500)
    sender.most_bytes = 1_500
    one = merge_queued(sender, MergePolicy())
    assert one is not None
    assert list(one.offsets) == [1, 2]
    assert [list(batch.offsets) for batch in sender.queue] == [[3], [4]]


def test_what_was_sent_before_is_left_as_it_was() -> None:
    """A broker knows it by its first and last sequence number."""
    sender = _waiting([1], [2], [3])
    sender.queue[0].is_fixed = True
    assert merge_queued(sender, MergePolicy()) is None
    sender = _waiting([1], [2], [3])
    sender.queue[2].is_fixed = True
    one = merge_queued(sender, MergePolicy())
    assert one is not None
    assert list(one.offsets) == [1, 2]


def test_large_batches_and_single_ones_are_left_alone() -> None:
    assert merge_queued(_waiting([1]), MergePolicy()) is None
    assert merge_queued(_waiting([1], [2], size=20_000), MergePolicy()) is None
    assert merge_queued(_waiting([*range(65)], [65]), MergePolicy()) is None


def test_larger_ones_become_one_where_there_are_replicas() -> None:
    """Each batch costs a request of each follower there."""
    sender = _waiting([*range(65)], [65], [66], size=900)
    one = merge_queued(sender, MergePolicy(), is_replicated=True)
    assert one is not None
    assert _values(one) == [*range(67)]
    assert not sender.queue
    assert merge_queued(_waiting([1], [2], size=70_000), MergePolicy(), is_replicated=True) is None


def test_larger_ones_of_gzip_are_left_alone() -> None:
    """To compress them again takes longer than it saves."""
    sender = _waiting([*range(65)], [*range(65, 130)], codecs=(1, 1))
    assert merge_queued(sender, MergePolicy(), is_replicated=True) is None
    sender = _waiting([1], [2], codecs=(1, 1))
    assert merge_queued(sender, MergePolicy(), is_replicated=True) is not None


def test_fewer_become_one_where_they_are_too_large_when_they_are_unpacked() -> None:
    """Their size says nothing of it."""
    mebibyte = 1 << 20
    numbers = [[number] for number in range(8)]
    sender = _waiting(*numbers, codecs=(3,) * 8, size=mebibyte)
    policy = MergePolicy(most_plain=2 * mebibyte + 1_000)
    assert merge_queued(sender, policy, is_replicated=True) is None
    assert len(sender.queue) == len(numbers)
    assert merge_queued(sender, policy, is_replicated=True) is None
    one = merge_queued(sender, policy, is_replicated=True)
    assert one is not None
    assert _values(one) == [0, 1]
    assert not any(batch.is_fixed for batch in sender.queue)


def test_what_cannot_be_read_is_sent_as_it_is_and_not_tried_again() -> None:
    sender = _waiting([1], [2])
    sender.queue[1].data[-1:] = b""
    sender.queue[1].data[8:12] = (len(sender.queue[1].data) - 12).to_bytes(4)
    before = [bytes(batch.data) for batch in sender.queue]
    assert merge_queued(sender, MergePolicy()) is None
    assert [bytes(batch.data) for batch in sender.queue] == before
    assert sender.queue[0].is_fixed
