"""What becomes of fetched batches: forwarded, re-encoded, passed over or refused."""

from __future__ import annotations

from typing import cast

import pytest

from flows.source.batch import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL
from flows.source.budget import Budget
from flows.source.intake import Intake
from flows.source.lane import Lane
from flows.source.partition import Mirrored
from flows.source.produce import Producer
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.client import ProducerIdentity, WireClient
from mm2.kafka.wire.requests import FetchedPartition
from tests.support.batches import Plain, read_batch, read_header, write_batch
from tests.support.fake_broker import FakeCluster, Trouble

_SOURCE = TopicPartition(TopicName("t"), 0)
_TARGET = TopicPartition(TopicName("A.t"), 0)


class _Bench:
    """An intake with a producer that nobody runs, so that what was sent stays in the lane."""

    def __init__(self, position: int | None = 0, *, read_committed: bool = False) -> None:
        self.lane = Lane(_TARGET, lambda _: None, lambda _: None)
        self.partition = Mirrored(_SOURCE, self.lane, position=position)
        self.budget = Budget(1 << 20)
        cluster = FakeCluster([(_TARGET, 0)], lambda: Trouble.NONE)
        producer = Producer(
            flow="A->B", client=cast("WireClient", cluster), identity=ProducerIdentity(5, 1)
        )
        self.intake = Intake(producer, self.budget, read_committed=read_committed)

    def take(self, *batches: bytes, aborted: tuple[tuple[int, int], ...] = ()) -> None:
        data = memoryview(b"".join(batches))
        self.intake.take(self.partition, FetchedPartition("t", 0, 0, 90, 80, 0, aborted, data))

    @property
    def sent(self) -> list[list[int]]:
        """Source offsets, batch by batch."""
        return [list(batch.offsets) for batch in self.lane.queue]

    @property
    def values(self) -> list[bytes | None]:
        return [r.value for batch in self.lane.queue for r in read_batch(batch.data)]


def _plain(*offsets: int) -> list[Plain]:
    return [Plain(offset=offset, value=b"%d" % offset) for offset in offsets]


def test_whole_batches_are_forwarded_as_they_are() -> None:
    bench = _Bench()
    first, second = write_batch(_plain(0, 1), codec_number=4), write_batch(_plain(2))
    bench.take(first, second)
    assert bench.sent == [[0, 1], [2]]
    assert bench.lane.queue[0].data[61:] == first[61:]
    assert bench.partition.position == 3
    assert [read_header(b.data).sequence for b in bench.lane.queue] == [0, 2]


def test_a_cut_batch_is_left_for_the_next_fetch() -> None:
    bench = _Bench()
    bench.take(write_batch(_plain(0)), write_batch(_plain(1, 2))[:-1])
    assert bench.sent == [[0]]
    assert bench.partition.position == 1


def test_gaps_are_recoded_and_keep_their_source_offsets() -> None:
    """C228."""
    bench = _Bench()
    bench.take(write_batch(_plain(3, 7), last_offset=9))
    assert bench.sent == [[3, 7]]
    assert bench.partition.position == 10


def test_append_time_batches_are_recoded() -> None:
    bench = _Bench()
    bench.take(write_batch(_plain(0), attributes=LOG_APPEND_TIME, max_timestamp=77))
    assert [r.timestamp for r in read_batch(bench.lane.queue[0].data)] == [77]
    assert bench.lane.queue[0].max_timestamp == 77


def test_records_before_the_position_are_not_sent_again() -> None:
    """C206."""
    bench = _Bench(position=5)
    bench.take(write_batch(_plain(2, 3, 4, 5, 6)), write_batch(_plain(7)))
    assert bench.sent == [[5, 6], [7]]


def test_batches_wholly_before_the_position_are_passed_over() -> None:
    bench = _Bench(position=5)
    bench.take(write_batch(_plain(0, 1)), write_batch(_plain(2, 3, 4)), write_batch(_plain(5)))
    assert bench.sent == [[5]]


def test_nothing_is_sent_while_the_position_is_not_known() -> None:
    bench = _Bench(position=None)
    bench.take(write_batch(_plain(0)))
    assert bench.sent == []
    assert bench.partition.position is None


@pytest.mark.parametrize("read_committed", [True, False])
def test_markers_are_dropped_and_passed(*, read_committed: bool) -> None:
    bench = _Bench(read_committed=read_committed)
    bench.take(
        write_batch(_plain(0), attributes=TRANSACTIONAL, producer=(9, 0, 0)),
        write_batch(_plain(1), attributes=TRANSACTIONAL | CONTROL, producer=(9, 0, -1)),
    )
    assert bench.sent == [[0]]
    assert bench.partition.position == 2


@pytest.mark.parametrize(("read_committed", "values"), [(True, [b"2"]), (False, [b"0", b"2"])])
def test_aborted_records_are_dropped_for_read_committed_only(
    *, read_committed: bool, values: list[bytes]
) -> None:
    bench = _Bench(read_committed=read_committed)
    bench.take(
        write_batch(_plain(0), attributes=TRANSACTIONAL, producer=(9, 0, 0)),
        write_batch(_plain(1), attributes=TRANSACTIONAL | CONTROL, producer=(9, 0, -1)),
        write_batch(_plain(2)),
        aborted=((9, 0),),
    )
    assert bench.values == values
    assert bench.partition.position == 3
    assert bench.partition.end == (80 if read_committed else 90)


def test_a_damaged_batch_stops_its_partition_after_a_few_reads() -> None:
    bench = _Bench()
    damaged = bytearray(write_batch(_plain(1)))
    damaged[-1] ^= 1
    bench.take(write_batch(_plain(0)), bytes(damaged))
    assert bench.sent == [[0]]
    assert bench.partition.position == 1
    errors = []
    for _ in range(4):
        bench.take(bytes(damaged))
        errors.append(bench.partition.error or "")
    assert errors[:3] == [""] * 3
    assert "unreadable at offset 1: the batch at offset 1" in errors[3]


def test_damage_that_goes_away_is_forgotten() -> None:
    bench = _Bench()
    for _ in range(4):
        bench.take(b"\0" * 61)
    bench.take(write_batch(_plain(0)))
    assert bench.partition.error is None
    assert bench.partition.corrupt == 0


def test_what_is_sent_is_counted_against_the_budget() -> None:
    bench = _Bench()
    data = write_batch(_plain(0, 1))
    bench.take(data)
    assert bench.budget.used == bench.partition.queued == len(data)


def test_a_recoded_batch_gives_back_what_it_took() -> None:
    bench = _Bench()
    bench.take(write_batch(_plain(0, 5)))
    (batch,) = bench.lane.queue
    assert bench.budget.used == bench.partition.queued == batch.size
    bench.partition.acknowledge(batch, 0)
    assert bench.partition.queued == 0
    assert bench.partition.mirrored == 5
