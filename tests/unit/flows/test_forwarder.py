"""What becomes of fetched batches: forwarded, re-encoded, passed over or refused."""

from __future__ import annotations

import asyncio
import random
import struct
import tracemalloc

import pytest
from crc32c import crc32c

from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.record_batch import (
    CONTROL,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    oldest_timestamp,
)
from mm2.kafka.wire.compiled import compile_now
from mm2.kafka.wire.compression import CODEC_NAMES
from tests.support.batches import Plain, read_batch, read_header, write_batch
from tests.support.forwarding import IntakeBench
from tests.support.specs import error_settings


def _plain(*offsets: int) -> list[Plain]:
    return [Plain(offset=offset, value=b"%d" % offset) for offset in offsets]


def test_whole_batches_are_forwarded_as_they_are() -> None:
    bench = IntakeBench()
    first = write_batch(_plain(*range(1_025)), codec_number=4)
    second = write_batch([Plain(offset=1_025, value=b"v" * (16 << 10))])
    third = write_batch(_plain(1_026), codec_number=4)
    bench.take(first, second, third)
    assert bench.sent == [[*range(1_025)], [1_025], [1_026]]
    for batch, given in zip(bench.sender.queue, (first, second, third), strict=True):
        assert batch.data[61:] == given[61:]
    assert bench.partition.fetch.position == 1_027
    assert [read_header(b.data).sequence for b in bench.sender.queue] == [0, 1_025, 1_026]


@pytest.mark.parametrize(
    ("codec", "batches"), [(0, 1), (1, 3), (2, 1), (3, 1), (4, 1)], ids=CODEC_NAMES
)
def test_batches_that_cost_less_to_reencode_than_to_send_become_one(
    codec: int, batches: int
) -> None:
    bench = IntakeBench()
    offsets = [range(first, first + 150) for first in (0, 150, 300)]
    bench.take(*(write_batch(_plain(*each), codec_number=codec) for each in offsets))
    assert len(bench.sent) == batches
    assert [offset for sent in bench.sent for offset in sent] == [*range(450)]
    assert {read_header(batch.data).attributes for batch in bench.sender.queue} == {codec}


def test_compressed_batches_become_one_of_less_than_others() -> None:
    """Unpacked they are larger, and may be larger than is allowed."""
    bench, plain = IntakeBench(), IntakeBench()
    for codec, each in ((4, bench), (0, plain)):
        values = [random.Random(n).randbytes(15 << 10) for n in range(80)]
        batches = [
            write_batch([Plain(offset=n, value=value)], codec_number=codec)
            for n, value in enumerate(values)
        ]
        each.take(*batches)
        assert [offset for sent in each.sent for offset in sent] == [*range(80)]
    assert {len(sent) for sent in bench.sent} == {8}
    assert [len(sent) for sent in plain.sent] == [59, 21]


def test_large_uncompressed_batches_become_one() -> None:
    compile_now()
    bench = IntakeBench()
    bench.take(*(write_batch([Plain(offset=n, value=b"v" * (220 << 10))]) for n in range(6)))
    assert bench.sent == [[0, 1, 2, 3], [4, 5]]
    assert [record.value for record in bench.records] == [b"v" * (220 << 10)] * 6


def test_what_cannot_be_read_behind_the_position_has_nothing_sent_again() -> None:
    """Contiguous batches go by themselves then, but for those that the target has."""
    bench = IntakeBench(position=3)
    damaged = bytearray(write_batch(_plain(4)))
    damaged[61] = 0x7F  # longer than the batch
    damaged[17:21] = crc32c(damaged[21:]).to_bytes(4, "big")
    bench.take(write_batch(_plain(0, 1)), write_batch(_plain(2, 3)), bytes(damaged))
    assert bench.sent == [[3], [4]]
    assert bench.partition.fetch.position == 5


def test_batches_become_one_up_to_so_many_records() -> None:
    bench = IntakeBench()
    offsets = [range(first, first + 1_000) for first in range(0, 17_000, 1_000)]
    bench.take(*(write_batch(_plain(*each), codec_number=4) for each in offsets))
    assert [len(sent) for sent in bench.sent] == [16_000, 1_000]


