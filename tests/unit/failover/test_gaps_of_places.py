"""Where no record lies between two offsets."""

from __future__ import annotations

from collections.abc import Mapping

from mm2.core.model import TopicPartition
from mm2.failover.empty_ranges import OffsetRange, without_records
from mm2.kafka.logs.first_records import Range
from mm2.kafka.logs.records import Record
from tests.support.fake_route import FakeSide, at

LENGTH = 12


def _log(gaps: set[tuple[int, int]]) -> FakeSide:
    logs = {at("t", number): (0, LENGTH) for number in range(3)}
    return FakeSide("A", logs=logs, gaps={(at("t", number), offset) for number, offset in gaps})


async def test_many_groups_are_one_question() -> None:
    """Copying stands at the same offset for all of them."""
    log = _log({(0, 10)})
    stretches = [OffsetRange(at("t", number % 3), 10, 10 + number % 3) for number in range(400)]
    empty = await without_records(stretches, log.first_records)
    assert len(log.looks) == 1
    assert empty == {OffsetRange(at("t", 0), 10, 10)}


async def test_what_cannot_be_read_may_hold_records() -> None:
    async def look(_: Mapping[TopicPartition, Range]) -> dict[TopicPartition, Record | None]:
        return {}

    assert await without_records([OffsetRange(at("t"), 1, 2)], look) == set()
