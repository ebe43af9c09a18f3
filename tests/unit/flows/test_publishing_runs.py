"""How often a task publishes its runs, how long positions wait for them, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from flows.checkpoint.translation_followers import feed_all_runs
from flows.source.mirrored_partition import MirroredPartition
from flows.source.publish.run_cleanup import StoredBlocks
from flows.source.publish.run_publisher import RunPublisher
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_translation import RunStore
from mm2.core.translation.run_codec import decode_key, encode_key, encode_value
from mm2.core.translation.run_tracker import RunTracker
from mm2.core.translation.runs import Block, BlockName, Logs, Run, Runs
from mm2.errors import Unavailable
from mm2.kafka.logs.records import Record
from mm2.kafka.writer import Writer
from tests.support.virtual_time import run

_LOGS = Logs(UUID(int=1), UUID(int=2))


class _Topic(Writer):
    """In memory; takes its time."""

    def __init__(self, *, takes_s: float = 0.0) -> None:
        super().__init__("B", {})
        self.store = RunStore()
        self.blocks: list[tuple[TopicPartition, int]] = []
        self.runs = 0
        self.takes_s = takes_s
        self.is_away = False

    async def send_all(
        self, topic: str, records: Iterable[tuple[bytes, bytes | None]], *, partition: int
    ) -> None:
        assert (topic, partition) == ("runs", 0)
        await asyncio.sleep(self.takes_s)
        if self.is_away:
            raise Unavailable("B", "nobody answers")
        for key, value in records:
            where, (start, _) = decode_key(key)
            self.blocks.append((where, start))
            self.store.handle(key, value)
            known = self.store.of(where)
            assert known is not None
            self.runs += sum(len(each.runs) for each in known.blocks if each.start == start)


def _where(number: int) -> TopicPartition:
    return TopicPartition(TopicName("t"), number)


def _mirrored(number: int = 0, *, runs: int = 0, full: int = 64) -> MirroredPartition:
    tracker = RunTracker(full=full)
    tracker.begin(0)
    mirrored = MirroredPartition(_where(number), PartitionSender(_where(number)), runs=tracker)
    for n in range(runs):
        _copied(mirrored, n)
    return mirrored


def _copied(mirrored: MirroredPartition, number: int) -> None:
    """One record behind a gap."""
    assert mirrored.runs is not None
    mirrored.runs.add(Run(2 * number, number, 1), _LOGS)
    mirrored.progress.reach(2 * number)


def _runs(topic: Writer, *partitions: MirroredPartition) -> RunPublisher:
    return RunPublisher("runs", topic, {p.source: p for p in partitions}, is_transactional=False)


async def _published(runs: RunPublisher, *, seconds: float) -> None:
    """Lets it publish for a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await runs.run()


def test_partitions_of_many_gaps_are_not_written_anew_for_each() -> None:
    """Readers decode all of it: a gap in each tenth of a second must not cost them hundreds."""

    async def script() -> int:
        topic, mirrored = _Topic(), _mirrored()
        runs = _runs(topic, mirrored)
        publishing = asyncio.create_task(runs.run())
        for n in range(600):
            _copied(mirrored, n)
            runs.wake(mirrored)
            await asyncio.sleep(0.1)
        publishing.cancel()
        known = topic.store.of(_where(0))
        assert known is not None
        assert sum(len(block.runs) for block in known.blocks) > 570, "two seconds' worth may wait"
        return topic.runs

    assert run(script()) < 600 * 8


def test_the_last_of_it_is_published_soon_and_then_there_is_rest() -> None:
    async def script() -> None:
        topic, mirrored = _Topic(), _mirrored(runs=40)
        runs = _runs(topic, mirrored)
        publishing = asyncio.create_task(runs.run())
        runs.wake(mirrored)
        await asyncio.sleep(0.5)
        _copied(mirrored, 40)
        runs.wake(mirrored)
        await asyncio.sleep(2.5)
        known = topic.store.of(_where(0))
        assert known is not None
        assert known.exact_since == 0
        assert known.blocks[-1].end == 81
        written = len(topic.blocks)
        await asyncio.sleep(60)
        assert len(topic.blocks) == written
        publishing.cancel()

    run(script())