@pytest.mark.parametrize("megabytes", [3, 64])
def test_batches_that_are_large_when_unpacked_are_forwarded_as_they_are(megabytes: int) -> None:
    bench = IntakeBench()
    batch = write_batch([Plain(value=bytes(megabytes << 20))], codec_number=4)
    assert len(batch) < 16 << 10
    batches = [write_batch([Plain(offset=0)]), *(_moved(batch, to) for to in (1, 2))]
    tracemalloc.start()
    bench.take(*batches)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bench.sent == [[0], [1], [2]]
    assert [bytes(each.data[61:]) for each in bench.sender.queue] == [each[61:] for each in batches]
    assert peak < 32 << 20


def _moved(batch: bytes, base_offset: int) -> bytes:
    return base_offset.to_bytes(8, "big") + batch[8:]


def test_small_batches_become_one_up_to_the_limit_of_the_sender() -> None:
    bench = IntakeBench()
    batches = [write_batch(_plain(offset)) for offset in range(6)]
    bench.sender.most_bytes = 2 * len(batches[0])
    bench.take(*batches)
    assert bench.sent == [[0, 1], [2, 3], [4, 5]]
    assert {type(batch.offsets) for batch in bench.sender.queue} == {range}


def test_small_batches_without_compression_join_those_with_it() -> None:
    bench = IntakeBench()
    codecs = [0, 3, 0, 3, 4, 4, 0]
    bench.take(*(write_batch(_plain(n), codec_number=c) for n, c in enumerate(codecs)))
    assert bench.sent == [[0, 1, 2, 3], [4, 5, 6]]
    assert [read_header(b.data).attributes for b in bench.sender.queue] == [3, 4]


def test_a_batch_that_cannot_be_read_holds_up_only_what_follows_it() -> None:
    """Its checksum is right, so it is what somebody wrote."""
    bench = IntakeBench()
    bad = write_batch(_plain(10, 18), attributes=3)
    bench.take(write_batch(_plain(0, 3), codec_number=3), bad)
    assert bench.sent == [[0, 3]]
    assert (bench.partition.fetch.position, bench.partition.fetch.failed_reads) == (4, 1)


def test_batches_that_no_longer_continue_the_log_are_left_to_be_settled() -> None:
    """KIP-320; also in the middle of what would have become one batch."""
    bench = IntakeBench()
    bench.partition.validation.accept(5)
    epochs = [3, 3, 5, 7, 7]
    bench.take(*(write_batch(_plain(n), leader_epoch=e) for n, e in enumerate(epochs)))
    assert bench.sent == [[0, 1, 2]]
    assert (bench.partition.fetch.position, bench.partition.fetch.leader_epoch) == (3, 5)
    assert (bench.partition.validation.is_valid, bench.partition.validation.unexpected_epoch) == (
        False,
        7,
    )


def test_epochs_that_go_down_in_one_answer_are_left_to_be_settled() -> None:
    bench = IntakeBench()
    bench.partition.validation.accept(5)
    bench.take(*(write_batch(_plain(n), leader_epoch=e) for n, e in enumerate([4, 3])))
    assert bench.sent == [[0]]
    assert (bench.partition.validation.is_valid, bench.partition.validation.unexpected_epoch) == (
        False,
        3,
    )


def test_a_cut_batch_is_left_for_the_next_fetch() -> None:
    bench = IntakeBench()
    bench.take(write_batch(_plain(0)), write_batch(_plain(1, 2))[:-1])
    assert bench.sent == [[0]]
    assert bench.partition.fetch.position == 1


def test_gaps_are_recoded_and_keep_their_source_offsets() -> None:
    """C228."""
    bench = IntakeBench()
    bench.take(write_batch(_plain(3, 7), last_offset=9))
    assert bench.sent == [[3, 7]]
    assert bench.partition.fetch.position == 10


def test_append_time_batches_are_recoded() -> None:
    bench = IntakeBench()
    bench.take(write_batch(_plain(0), attributes=LOG_APPEND_TIME, max_timestamp=77))
    assert [r.timestamp for r in read_batch(bench.sender.queue[0].data)] == [77]
    assert bench.sender.queue[0].oldest_ms == 77


def test_records_before_the_position_are_not_sent_again() -> None:
    """C206."""
    bench = IntakeBench(position=5)
    bench.take(write_batch(_plain(2, 3, 4, 5, 6)), write_batch(_plain(7)))
    assert bench.sent == [[5, 6, 7]]


