"""What the demo and the benchmark show is what was reported and measured."""

from __future__ import annotations

from mm2.demo.demo_view import line
from mm2.demo.flow_numbers import FlowNumbers
from mm2.demo.record_comparison import Verification
from mm2.protocol.progress_records import BundleProgress, PartitionProgress
from tests.harness.bench.throughput import numbers_of
from tests.support.configs import A_TO_B


def _report(*partitions: PartitionProgress) -> BundleProgress:
    return BundleProgress(bundle=0, epoch=1, generation=1, time_ms=0, pid=1, partitions=partitions)


def _partition(number: int = 0, **fields: object) -> PartitionProgress:
    return PartitionProgress(topic="t", partition=number, remote="A.t", **fields)  # type: ignore[arg-type]


def test_partitions_add_up_and_the_last_report_of_each_counts() -> None:
    numbers = FlowNumbers(A_TO_B)
    numbers.add(_report(_partition(0, records=5, bytes=50, lag=9), _partition(1, records=1)), 1.0)
    numbers.add(_report(_partition(0, records=8, bytes=80, lag=2)), 2.0)
    assert (numbers.topics, numbers.records, numbers.bytes, numbers.lag) == (1, 9, 80, 2)
    assert numbers.rates() == (3.0, 30.0)


def test_what_a_task_copied_before_it_started_again_still_counts() -> None:
    numbers = FlowNumbers(A_TO_B)
    for records in (10, 3, 7, 2):
        numbers.add(_report(_partition(records=records, bytes=records)), 1.0)
    assert (numbers.records, numbers.bytes) == (19, 19)


def test_errors_and_silence_show() -> None:
    numbers = FlowNumbers(A_TO_B)
    numbers.add(_report(_partition(error="no")), 1.0)
    assert numbers.errors == ["t-0: no"]
    assert not numbers.is_silent(2.0)
    assert numbers.is_silent(60.0)


def test_records_with_old_timestamps_do_not_count_as_late() -> None:
    numbers = FlowNumbers(A_TO_B)
    old = PartitionProgress(topic="shapes", partition=0, remote="A.shapes", latency_ms=3_600_000)
    numbers.add(_report(_partition(latency_ms=7), old), 1.0)
    assert numbers.latency_ms == 7


def test_a_line_says_it_all() -> None:
    numbers = FlowNumbers(A_TO_B)
    numbers.add(_report(_partition(records=1_000, latency_ms=7, lag=2)), 1.0)
    verification = Verification(flow=A_TO_B, topics={"t": 1}, equal=998)
    assert line(numbers, verification) == (
        "A->B: 1 topics, 1,000 records, 0 records/s, 0.00 MB/s, lag 2, latency 7 ms,"
        " 998 proved equal"
    )


def test_measured_numbers_are_per_second_and_per_gigabyte() -> None:
    cpu = {"tasks": 3.0, "driver": 1.0, "brokers": 9.0}
    found = numbers_of(cpu, seconds=2.0, records=1_000, size=2_000_000)
    assert (found["records_s"], found["megabytes_s"]) == (500.0, 1000.0)
    assert (found["cpu_copying"], found["cpu_mirror"], found["cpu_brokers"]) == (1.5, 2.0, 4.5)