def test_many_runs_at_once_are_spread_over_time() -> None:
    async def script() -> None:
        topic = _Topic()
        partitions = [_mirrored(n, runs=5_890) for n in range(4)]
        runs = _runs(topic, *partitions)
        runs.wake()
        publishing = asyncio.create_task(runs.run())
        await asyncio.sleep(0.1)
        _copied(partitions[0], 5_890)
        runs.wake(partitions[0])
        await asyncio.sleep(1.0)
        assert topic.store.of(_where(0)).blocks[-1].end == 11_779  # type: ignore[union-attr]
        await asyncio.sleep(0.5)
        assert topic.store.of(_where(0)).blocks[-1].end == 11_781  # type: ignore[union-attr]
        publishing.cancel()

    run(script())


def test_positions_wait_for_their_own_runs_and_not_for_those_of_others() -> None:
    """A round and what a commit writes may each take most of a second over a long way."""

    async def script() -> None:
        topic, mirrored = _Topic(takes_s=0.8), _mirrored(runs=3)
        runs = _runs(topic, mirrored)
        round_ = asyncio.create_task(_published(runs, seconds=3_600))
        runs.wake(mirrored)
        await asyncio.sleep(0.1)
        _copied(mirrored, 3)
        await runs.publish_before_commit([mirrored])
        known = topic.store.of(_where(0))
        assert known is not None
        assert known.blocks[-1].end == 7
        round_.cancel()

    run(script())


def test_runs_that_are_late_are_published_by_the_next_round() -> None:
    """Positions go on, and nothing pauses: what is slow is not broken."""

    async def script() -> None:
        topic, mirrored = _Topic(takes_s=1.2), _mirrored(runs=3)
        runs = _runs(topic, mirrored)
        clock = asyncio.get_running_loop().time
        publishing = asyncio.create_task(runs.run())
        with capture_logs() as logs:
            await runs.publish_before_commit([mirrored])
        assert [each["event"] for each in logs] == ["offset_runs.late"]
        assert clock() == pytest.approx(1.0)
        await asyncio.sleep(1.5)
        assert topic.blocks
        publishing.cancel()

    run(script())


def test_runs_that_are_refused_are_tried_again_after_a_pause() -> None:
    async def script() -> None:
        topic, mirrored = _Topic(), _mirrored(runs=3)
        topic.is_away = True
        runs = _runs(topic, mirrored)
        publishing = asyncio.create_task(runs.run())
        with capture_logs() as logs:
            await runs.publish_before_commit([mirrored])
            await asyncio.sleep(4)
        assert [each["event"] for each in logs] == ["offset_runs.failed"]
        topic.is_away = False
        await asyncio.sleep(2)
        assert topic.blocks == [(_where(0), 0)]
        publishing.cancel()

    run(script())


def test_what_a_round_meets_during_a_pause_is_published_after_it() -> None:
    """The round waits for its turn while somebody else learns that the cluster is away."""

    async def script() -> None:
        topic, other, mirrored = _Topic(takes_s=0.5), _mirrored(1, runs=1), _mirrored(runs=3)
        topic.is_away = True
        runs = _runs(topic, mirrored, other)
        settling = asyncio.create_task(runs.publish_before_commit([other]))
        await asyncio.sleep(0.1)
        runs.wake(mirrored)
        publishing = asyncio.create_task(runs.run())
        with capture_logs():
            await settling
        topic.is_away = False
        await asyncio.sleep(7)
        assert {where for where, _ in topic.blocks} == {_where(0), _where(1)}
        publishing.cancel()

    run(script())


def test_a_partition_that_was_given_up_is_not_written_by_a_waiting_round() -> None:
    """Another task may have written since."""

    async def script() -> None:
        topic, given = _Topic(takes_s=0.5), _mirrored(1, runs=1)
        partitions = {each.source: each for each in (_mirrored(0, runs=1), given)}
        runs = RunPublisher("runs", topic, partitions, is_transactional=False)
        settling = asyncio.create_task(runs.publish_before_commit([partitions[_where(0)]]))
        await asyncio.sleep(0.1)
        runs.wake(given)
        publishing = asyncio.create_task(runs.run())
        await asyncio.sleep(0.1)
        del partitions[_where(1)]
        await settling
        await asyncio.sleep(2)
        assert {where for where, _ in topic.blocks} == {_where(0)}
        publishing.cancel()

    run(script())