def test_batches_wholly_before_the_position_are_passed_over() -> None:
    bench = IntakeBench(position=5)
    bench.take(write_batch(_plain(0, 1)), write_batch(_plain(2, 3, 4)), write_batch(_plain(5)))
    assert bench.sent == [[5]]


def test_nothing_is_sent_while_the_position_is_not_known() -> None:
    bench = IntakeBench(position=None)
    bench.take(write_batch(_plain(0)))
    assert bench.sent == []
    assert bench.partition.fetch.position is None


@pytest.mark.parametrize("read_committed", [True, False])
def test_markers_are_dropped_and_passed(*, read_committed: bool) -> None:
    bench = IntakeBench(read_committed=read_committed)
    bench.take(
        write_batch(_plain(0), attributes=TRANSACTIONAL, producer=(9, 0, 0)),
        write_batch(_plain(1), attributes=TRANSACTIONAL | CONTROL, producer=(9, 0, -1)),
    )
    assert bench.sent == [[0]]
    assert bench.partition.fetch.position == 2


@pytest.mark.parametrize(("read_committed", "values"), [(True, [b"2"]), (False, [b"0", b"2"])])
def test_aborted_records_are_dropped_for_read_committed_only(
    *, read_committed: bool, values: list[bytes]
) -> None:
    bench = IntakeBench(read_committed=read_committed)
    bench.take(
        write_batch(_plain(0), attributes=TRANSACTIONAL, producer=(9, 0, 0)),
        write_batch(_plain(1), attributes=TRANSACTIONAL | CONTROL, producer=(9, 0, -1)),
        write_batch(_plain(2)),
        aborted=((9, 0),),
    )
    assert bench.values == values
    assert bench.partition.fetch.position == 3
    assert bench.partition.fetch.end == (80 if read_committed else 90)


def test_a_damaged_batch_stops_its_partition_after_a_few_reads() -> None:
    bench = IntakeBench()
    damaged = bytearray(write_batch(_plain(1)))
    damaged[-1] ^= 1
    bench.take(write_batch(_plain(0)), bytes(damaged))
    assert bench.sent == [[0]]
    assert bench.partition.fetch.position == 1
    errors = []
    for _ in range(4):
        bench.take(bytes(damaged))
        errors.append(bench.partition.error or "")
    assert errors[:3] == [""] * 3
    assert "unreadable at offset 1: the batch at offset 1" in errors[3]


async def test_a_tolerant_partition_passes_over_a_damaged_batch_and_counts_it() -> None:
    bench = IntakeBench(errors=error_settings(tolerates=True))
    damaged = bytearray(write_batch(_plain(0, 1, 2)))
    damaged[-1] ^= 1
    for _ in range(5):
        assert bench.partition.fetch.position == 0
        bench.take(bytes(damaged), write_batch(_plain(7)))
    bench.take(write_batch(_plain(7)))
    assert bench.sent == [], "nothing may pass before the damage is reported"
    await asyncio.sleep(0)
    assert (bench.partition.fetch.position, bench.partition.progress.skipped) == (7, 7)
    bench.take(write_batch(_plain(7)))
    assert bench.sent == [[7]]
    assert bench.partition.error is None


@pytest.mark.parametrize("codec", [1, 2, 3, 4], ids=CODEC_NAMES[1:])
@pytest.mark.parametrize("tolerates", [True, False])
async def test_what_is_too_large_when_decompressed_is_decided_about_at_once(
    codec: int, *, tolerates: bool
) -> None:
    """A batch with a gap cannot be forwarded; the one behind it is none of its business."""
    bench = IntakeBench(
        policy=MergePolicy(most_plain=1 << 20), errors=error_settings(tolerates=tolerates)
    )
    bomb = [Plain(offset=0, value=bytes(2 << 20)), Plain(offset=5, value=b"v")]
    bench.take(write_batch(bomb, codec_number=codec), write_batch(_plain(6)))
    assert bench.sent == []
    await asyncio.sleep(0)
    if tolerates:
        assert (bench.partition.fetch.position, bench.partition.progress.skipped) == (6, 6)
        bench.take(write_batch(_plain(6)))
        assert bench.sent == [[6]]
    else:
        assert "decompressed.batch.max.bytes" in (bench.partition.error or "")
        assert bench.partition.fetch.position == 0


