"""What becomes of fetched records that go through a transform."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import cast

import pytest

from flows.source.forward.merge_batches import MergePolicy
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.queued_batches import merge_queued
from flows.source.send.send_queue import PartitionSender
from flows.source.transform.message_handler import Handle
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.model import TopicName, TopicPartition
from tests.support.batches import Plain, read_batch, write_batch
from tests.support.specs import error_settings
from tests.support.stage_bench import SOURCE, StageBench, numbered
from tests.support.user_handlers import fan_out, fan_out_later
from tests.support.virtual_time import run


@pytest.mark.parametrize("handle", [fan_out, fan_out_later])
async def test_each_record_becomes_what_the_handler_returns_in_order(handle: Handle) -> None:
    bench = StageBench(handle)
    await bench.copy(numbered(0, 1, 2), numbered(3, 4, 5))
    assert bench.values == [b"1.0", b"2.0", b"2.1", b"3.0", b"3.1", b"3.2", b"5.0"]
    (batch,) = bench.sent
    assert list(batch.offsets) == [1, 2, 2, 3, 3, 3, 5]
    assert batch.covers == range(6)
    assert bench.partition.progress.left_out == 2


async def test_a_batch_of_which_nothing_is_left_is_passed_over() -> None:
    bench = StageBench(lambda _: [])
    await bench.copy(numbered(0, 1, 2))
    assert bench.sent == []
    assert bench.partition.progress.mirrored == 2
    assert bench.partition.progress.left_out == 3
    assert bench.budget.used == 0


async def test_a_position_does_not_pass_what_is_still_with_the_handler() -> None:
    held = asyncio.Event()

    async def waits(record: SourceRecord) -> list[SourceRecord]:
        if record.offset == 2:
            await held.wait()
        return []

    bench = StageBench(waits)
    async with bench.running():
        bench.take(numbered(0, 1, 2, 3))
        for _ in range(5):
            await asyncio.sleep(0)
        assert bench.partition.fetch.position == 4
        assert bench.partition.progress.mirrored == -1
        assert not bench.partition.is_idle
        held.set()
    assert bench.partition.progress.mirrored == 3


async def _minutes(record: SourceRecord) -> list[SourceRecord]:
    """Waits as many as the offset says."""
    await asyncio.sleep(60 * record.offset)
    return [record]


def test_what_is_done_is_sent_while_the_handler_waits_for_the_next_record() -> None:
    async def script() -> None:
        bench = StageBench(_minutes)
        async with bench.running():
            bench.take(numbered(0, 1, 2))
            await asyncio.sleep(2)
            assert bench.values == [b"0"]
            await asyncio.sleep(60)
            assert bench.values == [b"0", b"1"]
        assert [batch.covers for batch in bench.sent] == [range(1), range(1, 2), range(2, 3)]

    run(script())


def test_nothing_is_sent_late_of_a_partition_that_went_back_meanwhile() -> None:
    async def script() -> None:
        bench = StageBench(_minutes)
        async with bench.running():
            bench.take(numbered(0, 1))
            await asyncio.sleep(0.5)
            bench.partition.fetch.go_back(0)
            await asyncio.sleep(100)
        assert bench.sent == []

    run(script())


async def test_batches_keep_their_codec() -> None:
    bench = StageBench(lambda record: [record])
    await bench.copy(numbered(0, 1, codec=4), numbered(2, codec=1), numbered(3, codec=1))
    assert [list(batch.offsets) for batch in bench.sent] == [[0, 1], [2, 3]]
    assert [batch.covers for batch in bench.sent] == [range(2), range(2, 4)]


async def test_times_that_are_too_far_apart_for_a_batch_are_in_two() -> None:
    times = (-1, (1 << 63) - 1, 5)

    def timed(record: SourceRecord) -> list[SourceRecord]:
        return [record.replace(timestamp=time) for time in times]

    bench = StageBench(timed)
    await bench.copy(numbered(0))
    found = [[record.timestamp for record in read_batch(each.data)] for each in bench.sent]
    assert found == [[times[0]], list(times[1:])]


async def test_what_a_record_becomes_is_cut_to_batches_that_say_where_it_is_complete() -> None:
    def many(record: SourceRecord) -> list[SourceRecord]:
        return [record] * 5

    bench = StageBench(many, policy=MergePolicy(most_bytes=8))
    await bench.copy(numbered(0, 1))
    assert [list(batch.offsets) for batch in bench.sent] == [
        [0, 0],
        [0, 0],
        [0],
        [1, 1],
        [1, 1],
        [1],
    ]
    assert [(b.start, b.end, b.is_partial, b.continues) for b in bench.sent] == [
        (0, 0, True, False),
        (0, 0, True, True),
        (0, 1, False, True),
        (1, 1, True, False),
        (1, 1, True, True),
        (1, 2, False, True),
    ]


async def test_what_the_handler_changes_is_sent_and_the_rest_kept() -> None:
    seen = []

    def changes(record: SourceRecord) -> list[SourceRecord | TargetRecord]:
        seen.append((record.topic, record.partition, record.offset, record.timestamp))
        return [
            replace(record, key=b"new", timestamp=7, headers=(("h", b"x"),)),
            TargetRecord(topic=record.topic, key=record.key, value=None),
        ]

    bench = StageBench(changes)
    await bench.copy(write_batch([Plain(offset=0, key=b"k", value=b"v", timestamp=5)]))
    assert seen == [("A.t", 0, 0, 5)]
    first, second = read_batch(bench.sent[0].data)
    assert (first.key, first.value, first.timestamp) == (b"new", b"v", 7)
    assert first.headers == ((b"h", b"x"),)
    assert (second.key, second.value, second.timestamp) == (b"k", None, 5)


@pytest.mark.parametrize(
    "returned",
    [
        [TargetRecord(topic="elsewhere", key=None, value=None, partition=7)],
        [TargetRecord(topic="A.t", key=None, value=cast("bytes", "text"))],
        [TargetRecord(topic="A.t", key=None, value=None, timestamp=-2)],
        [b"bytes"],
        None,
    ],
)
async def test_a_handler_that_returns_what_cannot_be_sent_stops_its_partition(
    returned: list[TargetRecord],
) -> None:
    bench = StageBench(lambda record: [record] if record.offset == 0 else returned)
    await bench.copy(numbered(0, 1, 2))
    assert [list(batch.offsets) for batch in bench.sent] == [[0]]
    assert bench.partition.progress.left_out == 0
    assert bench.partition.error is not None
    assert "the transform fails at offset 1" in bench.partition.error
    assert bench.partition.fetch.position == 1
    assert bench.budget.used == len(bench.sent[0].data)


def _cancel_own_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def _waits_cancelled() -> None:
    _cancel_own_task()
    await asyncio.sleep(0)


async def _goes_on_cancelled() -> None:
    """As libraries do that know nothing of ``Task.uncancel``."""
    with suppress(asyncio.CancelledError):
        await _waits_cancelled()


@pytest.mark.parametrize("cancelled", [_waits_cancelled, _goes_on_cancelled])
@pytest.mark.parametrize("went_back", [False, True])
async def test_a_handler_that_cancels_its_own_task_stops_its_partition(
    *, cancelled: Callable[[], Awaitable[None]], went_back: bool
) -> None:
    is_odd = True

    async def cancels(record: SourceRecord) -> list[SourceRecord]:
        if record.offset == 1 and is_odd:
            if went_back:
                bench.partition.fetch.go_back(0)
                bench.take(numbered(0, 1, 2))
            await cancelled()
        return [record]

    bench = StageBench(cancels)
    async with bench.running():
        bench.take(numbered(0, 1, 2))
        await bench.until_done()
        assert "cancels its own asyncio task, at offset 0" in (bench.partition.error or "")
        assert (bench.partition.fetch.position, bench.sent, bench.budget.used) == (0, [], 0)
        is_odd = False
        bench.partition.retry()
        bench.take(numbered(0, 1, 2))
    assert bench.values == [b"0", b"1", b"2"]


async def test_a_handler_that_cancels_its_task_when_all_is_sent_stops_nothing() -> None:
    def cancels(record: SourceRecord) -> list[SourceRecord]:
        _cancel_own_task()
        return [record]

    bench = StageBench(cancels)
    async with bench.running():
        bench.take(numbered(0))
        await bench.until_done()
        bench.take(numbered(1))
    assert bench.values == [b"0", b"1"]
    assert bench.partition.error is None


def fails_at_one(record: SourceRecord) -> list[SourceRecord]:
    if record.offset == 1:
        raise SystemExit
    return [record]


async def test_with_tolerance_a_record_that_fails_is_left_out_and_counted() -> None:
    bench = StageBench(fails_at_one, errors=error_settings(tolerates=True))
    await bench.copy(numbered(0, 1, 2))
    assert bench.values == [b"0", b"2"]
    assert bench.partition.progress.skipped == 1
    assert [batch.covers for batch in bench.sent] == [range(1), range(2, 3)]


async def test_a_record_is_left_out_only_when_its_dead_letter_is_written() -> None:
    errors = error_settings(tolerates=True, dead_letter_topic="letters")
    bench = StageBench(fails_at_one, errors=errors)
    async with bench.running():
        bench.take(numbered(0, 1, 2))
        for _ in range(5):
            await asyncio.sleep(0)
        assert bench.values == [b"0"]
        assert bench.partition.fetch.handed_on == 1
        bench.partition.fetch.go_back(0)  # so that nothing is pending


async def test_what_was_fetched_before_a_partition_went_back_is_not_sent() -> None:
    held = asyncio.Event()

    async def waits(record: SourceRecord) -> list[SourceRecord]:
        await held.wait()
        return [record]

    bench = StageBench(waits)
    async with bench.running():
        bench.take(numbered(0, 1))
        await asyncio.sleep(0)
        bench.partition.fetch.go_back(0)
        bench.take(numbered(0, 1, 2))
        held.set()
    assert bench.values == [b"0", b"1", b"2"]


async def test_nothing_more_is_sent_for_a_partition_that_was_given_up() -> None:
    held = asyncio.Event()

    async def waits(record: SourceRecord) -> list[SourceRecord]:
        await held.wait()
        return [record]

    bench = StageBench(waits)
    running = asyncio.create_task(bench.stage.run())
    bench.take(numbered(0, 1))
    await asyncio.sleep(0)
    del bench.partitions[SOURCE]
    held.set()
    await bench.freed.wait()
    assert bench.budget.used == 0
    assert bench.sent == []
    assert bench.partition.progress.mirrored == -1
    running.cancel()


ELSEWHERE = TopicPartition(TopicName("A.more"), 0)


def twice(record: SourceRecord) -> list[SourceRecord]:
    """Even ones also elsewhere; those divisible by three only there."""
    there = [replace(record, topic=ELSEWHERE.topic)] if record.offset % 2 == 0 else []
    return there if record.offset % 3 == 0 else [record, *there]


def take(bench: StageBench, sender: PartitionSender) -> None:
    """The target takes the next batch of a sender."""
    batch = sender.queue.popleft()
    batch.answer, batch.base_offset = 0, 0
    sender.appended(batch)


async def routed_bench() -> tuple[StageBench, PartitionSender]:
    bench = StageBench(twice)

    def acknowledged(batch: OutgoingBatch) -> None:
        bench.partition.landed(batch)
        bench.partition.acknowledge(batch, 0)

    bench.sender.on_ack = acknowledged
    bench.sender.on_dropped = lambda batches: bench.budget.release(bench.partition.dropped(batches))
    await bench.copy(numbered(0, 1, 2, 3), numbered(4, 5))
    return bench, bench.routes.senders[ELSEWHERE]


async def test_records_go_elsewhere_and_to_the_copy() -> None:
    bench, elsewhere = await routed_bench()
    assert [list(batch.offsets) for batch in bench.sent] == [[1, 2, 4, 5]]
    assert [list(batch.offsets) for batch in elsewhere.queue] == [[0, 2, 4]]
    assert bench.partition.senders == [bench.sender, elsewhere]


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_position_waits_for_what_goes_elsewhere(is_first: bool) -> None:
    bench, elsewhere = await routed_bench()
    senders = [elsewhere, bench.sender] if is_first else [bench.sender, elsewhere]
    take(bench, senders[0])
    seen = [(bench.partition.progress.mirrored, bench.partition.is_idle)]
    take(bench, senders[1])
    seen.append((bench.partition.progress.mirrored, bench.partition.is_idle))
    assert seen == [(-1, False), (5, True)]
    assert bench.partition.progress.queued == 0


async def test_a_partition_goes_back_to_what_was_dropped_elsewhere() -> None:
    bench, elsewhere = await routed_bench()
    take(bench, bench.sender)
    elsewhere.drop_unacked()
    assert bench.partition.fetch.position == 0
    assert bench.partition.progress.mirrored == -1
    await bench.copy(numbered(0, 1, 2))
    take(bench, bench.sender)
    assert bench.partition.progress.mirrored == -1
    take(bench, elsewhere)
    assert bench.partition.progress.mirrored == 2


async def test_memory_of_a_sender_that_others_use_is_not_freed_at_their_cost() -> None:
    bench, elsewhere = await routed_bench()
    elsewhere.on_dropped = lambda _: None
    await bench.copy(numbered(6, 7, 8, 9, 10))
    assert len(elsewhere.queue) == 2
    elsewhere.trim()
    assert len(elsewhere.queue) == 2
    assert elsewhere.spare is None


async def test_only_batches_of_one_owner_become_one() -> None:
    bench, elsewhere = await routed_bench()
    await bench.copy(numbered(6, 7, 8, 9, 10))
    other = replace(elsewhere.queue[0], owner=None)
    elsewhere.queue.append(other)
    merged = merge_queued(elsewhere, MergePolicy())
    assert merged is not None
    assert list(merged.offsets) == [0, 2, 4, 6, 8, 10]
    assert list(elsewhere.queue) == [other]
