"""Records that an earlier task left on the target are passed by, and no others."""

from __future__ import annotations

import asyncio

from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.source.forward.overlap import Overlap
from flows.source.forward.record_batch import CONTROL, TRANSACTIONAL
from tests.support.batches import Plain, write_batch
from tests.support.forwarding import IntakeBench


def _batch(values: list[int], first: int, *, codec: int = 0) -> bytes:
    records = [Plain(offset=first + n, value=b"%d" % v) for n, v in enumerate(values)]
    return write_batch(records, codec_number=codec, leader_epoch=-1)


class _Passing:
    """
    An intake, and what the target has.

    Args:
        values: the target's records.
        first: their first offset; between records there may be markers.
        step: from one offset to the next.
        at_once: how many of them a fetch brings.
        read_committed: leave out what was aborted at the source.
    """

    def __init__(
        self,
        values: list[int],
        first: int = 0,
        *,
        step: int = 1,
        at_once: int = 12,
        read_committed: bool = False,
    ) -> None:
        tail = [_batch([value], first + step * n) for n, value in enumerate(values)]
        self._fetches = [b"".join(tail[n : n + at_once]) for n in range(0, len(tail), at_once)]
        self.bench = IntakeBench(read_committed=read_committed)
        self.partition = self.bench.partition
        last = first + step * len(values)
        self.partition.fetch.compare_with(Overlap(range(first, last), 1 << 20, lambda: None))

    def take(self, *batches: bytes, aborted: tuple[tuple[int, int], ...] = ()) -> None:
        """Has the source fetched once, and the same again when more of the overlap was read."""
        self._read_on()
        self.bench.take(*batches, aborted=aborted)
        while self.partition.fetch.waits_for_overlap:
            self._read_on()
            self.bench.take(*batches, aborted=aborted)

    def _read_on(self) -> None:
        while self.partition.fetch.overlap is not None and self.partition.fetch.waits_for_overlap:
            data = self._fetches.pop(0) if self._fetches else b""
            asyncio.run(self.partition.fetch.overlap.read_on(memoryview(data)))


_BATCHES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=6)


@settings(deadline=None)
@given(
    batches=_BATCHES,
    tail=st.lists(st.integers(0, 2), max_size=12),
    codec=st.sampled_from([0, 3]),
    step=st.integers(1, 2),
    of_tail=st.integers(1, 12),
    at_once=st.booleans(),
)
def test_exactly_the_common_beginning_is_passed_by(
    batches: list[list[int]], tail: list[int], codec: int, step: int, of_tail: int, *, at_once: bool
) -> None:
    everything = [value for batch in batches for value in batch]
    common = 0
    while common < min(len(tail), len(everything)) and tail[common] == everything[common]:
        common += 1
    data, first = [], 0
    for batch in batches:
        data.append(_batch(batch, first, codec=codec))
        first += len(batch)
    passing = _Passing(tail, 100, step=step, at_once=of_tail)
    bench = passing.bench
    bench.partition.remote.reach(100)
    for answer in [data] if at_once else [[each] for each in data]:
        passing.take(*answer)
    assert [int(value or b"") for value in bench.values] == everything[common:]
    assert bench.partition.progress.mirrored == (common - 1 if common else -1)
    assert bench.partition.remote.end == (100 + step * (common - 1) + 1 if common else 100)
    assert bench.partition.fetch.position == len(everything)


def test_what_no_consumer_sees_is_not_compared() -> None:
    passing = _Passing([1, 3], read_committed=True)
    passing.take(
        _batch([1], 0),
        write_batch(
            [Plain(offset=1, value=b"2")],
            attributes=TRANSACTIONAL,
            producer=(9, 0, 0),
            leader_epoch=-1,
        ),
        write_batch(
            [Plain(offset=2)],
            attributes=TRANSACTIONAL | CONTROL,
            producer=(9, 0, -1),
            leader_epoch=-1,
        ),
        _batch([3, 4], 3),
        aborted=((9, 1),),
    )
    assert passing.bench.values == [b"4"]


def test_a_damaged_batch_is_not_passed_by() -> None:
    passing = _Passing([1, 2])
    bench = passing.bench
    damaged = bytearray(_batch([2], 1))
    damaged[-1] ^= 1
    passing.take(_batch([1], 0), bytes(damaged))
    assert (bench.partition.fetch.position, bench.partition.fetch.failed_reads) == (1, 1)
    passing.take(_batch([2, 3], 1))
    assert bench.values == [b"3"]


def test_nothing_is_sent_while_more_of_the_tail_is_to_be_read() -> None:
    passing = _Passing([1, 2], at_once=1)
    passing.bench.take(_batch([1, 2, 3], 0))
    assert passing.partition.fetch.position == 0
    asyncio.run(passing.partition.fetch.overlap.read_on(memoryview(_batch([1], 0))))  # type: ignore[union-attr]
    passing.bench.take(_batch([1, 2, 3], 0))
    assert (passing.partition.fetch.position, passing.partition.progress.mirrored) == (1, 0)
    assert not passing.bench.sent


def test_once_something_is_sent_nothing_more_is_passed_by() -> None:
    """What follows on the target is what was sent: the source may have the same twice."""
    passing = _Passing([1, 2, 2])
    unreadable = bytearray(_batch([2], 1, codec=4))
    unreadable[61:] = b"x" * len(unreadable[61:])
    passing.take(_batch([1], 0), _stamped(unreadable))
    assert passing.bench.sent == [[1]]
    passing.take(_batch([2], 2))
    assert passing.bench.sent == [[1], [2]]


def _stamped(batch: bytearray) -> bytes:
    """With the right checksum: the source has taken it as it is."""
    batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
    return bytes(batch)
