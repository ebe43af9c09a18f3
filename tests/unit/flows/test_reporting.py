"""What a task tells of its partitions: what changed, and of all of them now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from operator import attrgetter
from typing import cast

import pytest

from flows.source.fetch.fetch_state import FetchState
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.remote_state import FoundGaps
from flows.source.send.outgoing_batch import BatchOwner
from flows.source.send.send_queue import PartitionSender
from flows.source.task_reporter import TaskReporter, partition_report
from mm2.core.model import TopicName, TopicPartition
from mm2.core.policy import HEARTBEATS_TOPIC
from mm2.core.positions.source_gaps import GapKind
from mm2.kafka.writer import Writer
from mm2.protocol.progress_records import (
    GapReport,
    PaceProgress,
    PartitionProgress,
    decode_progress,
)
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_GAP = GapReport(kind="records-lost", first=1, end=2, time_ms=3)


class _Topic:
    """Takes what is reported."""

    def __init__(self) -> None:
        self.told: list[PartitionProgress] = []
        self.times: list[int] = []
        self.turns_ms: list[int] = []

    async def send(self, topic: str, key: bytes, value: bytes, *, partition: int) -> None:
        del topic, key, partition
        progress = decode_progress(value)
        self.told += progress.partitions
        self.turns_ms.append(progress.turn_ms)
        self.times.append(round(asyncio.get_running_loop().time()))

    def take(self) -> list[PartitionProgress]:
        told, self.told = self.told, []
        return told


class _Bench:
    def __init__(self) -> None:
        where = [TopicPartition(TopicName("t"), number) for number in range(2)]
        self.partitions = {
            each: MirroredPartition(each, PartitionSender(each), fetch=FetchState(position=0))
            for each in where
        }
        self.one = self.partitions[where[0]]
        self.topic = _Topic()
        self.now_ms = 100_000
        self.pace = PaceProgress()
        self.tasks = 1
        self.reporter = TaskReporter(
            sample_spec(),
            self.partitions,
            cast("Writer", self.topic),
            lambda: self.now_ms,
            pace=lambda: self.pace,
            tasks=lambda: self.tasks,
        )

    def reported(self, seconds: int, each_second: Callable[[int], None] | None = None) -> list[int]:
        """When something was told in so many seconds, of which each begins with a change."""

        async def let_run() -> None:
            start = round(asyncio.get_running_loop().time())
            reporting = asyncio.create_task(self.reporter.run())
            for second in range(seconds):
                await asyncio.sleep(0.5)
                if each_second is not None:
                    each_second(second)
                await asyncio.sleep(0.5)
            reporting.cancel()
            self.topic.times = [each - start for each in self.topic.times]

        run(let_run())
        return self.topic.times

    def report(self) -> list[PartitionProgress]:
        asyncio.run(self.reporter.report())
        return self.topic.take()


_CHANGES = {
    "progress.records": 1,
    "progress.bytes": 1,
    "progress.mirrored": 1,
    "fetch.end": 1,
    "fetch.broker": 1,
    "progress.latency_ms": 1,
    "gaps.lost": 1,
    "gaps.diverged": 1,
    "progress.skipped": 1,
    "progress.left_out": 1,
    "error": "why",
    "gaps": FoundGaps({GapKind.TOMBSTONES_EXPIRED: _GAP}),
    "sender": PartitionSender(TopicPartition(TopicName("t"), 0), last_error="why"),
}


@pytest.mark.parametrize("name", _CHANGES)
def test_what_changed_is_told_and_nothing_else(name: str) -> None:
    bench = _Bench()
    assert len(bench.report()) == 2
    assert bench.report() == []
    before = partition_report(bench.one, bench.now_ms)
    *part, field = name.split(".")
    setattr(attrgetter(*part)(bench.one) if part else bench.one, field, _CHANGES[name])
    after = partition_report(bench.one, bench.now_ms)
    assert after != before
    assert bench.report() == [after]


def test_an_error_of_a_routed_sender_is_told_and_that_it_is_over() -> None:
    bench = _Bench()
    elsewhere = PartitionSender(TopicPartition(TopicName("elsewhere"), 0))
    bench.one.routed.owners[elsewhere] = cast("BatchOwner", None)
    bench.report()
    elsewhere.last_error = "why"
    assert [told.error for told in bench.report()] == ["why"]
    elsewhere.last_error = None
    assert [told.error for told in bench.report()] == [None]


def test_lag_that_only_the_position_or_what_is_under_way_changes_is_told() -> None:
    bench = _Bench()
    bench.one.fetch.end, bench.one.progress.uncommitted = 10, 1
    bench.report()
    bench.one.fetch.move_to(4)
    bench.report()
    bench.one.progress.uncommitted = 0
    assert [told.lag for told in bench.report()] == [6]


def test_all_are_told_of_once_a_minute() -> None:
    bench = _Bench()
    bench.report()
    bench.now_ms += 59_999
    assert bench.report() == []
    bench.now_ms += 1
    assert len(bench.report()) == 2


def test_a_task_of_which_there_is_no_news_only_says_now_and_then_that_it_lives() -> None:
    assert _Bench().reported(10) == [0, 3, 6, 9]


def test_news_are_told_each_second() -> None:
    bench = _Bench()

    def copy(second: int) -> None:
        bench.one.progress.records = second + 1

    assert bench.reported(5, copy) == [0, 1, 2, 3, 4, 5]


def test_heartbeats_alone_are_told_with_the_sign_of_life() -> None:
    bench = _Bench()
    where = TopicPartition(HEARTBEATS_TOPIC, 0)
    beating = MirroredPartition(where, PartitionSender(where), fetch=FetchState(position=0))
    bench.partitions[where] = beating

    def beat(second: int) -> None:
        beating.progress.records = second + 1
        bench.reporter.touched(beating)

    assert bench.reported(7, beat) == [0, 3, 6]
    told = [each.records for each in bench.topic.told if each.topic == HEARTBEATS_TOPIC]
    assert told == [0, 3, 6]


def _many(*, idle: int = 900) -> _Bench:
    """A task of so many partitions that they are not all looked at each second."""
    bench = _Bench()
    for number in range(2, 2 + idle):
        where = TopicPartition(TopicName("t"), number)
        bench.partitions[where] = MirroredPartition(
            where, PartitionSender(where), fetch=FetchState(position=0)
        )
    bench.report()
    assert bench.report() == []
    return bench


def test_of_thousands_of_partitions_what_happens_is_told_at_once() -> None:
    bench = _many()
    bench.one.fetch.end = bench.one.progress.queued = 1
    bench.reporter.touched(bench.one)
    assert [told.end for told in bench.report()] == [1]
    bench.report()
    bench.one.progress.records, bench.one.progress.queued = 1, 0
    assert [told.records for told in bench.report()] == [1], "it was under way"


def test_of_thousands_of_partitions_one_that_was_given_up_is_not_told_of() -> None:
    bench = _many()
    bench.one.fetch.end = 1
    bench.reporter.touched(bench.one)
    del bench.partitions[bench.one.source]
    assert bench.report() == []


def test_thousands_of_active_partitions_take_turns_and_trouble_comes_first() -> None:
    bench = _many(idle=7)
    told: list[list[PartitionProgress]] = []
    for second in range(1, 6):
        bench.now_ms += 1_000
        for partition in bench.partitions.values():
            partition.progress.records += 1
            bench.reporter.touched(partition)
        if second == 3:
            bench.one.error = "why"
        asyncio.run(bench.reporter.report(most=4))
        told.append(bench.topic.take())
    assert [len(each) for each in told] == [4] * 5
    assert bench.topic.turns_ms[-5:] == [3_000] * 5, "nine take turns of four"
    assert "why" in [each.error for each in told[2]]
    others = {each.source for report in told for each in report} | {bench.one.source}
    assert others == bench.partitions.keys()


def test_of_more_than_four_thousand_partitions_the_rest_is_told_a_second_later() -> None:
    bench = _many(idle=4_500)
    bench.now_ms += 60_000
    told: list[int] = []
    bench.reported(2, lambda _: told.append(len(bench.topic.told)))
    assert told == [4_000, len(bench.partitions)]


@pytest.mark.parametrize(("tasks", "most"), [(0, 902), (20, 902), (100, 200), (30_000, 1)])
def test_the_more_tasks_there_are_the_less_each_reports(tasks: int, most: int) -> None:
    """All are read by one leader; before the first assignment their number is not known."""
    bench = _many()
    bench.tasks = tasks
    bench.now_ms += 60_000
    told: list[int] = []
    bench.reported(1, lambda _: told.append(len(bench.topic.told)))
    assert told == [most]


@pytest.mark.parametrize("passes_ms", [10_000, -3_600_000])
def test_thousands_of_partitions_are_all_looked_at_now_and_then(passes_ms: int) -> None:
    """The clock is the machine's, which may be set back."""
    bench = _many()
    bench.one.fetch.end = 1
    assert bench.report() == []
    bench.now_ms += passes_ms
    assert [told.end for told in bench.report()] == [1]


def test_who_says_that_something_happened_has_all_partitions_looked_at() -> None:
    bench = _many(idle=2_000)
    bench.one.error = "why"
    bench.reporter.wake()
    assert [told.error for told in bench.report()] == ["why"]


def test_an_error_of_a_user_s_class_that_is_no_text_is_reported_all_the_same() -> None:
    bench = _Bench()
    bench.one.error = "bad \ud800 record"
    assert "bad ? record" in [told.error for told in bench.report()]


def test_what_holds_the_task_back_is_news() -> None:
    bench = _Bench()

    def limit(second: int) -> None:
        bench.pace = PaceProgress(byte_rate_limit=1.0 if second >= 4 else None)

    assert bench.reported(6, limit) == [0, 3, 5, 6]


def test_what_is_urgent_is_told_at_once_whether_anything_changed_or_not() -> None:
    bench = _Bench()
    times: list[float] = []

    async def wait_for_it() -> None:
        reporting = asyncio.create_task(bench.reporter.run())
        await asyncio.sleep(1.25)
        bench.reporter.wake()
        await asyncio.sleep(0.125)
        times.extend(bench.topic.times)
        reporting.cancel()

    run(wait_for_it())
    assert len(times) == 2