def test_a_batch_that_is_too_large_when_decompressed_is_forwarded_if_it_can_be() -> None:
    bench = IntakeBench(policy=MergePolicy(most_plain=1 << 20))
    bench.take(write_batch([Plain(offset=0, value=bytes(24 << 20))], codec_number=4))
    assert bench.sent == [[0]]


async def test_damage_that_nobody_can_tell_the_end_of_stops_even_a_tolerant_partition() -> None:
    bench = IntakeBench(errors=error_settings(tolerates=True))
    for _ in range(5):
        bench.take(b"\0" * 61)
    assert "unreadable at offset 0" in (bench.partition.error or "")
    assert bench.partition.retry_at is not None
    bench.partition.retry()
    bench.take(write_batch(_plain(0)))
    assert bench.sent == [[0]]


def test_damage_that_goes_away_is_forgotten() -> None:
    bench = IntakeBench()
    for _ in range(4):
        bench.take(b"\0" * 61)
    bench.take(write_batch(_plain(0)))
    assert bench.partition.error is None
    assert bench.partition.fetch.failed_reads == 0


def test_what_is_sent_is_counted_against_the_budget() -> None:
    bench = IntakeBench()
    data = write_batch(_plain(0, 1))
    bench.take(data)
    assert bench.budget.used == bench.partition.progress.queued == len(data)


@pytest.mark.parametrize("offsets", [(0, 1), (0, 5)], ids=["as it is", "recoded"])
def test_latency_is_the_age_of_the_oldest_record(offsets: tuple[int, int]) -> None:
    bench = IntakeBench()
    first, second = offsets
    bench.take(write_batch([Plain(offset=first, timestamp=40), Plain(offset=second, timestamp=90)]))
    bench.partition.acknowledge(bench.sender.queue[0], 100)
    assert bench.partition.progress.latency_ms == 60


@pytest.mark.parametrize(("times", "oldest"), [((50, 40), 40), ((-1, 40), 40), ((-1, -1), -1)])
def test_the_first_time_of_a_batch_may_be_another_than_its_oldest(
    times: tuple[int, int], oldest: int
) -> None:
    """Or none; a cleaned batch has the time there at which its tombstones may go."""
    assert oldest_timestamp(bytes(27) + struct.pack(">qq", *times)) == oldest


def test_a_recoded_batch_gives_back_what_it_took() -> None:
    bench = IntakeBench()
    bench.take(write_batch(_plain(0, 5)))
    (batch,) = bench.sender.queue
    assert bench.budget.used == bench.partition.progress.queued == batch.size
    bench.partition.landed(batch)
    bench.partition.acknowledge(batch, 0)
    assert bench.partition.progress.queued == 0
    assert bench.partition.progress.mirrored == 5


def test_what_is_passed_over_counts_as_mirrored_once_nothing_before_it_is_under_way() -> None:
    """Or the source might delete a marker, and a restart would take that for a loss."""
    bench = IntakeBench()
    bench.take(write_batch(_plain(0)), write_batch(_plain(1), attributes=TRANSACTIONAL | CONTROL))
    assert (bench.partition.fetch.position, bench.partition.progress.mirrored) == (2, -1)
    batch = bench.sender.queue.popleft()
    bench.partition.landed(batch)
    assert bench.partition.reached_after(batch) == 2
    bench.partition.acknowledge(batch, 0)
    assert bench.partition.progress.mirrored == 1
    bench.take(write_batch(_plain(2), attributes=TRANSACTIONAL | CONTROL))
    assert bench.partition.progress.mirrored == 2


def test_unreadable_offsets_behind_a_batch_count_when_that_has_arrived() -> None:
    bench = IntakeBench()
    bench.take(write_batch(_plain(0)))
    bench.partition.skip_unreadable(range(1, 5))
    assert bench.partition.progress.mirrored == -1
    batch = bench.sender.queue.popleft()
    bench.partition.landed(batch)
    bench.partition.acknowledge(batch, 0)
    assert bench.partition.progress.mirrored == 4


def test_with_more_under_way_only_what_has_landed_counts() -> None:
    bench = IntakeBench(policy=MergePolicy(most_bytes=1))
    bench.take(write_batch(_plain(0)), write_batch(_plain(1)))
    batch = bench.sender.queue.popleft()
    bench.partition.landed(batch)
    assert bench.partition.reached_after(batch) == 1
    bench.partition.acknowledge(batch, 0)
    assert bench.partition.progress.mirrored == 0