def test_it_is_said_that_runs_were_given_up_but_not_all_the_time() -> None:
    async def script() -> list[int]:
        topic, mirrored = _Topic(), _mirrored(runs=300, full=1)
        runs = _runs(topic, mirrored)
        publishing = asyncio.create_task(runs.run())
        with capture_logs() as logs:
            for n in range(1, 4):
                runs.wake(mirrored)
                await asyncio.sleep(40)
                for each in range(300 * n, 300 * (n + 1)):
                    _copied(mirrored, each)
            publishing.cancel()
        return [each["runs"] for each in logs if each["event"] == "offset_runs.dropped"]

    first, later = run(script())
    assert first == 300 - 257
    assert first < later


def test_blocks_are_remembered_only_while_somebody_looks_through_the_topic() -> None:
    async def script() -> None:
        topic, mirrored = _Topic(), _mirrored(runs=1)
        runs = _runs(topic, mirrored)
        due = {_where(0): [(BlockName(0), None)]}
        with runs.recording_writes():
            await runs.publish_before_commit([mirrored])
            assert await runs.write_cleanup(due) == 0, "it was written just now"
        assert await runs.write_cleanup(due) == 1
        _copied(mirrored, 1)
        await runs.publish_before_commit([mirrored])
        assert await runs.write_cleanup(due) == 1
        with suppress(ZeroDivisionError), runs.recording_writes():
            await runs.publish_before_commit([mirrored])
            raise ZeroDivisionError
        assert await runs.write_cleanup(due) == 1

    run(script())


def _block(topic: str, start: int, *, is_there: bool = True) -> Record:
    where = TopicPartition(TopicName(topic), 0)
    value = encode_value(Block(start, start + 1, Runs([Run(start, start, 1)]), _LOGS))
    return Record(
        topic="runs",
        partition=0,
        offset=start,
        timestamp_ms=0,
        key=encode_key(where, start),
        value=value if is_there else None,
        headers=(),
    )


async def _at_once(records: Iterable[Record]) -> AsyncIterator[Record]:
    """As they come out of one answer of a broker: nobody waits for any of them."""
    for record in records:
        yield record


async def _turns(records: AsyncIterator[Record], *, cleaning: bool) -> int:
    """How often another task has its turn while records are taken in."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    if cleaning:
        stored = StoredBlocks({_where(0): _mirrored()}, frozenset())
        await stored.read(records)
        assert stored.runs.keys() == {_where(0)}
    else:
        await feed_all_runs(RunStore(), [record async for record in records])
    task.cancel()
    return turns


@pytest.mark.parametrize("cleaning", [True, False], ids=["cleaning", "following"])
def test_others_have_their_turn_while_a_megabyte_of_runs_is_read(*, cleaning: bool) -> None:
    records: Iterator[Record] = (_block("t", n) for n in range(50))
    assert asyncio.run(_turns(_at_once(records), cleaning=cleaning)) >= 50


def test_of_other_topics_only_those_that_have_blocks_are_named() -> None:
    async def script() -> StoredBlocks:
        stored = StoredBlocks({_where(0): _mirrored()}, frozenset({TopicName("gone")}))
        there = [_block("t", 0), _block("other", 0), _block("gone", 0), _block("gone", 7)]
        taken_back = [_block("gone", 0, is_there=False), _block("long.gone", 0, is_there=False)]
        unreadable = Record(
            topic="runs", partition=0, offset=9, timestamp_ms=0, key=b"?", value=None, headers=()
        )
        await stored.read(_at_once([*there, *taken_back, unreadable]))
        return stored

    stored = run(script())
    assert stored.others == {"other", "gone"}
    assert stored.names == {TopicPartition(TopicName("gone"), 0): {BlockName(7)}}
