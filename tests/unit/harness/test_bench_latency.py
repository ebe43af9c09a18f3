"""What becomes of the delays that a benchmark has collected."""

from __future__ import annotations

from tests.harness.bench.latency import STREAMS, Delays, Load, Stream
from tests.harness.bench.probes import Arrivals


def _arrivals(delays_ms: list[int]) -> Arrivals:
    """Records 0, 1, ... all written at once."""
    arrivals = Arrivals("127.0.0.1:1", [])
    arrivals.written_ns = dict.fromkeys(range(len(delays_ms)), 0)
    arrivals.arrived_ns = {number: ms * 1_000_000 for number, ms in enumerate(delays_ms)}
    return arrivals


def test_the_way_in_one_cluster_is_subtracted_from_each_record_not_from_the_quantiles() -> None:
    delays = Delays()
    # What holds up the producer is in both, and in no mirror's part.
    delays.add(_arrivals([100, 1, 1, 1]), _arrivals([102, 3, 3, 3]), range(4))
    assert delays.whole == [102.0, 3.0, 3.0, 3.0]
    assert delays.beyond == [2.0] * 4


def test_records_of_all_turns_are_one_sample() -> None:
    delays = Delays()
    for ms, count in ((2, 50), (4, 51)):
        delays.add(_arrivals([1] * count), _arrivals([ms] * count), range(count))
    assert delays.numbers() == {
        "p50_ms": 4.0,
        "p99_ms": 4.0,
        "beyond_p50_ms": 3.0,
        "beyond_p99_ms": 3.0,
    }


def test_consumers_look_at_one_partition_when_all_would_be_much_work() -> None:
    slow, fast = (Load("bench", Stream(name="", title="", rate=rate), 1.0) for rate in (200, 2_000))
    assert slow.watched() == [("bench", number) for number in range(4)]
    assert fast.watched("A.") == [("A.bench", 0)]


def test_what_is_looked_at_is_what_goes_to_these_partitions() -> None:
    by_name = {stream.name: stream for stream in STREAMS}
    seen = {
        name: [number for number in range(1, 101) if stream.is_watched(number)]
        for name, stream in by_name.items()
    }
    assert seen["latency-200"] == list(range(1, 101))
    assert seen["latency-2000-spread"] == list(range(4, 101, 4))
    assert seen["latency-2000"] == [*range(1, 20), *range(80, 100)]
