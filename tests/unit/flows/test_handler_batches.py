"""When what a message handler makes of batches is sent, and who else has a turn meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace
from typing import Any

import pytest

from flows.source.forward.record_batch import split
from flows.source.transform import handler_parts
from flows.source.transform.column_handle import ChangedPart
from flows.source.transform.handler_batches import HandlerOfBatches, compile_handler_batches
from mm2.core.handled_records import SourceRecord, source_record_of
from tests.support.specs import error_settings
from tests.support.stage_bench import SOURCE, StageBench, numbered


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compile_handler_batches()


def same(record: SourceRecord) -> list[SourceRecord]:
    return [record]


@pytest.mark.parametrize(
    ("limit", "value", "sent"),
    [
        ("SEND_AFTER_S", 1.0, [[0, 1, 2]]),
        ("SEND_AFTER_S", 0.0, [[0], [1], [2]]),
        ("_PART_BYTES", 1_500, [[0, 1], [2]]),
        ("_PART_BYTES", 1, [[0], [1], [2]]),
    ],
)
async def test_what_is_enough_or_has_waited_is_sent(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: float, sent: list[list[int]]
) -> None:
    monkeypatch.setattr(handler_parts, limit, value)
    bench = StageBench(HandlerOfBatches(same, least=1))
    await bench.copy(numbered(0, 1, 2))
    assert [list(batch.offsets) for batch in bench.sent] == sent
    assert bench.partition.fetch.handed_on == 3


@pytest.mark.parametrize("raised", [KeyboardInterrupt, asyncio.CancelledError, BaseException])
async def test_whatever_a_handler_raises_is_an_error_of_its_record(
    raised: type[BaseException],
) -> None:
    def handle(record: SourceRecord) -> list[SourceRecord]:
        if record.value == b"1":
            raise raised
        return [record]

    bench = StageBench(HandlerOfBatches(handle, least=1), errors=error_settings(tolerates=True))
    await bench.copy(numbered(0, 1, 2))
    assert bench.values == [b"0", b"2"]
    assert bench.partition.fetch.handed_on == 3


async def test_time_in_which_nothing_is_handled_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(handler_parts, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(handler_parts, "_PART_BYTES", 1_500)
    batches = [*split(memoryview(numbered(0, 1, 2, 3, 4, 5)))]
    parts = HandlerOfBatches(same, least=1).parts(batches, range(6), SOURCE, 1 << 20, 1 << 20)
    covers = []
    async for part in parts:
        covers.append(part.covers)
        now[0] += 10.0
    assert covers == [range(2), range(2, 4), range(4, 6)]


async def test_who_else_has_to_be_handled_one_by_one_does_not_matter() -> None:
    seen = []

    def handle(record: SourceRecord) -> Any:
        seen.append(record.offset)
        if record.offset == 2:
            raise ValueError("of the handler")
        return [record]

    handler = HandlerOfBatches(handle, least=1)
    batches = [*split(memoryview(numbered(0, 1, 2, 3)))]
    async for cover, sections, _ in handler.parts(batches, range(4), SOURCE, 1 << 20, 1 << 20):
        handler._is_alone = True
        for offset in cover if sections is None else ():
            with pytest.raises(ValueError, match="of the handler"):
                await _answer(handler, offset)
    assert seen == [0, 1, 2, 3]


async def _answer(handler: HandlerOfBatches, offset: int) -> object:
    return handler(source_record_of(SOURCE.topic, SOURCE.partition, offset, 0, None, b"v", ()))


async def test_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler_parts, "TURN_S", 0.0)
    turns, seen = [0], []

    def handle(record: SourceRecord) -> list[SourceRecord]:
        seen.append(turns[0])
        return [record]

    async def take_turns() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    bench = StageBench(HandlerOfBatches(handle, least=1))
    async with bench.running():
        other = asyncio.create_task(take_turns())
        bench.take(numbered(0, 1, 2))
        await bench.until_done()
        other.cancel()
    assert seen == sorted(set(seen))
    assert len(seen) == 3


async def test_few_records_are_handled_one_by_one() -> None:
    parts = HandlerOfBatches(same).parts([], range(3), SOURCE, 1, 1)
    assert [part async for part in parts] == [ChangedPart(range(3))]


@pytest.mark.filterwarnings("error")
async def test_an_answer_that_nobody_takes_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def later(record: SourceRecord) -> list[SourceRecord]:
        return [record]

    def handle(record: SourceRecord) -> Any:
        return later(record)

    bench = StageBench(HandlerOfBatches(handle, least=1))

    async def is_taken_away(*_: object) -> None:
        del bench.partitions[SOURCE]

    monkeypatch.setattr(bench.stage._transform, "_by_record", is_taken_away)
    running = asyncio.create_task(bench.stage.run())
    bench.take(numbered(0, 1))
    await bench.freed.wait()
    assert bench.sent == []
    running.cancel()


def test_a_record_that_is_made_faster_is_like_any_other() -> None:
    made = source_record_of("t", 1, 2, 3, b"k", None, (("h", b"x"),))
    plain = SourceRecord(
        topic="t", partition=1, offset=2, timestamp=3, key=b"k", value=None, headers=(("h", b"x"),)
    )
    assert (type(made), made, hash(made), repr(made)) == (
        SourceRecord,
        plain,
        hash(plain),
        repr(plain),
    )
    assert replace(made, key=None) == replace(plain, key=None) == plain.replace(key=None)
    assert plain.replace() == made.replace(key=b"k") == plain
    with pytest.raises(AttributeError, match="keys"):
        made.replace(keys=b"other")
    with pytest.raises(FrozenInstanceError):
        made.key = b"other"  # type: ignore[misc]
