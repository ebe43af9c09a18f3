"""What waits in a sender becomes fewer batches, with the same records in the same order."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.recode import Recoded, encode, recode
from flows.source.forward.record_body import DecodedRecord, keyed_body
from flows.source.send import queued_batches
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.queued_batches import merge_queued, next_batch
from flows.source.send.send_queue import PartitionSender
from flows.source.send.target_leaders import TargetLeaders
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.compression import Compression
from mm2.kafka.wire.requests.metadata import PartitionMetadata
from tests.support.batches import Plain, read_batch, read_header, with_checksum, write_batch

if TYPE_CHECKING:
    from mm2.kafka.wire.wire_client import WireClient

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
    one = merge_queued(sender, MergePolicy(), has_followers=True)
    assert one is not None
    assert _values(one) == [*range(67)]
    assert not sender.queue
    assert merge_queued(_waiting([1], [2], size=70_000), MergePolicy(), has_followers=True) is None


def test_larger_ones_of_gzip_are_left_alone() -> None:
    """To compress them again takes longer than it saves."""
    sender = _waiting([*range(65)], [*range(65, 130)], codecs=(1, 1))
    assert merge_queued(sender, MergePolicy(), has_followers=True) is None
    sender = _waiting([1], [2], codecs=(1, 1))
    assert merge_queued(sender, MergePolicy(), has_followers=True) is not None


def _of_bytes(*values: bytes, how: Compression) -> PartitionSender:
    """A sender in which batches of 1,000 equal numbers of records with these values wait."""
    sender = PartitionSender(_TARGET, merges=True)
    for number, value in enumerate(values):
        size = len(value) // 1_000 or 1
        parts = [value[at : at + size] for at in range(0, len(value), size)]
        bodies = [keyed_body(None, part) for part in parts]
        records = [DecodedRecord(n, 1, body) for n, body in enumerate(bodies)]
        data, sources = (
            encode(records, how).data,
            range(number * 1_100, number * 1_100 + len(parts)),
        )
        sender.queue.append(OutgoingBatch(data, sender.sequence, sources, 1, len(data)))
        sender.sequence += len(parts)
    return sender


def _tried(sender: PartitionSender, policy: MergePolicy) -> list[OutgoingBatch]:
    """What is sent of all that waits in a sender, one after the other."""
    sent = []
    while sender.queue:
        one = merge_queued(sender, policy, has_followers=True)
        sent.append(one or sender.queue.popleft())
    return sent


def test_fewer_become_one_where_they_are_too_large_when_they_are_unpacked() -> None:
    """Their size says nothing of it."""
    values = [random.Random(n).randbytes(40_000) for n in range(32)]
    sender = _of_bytes(*values, how=Compression(3))
    sent = _tried(sender, MergePolicy(most_plain=150_000))
    counts = [len(batch.offsets) // 1_000 for batch in sent]
    assert counts[0] == 1
    assert max(counts) == 3, "no more than fit"
    assert sum(counts) == len(values)
    assert not any(batch.is_fixed for batch in sent)
    sender = _of_bytes(*values, how=Compression(3))
    assert max(len(batch.offsets) for batch in _tried(sender, MergePolicy())) > 10_000


def test_what_cannot_become_one_is_tried_ever_less_often_and_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A merge that fails costs as much as another one."""
    tried = 0

    def counted(*arguments: Any) -> Recoded | None:
        nonlocal tried
        tried += 1
        return recode(*arguments)

    monkeypatch.setattr(queued_batches, "recode", counted)
    mebibyte = 1 << 20
    sender = _waiting(*[[n] for n in range(1_000)], codecs=(4,) * 1_000, size=mebibyte)
    sent = _tried(sender, MergePolicy(most_plain=mebibyte))
    assert len(sent) == 1_000
    assert tried < 10
    sender.queue = _waiting(*[[n] for n in range(1_000)], codecs=(4,) * 1_000, size=10_000).queue
    assert len(_tried(sender, MergePolicy())) < 700, "ordinary ones are merged again"


def test_what_would_grow_stays_as_it_is() -> None:
    """A producer may compress better than we do."""
    words = [random.Random(n).randbytes(3) for n in range(3_000)]
    values = [b"".join(random.Random(n).choices(words, k=15_000)) for n in range(2)]
    sender = _of_bytes(*values, how=Compression(4, 19))
    before = list(sender.queue)
    assert merge_queued(sender, MergePolicy(), has_followers=True) is None
    assert list(sender.queue) == before
    sender = _of_bytes(*values, how=Compression(4))
    assert merge_queued(sender, MergePolicy(), has_followers=True) is not None


def test_larger_ones_are_left_alone_where_the_user_has_chosen_a_level() -> None:
    """It may be a slow one."""
    for level, is_merged in ((None, True), (19, False)):
        sender = _waiting([*range(65)], [65], codecs=(4, 4))
        policy = MergePolicy(compression=Compression(4, level))
        assert (merge_queued(sender, policy, has_followers=True) is not None) is is_merged


def test_no_more_records_become_one_than_may_be_refused_together() -> None:
    sender = _waiting(*[[*range(n, n + 1_000)] for n in range(0, 20_000, 1_000)], codecs=(3,) * 20)
    one = merge_queued(sender, MergePolicy(), has_followers=True)
    assert one is not None
    assert len(one.offsets) == 16_000


@pytest.mark.parametrize(("replicas", "is_merged"), [((1,), False), ((1, 2), True), (None, False)])
def test_whether_there_are_followers_is_known_from_the_cluster(
    replicas: tuple[int, ...] | None, *, is_merged: bool
) -> None:
    found = None if replicas is None else PartitionMetadata(0, 0, 1, 0, replicas)
    client = SimpleNamespace(partition=lambda _: found)
    leaders = TargetLeaders(cast("WireClient", client), lambda: None)
    sender = _waiting([*range(65)], [65])

    def stamp(data: bytearray, sequence: int) -> bytearray:
        assert sequence == 0
        return data

    batch, _ = next_batch(sender, MergePolicy(), stamp, leaders.has_followers)
    assert len(batch.offsets) == (66 if is_merged else 65)
    assert sender.queue[0] is batch


def test_what_cannot_be_read_is_sent_as_it_is_and_not_tried_again() -> None:
    sender = _waiting([1], [2])
    sender.queue[1].data[-1:] = b""
    sender.queue[1].data[8:12] = (len(sender.queue[1].data) - 12).to_bytes(4)
    before = [bytes(batch.data) for batch in sender.queue]
    assert merge_queued(sender, MergePolicy()) is None
    assert [bytes(batch.data) for batch in sender.queue] == before
    assert sender.queue[0].is_fixed
