"""Records that an earlier task left on the target are passed by, and no others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from flows.source.batch import CONTROL, TRANSACTIONAL, split
from flows.source.overlap import Overlap
from flows.source.recode import records_of
from tests.support.batches import Plain, write_batch
from tests.support.intake import IntakeBench


def _batch(values: list[int], first: int, *, codec: int = 0) -> bytes:
    records = [Plain(offset=first + n, value=b"%d" % v) for n, v in enumerate(values)]
    return write_batch(records, codec_number=codec, leader_epoch=-1)


def _overlap(values: list[int], first: int = 0, *, step: int = 1) -> Overlap:
    """What the target has from ``first`` on; between records there may be markers."""
    batches = b"".join(_batch([v], first + step * n) for n, v in enumerate(values))
    return Overlap(r for b in split(memoryview(batches)) for r in records_of(b))


_BATCHES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=6)


@settings(deadline=None)
@given(
    batches=_BATCHES,
    tail=st.lists(st.integers(0, 2), max_size=12),
    codec=st.sampled_from([0, 3]),
    step=st.integers(1, 2),
    at_once=st.booleans(),
)
def test_exactly_the_common_beginning_is_passed_by(
    batches: list[list[int]], tail: list[int], codec: int, step: int, *, at_once: bool
) -> None:
    everything = [value for batch in batches for value in batch]
    common = 0
    while common < min(len(tail), len(everything)) and tail[common] == everything[common]:
        common += 1
    data, first = [], 0
    for batch in batches:
        data.append(_batch(batch, first, codec=codec))
        first += len(batch)
    bench = IntakeBench()
    bench.partition.overlap = _overlap(tail, 100, step=step)
    bench.partition.remote_end = 100
    for answer in [data] if at_once else [[each] for each in data]:
        bench.take(*answer)
    assert [int(value or b"") for value in bench.values] == everything[common:]
    assert bench.partition.mirrored == (common - 1 if common else -1)
    assert bench.partition.remote_end == (100 + step * (common - 1) + 1 if common else 100)
    assert bench.partition.position == len(everything)


def test_what_no_consumer_sees_is_not_compared() -> None:
    bench = IntakeBench(read_committed=True)
    bench.partition.overlap = _overlap([1, 3])
    bench.take(
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
    assert bench.values == [b"4"]


def test_a_damaged_batch_is_not_passed_by() -> None:
    bench = IntakeBench()
    bench.partition.overlap = _overlap([1, 2])
    damaged = bytearray(_batch([2], 1))
    damaged[-1] ^= 1
    bench.take(_batch([1], 0), bytes(damaged))
    assert (bench.partition.position, bench.partition.corrupt) == (1, 1)
    bench.take(_batch([2, 3], 1))
    assert bench.values == [b"3"]
