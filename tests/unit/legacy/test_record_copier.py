"""Copies of single records: what counts as copied, and when."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from flows.source.transform.message_handler import Handle
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.model import TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.errors import ClusterError, FatalError, FlowError, Unavailable
from mm2.kafka.wire.compiled import compile_division
from mm2.kafka.wire.compression import LZ4
from tests.support.batches import Plain, write_batch
from tests.support.copier_bench import PARTITIONS, TOPIC, CopierBench, batch
from tests.support.fake_broker import POISON, Trouble
from tests.support.named_topics import NamedTarget, named_topics
from tests.support.virtual_time import run


def unchanged(record: SourceRecord) -> list[SourceRecord]:
    """A handler that fails at one record."""
    if record.value == b"bad":
        raise ValueError("no such record")
    return [record]


def test_a_skipped_record_does_not_count_before_its_dead_letter_is_written() -> None:
    async def go() -> None:
        bench = CopierBench(unchanged, tolerates=True)
        async with bench.running():
            bench.trouble = Trouble.NOT_ENOUGH_REPLICAS
            bench.take(batch(0, b"bad", b"good"))
            await asyncio.sleep(1)
            assert not bench.letters
            assert bench.committable == 0
            bench.trouble = Trouble.NONE
            await bench.wait_for_copies()
            assert [each.value for each in bench.letters] == [b"bad"]
            assert [each.value for each in bench.copied()] == [b"good"]
            assert bench.committable == 2
            progress = bench.partition.progress
            assert (progress.skipped, progress.dead_letters, progress.records) == (1, 1, 1)

    run(go())


def test_without_tolerance_what_comes_before_a_failure_counts_and_nothing_else_is_sent() -> None:
    async def go() -> None:
        bench = CopierBench(unchanged)
        async with bench.running():
            bench.take(batch(0, b"1", b"2", b"bad", b"3"), batch(4, b"4"))
            bench.take(batch(5, b"5"))
            await asyncio.sleep(1)
            (reason,) = bench.reasons
            assert "the message handler fails at offset 2" in reason
        assert [each.value for each in bench.copied()] == [b"1", b"2"]
        assert bench.committable == 2

    run(go())


def test_nothing_of_a_partition_is_sent_once_it_is_given_up() -> None:
    async def go() -> None:
        goes_on = asyncio.Event()

        async def waits(record: SourceRecord) -> list[SourceRecord]:
            if record.offset == 1:
                await goes_on.wait()
            return [record]

        bench = CopierBench(waits)
        async with bench.running():
            bench.take(batch(0, b"0", b"1", b"2"), batch(3, b"3"))
            bench.take(batch(4, b"4"))
            await asyncio.sleep(1)
            bench.copier.forget(bench.partition)
            goes_on.set()
            await asyncio.sleep(1)
            assert bench.copied() == []
            assert bench.committable == 0
            bench.partition.progress.uncommitted = 0

    run(go())


def test_what_is_queued_of_a_partition_is_dropped_once_it_is_lost() -> None:
    async def go() -> None:
        bench = CopierBench(
            lambda record: [TargetRecord(topic=TOPIC, partition=0, key=None, value=record.value)]
        )
        async with bench.running():
            bench.trouble = Trouble.NOT_ENOUGH_REPLICAS
            bench.take(batch(0, b"sent"))
            await asyncio.sleep(1)
            for offset in range(3):
                bench.take(batch(offset, b"kept %d" % offset), of=bench.other)
                bench.take(batch(offset + 1, b"lost %d" % offset))
            await asyncio.sleep(1)
            held = bench.budget.used
            bench.copier.forget(bench.partition)
            assert bench.budget.used < held
            bench.trouble = Trouble.NONE
            await bench.copier.wait_for_copies([bench.other])
            bench.partition.progress.uncommitted = 0
        values = [each.value for each in bench.copied(0)]
        assert values == [b"sent", b"kept 0", b"kept 1", b"kept 2"]
        assert bench.committable == 0
        assert bench.other.progress.mirrored == 2
        assert bench.budget.used == 0

    run(go())


def test_a_stop_sends_what_is_handled_and_drops_what_is_not() -> None:
    async def go() -> None:
        async def waits(record: SourceRecord) -> list[SourceRecord]:
            if record.offset == 2:
                await asyncio.Event().wait()
            return [record]

        bench = CopierBench(waits)
        async with asyncio.timeout(5), bench.running():
            bench.take(batch(0, b"0", b"1", b"2", b"3"))
            bench.take(batch(4, b"4"))
            await asyncio.sleep(1)
        assert [each.value for each in bench.copied()] == [b"0", b"1"]
        assert bench.committable == 2
        assert bench.budget.used == 0

    run(go())


def test_a_refused_record_is_skipped_alone_and_of_several_copies_each_counts() -> None:
    def twice(record: SourceRecord) -> list[TargetRecord]:
        return [
            TargetRecord(topic=TOPIC, key=None, value=record.value, partition=number)
            for number in range(2)
        ]

    async def go() -> None:
        bench = CopierBench(twice, tolerates=True)
        bench.cluster.logs[TopicPartition(TOPIC, 1)].max_bytes = 500
        values = [b"0", bytes(1_000), b"2", b"3"]
        async with bench.running():
            bench.take(batch(0, *values))
            await bench.wait_for_copies()
        assert [each.value for each in bench.copied(0)] == values
        assert [each.value for each in bench.copied(1)] == [b"0", b"2", b"3"]
        assert [each.value for each in bench.letters] == [values[1]]
        assert bench.committable == 4

    run(go())


@pytest.mark.parametrize("handle", [unchanged, None])
def test_batches_are_no_larger_than_the_topic_takes_once_one_was_refused(
    handle: Handle | None,
) -> None:
    compile_division(wait=True)
    values = [b"%050d" % number for number in range(100)]
    at = partition_for(b"k", PARTITIONS) if handle is None else 0

    async def go() -> None:
        bench = CopierBench(handle)
        log = bench.cluster.logs[TopicPartition(TOPIC, at)]
        log.max_bytes = 1_000
        async with bench.running():
            records = [Plain(offset=n, key=b"k", value=value) for n, value in enumerate(values)]
            bench.take(write_batch(records[:50]))
            await bench.wait_for_copies()
            refused = log.refused
            bench.take(write_batch(records[50:]))
            await bench.wait_for_copies()
        assert log.refused == refused > 0
        assert [each.value for each in log.records] == values

    run(go())


def test_a_refused_record_is_the_first_that_is_not_committed() -> None:
    async def go() -> None:
        bench = CopierBench(unchanged)
        async with bench.running():
            records = [
                Plain(offset=n, key=POISON if n == 2 else b"k", value=b"%d" % n) for n in range(4)
            ]
            bench.take(write_batch(records))
            await asyncio.sleep(5)
            (reason,) = bench.reasons
            assert "refuses the record at offset 2: INVALID_RECORD" in reason
            assert bench.committable == 2
            bench.partition.progress.uncommitted = 0

    run(go())


def answered(**changes: Any) -> TargetRecord:
    """What a handler may make, with mistakes."""
    fields: dict[str, Any] = {"topic": TOPIC, "key": None, "value": None, **changes}
    return TargetRecord(**fields)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "must return a list of records, not NoneType"),
        (["x"], "has returned a str, not a record"),
        ([answered(partition=3)], "none is 3"),
        ([answered(partition=-1)], "-1 is no partition"),
        ([answered(partition=1.5)], "1.5 is no partition"),
        ([answered(partition=True)], "True is no partition"),
        ([answered(timestamp="x")], "'x' is no timestamp"),
        ([answered(timestamp=2**70)], f"{2**70} is no timestamp"),
        ([answered(timestamp=-2)], "-2 is no timestamp"),
        ([answered(value="text")], "can't concat str to bytes"),
        ([answered(), answered(headers=(("name", 5),))], "has no len()"),
    ],
)
def test_what_a_handler_must_not_return_is_named(answer: object, reason: str) -> None:
    def wrong(record: SourceRecord) -> Any:
        return answer if record.value == b"wrong" else [record]

    async def go() -> None:
        bench = CopierBench(wrong)
        async with bench.running():
            bench.take(batch(0, b"right", b"wrong"))
            await asyncio.sleep(1)
            (told,) = bench.reasons
            assert reason in told
        assert bench.committable == 1

    run(go())


OTHER_ERRORS: list[BaseException] = [
    SystemExit("no such record"),
    ClusterError("elsewhere", "no such record"),
    Unavailable("elsewhere", "no such record"),
    FlowError("a->b", "no such record"),
    FatalError("no such record"),
]


def failing(error: BaseException) -> Handle:
    """A handler that itself uses mm2, or wants to end the process."""

    def handle(record: SourceRecord) -> list[SourceRecord]:
        if record.value == b"bad":
            raise error
        return [record]

    return handle


@pytest.mark.parametrize("error", OTHER_ERRORS)
def test_an_error_of_any_kind_that_a_handler_raises_is_one_of_the_handler(
    error: BaseException,
) -> None:
    async def go() -> None:
        bench = CopierBench(failing(error), tolerates=True)
        async with bench.running():
            bench.take(batch(0, b"0", b"bad", b"2"))
            await bench.wait_for_copies()
        assert [each.value for each in bench.copied()] == [b"0", b"2"]
        assert [each.value for each in bench.letters] == [b"bad"]
        assert bench.committable == 3

    run(go())


@pytest.mark.parametrize("error", OTHER_ERRORS)
def test_with_abort_it_ends_the_stream_and_is_told_as_the_handlers(error: BaseException) -> None:
    async def go() -> None:
        bench = CopierBench(failing(error))
        async with bench.running():
            bench.take(batch(0, b"0", b"bad"))
            await asyncio.sleep(1)
            (reason,) = bench.reasons
            assert "the message handler fails at offset 1: " in reason
            assert str(error) in reason
        assert bench.committable == 1

    run(go())


@pytest.mark.parametrize("handle", [unchanged, None])
def test_no_record_is_skipped_while_the_target_is_away_or_does_not_know_a_topic(
    handle: Handle | None,
) -> None:
    async def go() -> None:
        target = NamedTarget()
        target.away = target.late = 3
        named = named_topics(NamedTarget(t=PARTITIONS), target, set())
        bench = CopierBench(handle, tolerates=True, partitions_of=named)
        async with bench.running():
            bench.take(batch(0, b"0", b"1", keys=True))
            await bench.wait_for_copies()
        assert sorted(each.value or b"" for each in bench.copied()) == [b"0", b"1"]
        assert bench.letters == []
        assert bench.committable == 2

    run(go())


def test_a_wait_for_the_target_ends_with_the_stream() -> None:
    async def go() -> None:
        target = NamedTarget()
        target.away = 1 << 30
        named = named_topics(NamedTarget(t=PARTITIONS), target, set())
        bench = CopierBench(unchanged, tolerates=True, partitions_of=named)
        async with asyncio.timeout(60), bench.running():
            bench.take(batch(0, b"0"))
            await asyncio.sleep(30)
        assert target.away < 1 << 30
        assert bench.letters == []
        assert bench.committable == 0

    run(go())


def test_a_renamed_record_keeps_a_partition_that_the_source_has_since_lately() -> None:
    def renamed(record: SourceRecord) -> list[SourceRecord | TargetRecord]:
        if record.value == b"chosen":
            return [answered(topic="new", partition=2)]
        if record.value == b"kept":
            return [answered(topic="new", partition=record.partition)]
        return [replace(record, topic="new")]

    async def go() -> None:
        source, target = NamedTarget(t=2), NamedTarget(new=1)
        bench = CopierBench(
            renamed, tolerates=True, partitions_of=named_topics(source, target, set())
        )
        new = [TopicPartition(TopicName("new"), number) for number in range(2)]
        bench.cluster.add(*new)
        async with bench.running():
            bench.take(batch(0, b"first"))
            bench.take(batch(0, b"0", b"chosen", b"kept"), of=bench.other)
            await bench.copier.wait_for_copies([bench.partition, bench.other])
        assert target.topics == {"new": 2}
        values = [[each.value for each in bench.cluster.logs[where].records] for where in new]
        assert values == [[b"first"], [b"0", None]]
        assert [each.value for each in bench.letters] == [b"chosen"]

    run(go())


def test_a_record_that_cannot_be_sent_is_skipped_alone() -> None:
    def wrong(record: SourceRecord) -> list[Any]:
        return [answered(timestamp=2**70)] if record.value == b"wrong" else [record]

    async def go() -> None:
        bench = CopierBench(wrong, tolerates=True)
        async with bench.running():
            bench.take(batch(0, b"0", b"wrong", b"2"))
            await bench.wait_for_copies()
        assert [each.value for each in bench.copied()] == [b"0", b"2"]
        assert [each.value for each in bench.letters] == [b"wrong"]
        assert bench.committable == 3

    run(go())


def test_a_batch_that_cannot_be_read_is_skipped_as_a_whole() -> None:
    records = [Plain(offset=offset, value=b"x") for offset in (1, 2)]
    damaged = write_batch(records, attributes=LZ4)  # which it is not

    async def go() -> None:
        bench = CopierBench(unchanged, tolerates=True)
        async with bench.running():
            bench.take(batch(0, b"0"), damaged, batch(3, b"3"))
            await bench.wait_for_copies()
        assert [each.value for each in bench.copied()] == [b"0", b"3"]
        assert [each.value for each in bench.letters] == [damaged]
        assert bench.committable == 4

    run(go())


def test_a_log_that_begins_anew_is_counted_anew() -> None:
    async def go() -> None:
        bench = CopierBench(unchanged)
        async with bench.running():
            bench.take(batch(40, b"40"))
            await bench.wait_for_copies()
            assert bench.committable == 41
            bench.partition.begin_at(0, 0)
            bench.take(batch(0, b"0"))
            await bench.wait_for_copies()
            assert bench.committable == 1

    run(go())
