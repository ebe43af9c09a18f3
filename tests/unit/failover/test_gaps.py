"""Where no record lies between two offsets."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.model import TopicPartition
from mm2.failover.gaps import Stretch, without_records
from mm2.kafka.peek import Range
from mm2.kafka.records import Record
from tests.support.fake_route import FakeSide, at

LENGTH = 12
OFFSETS = st.integers(0, LENGTH)
STRETCHES = st.sets(
    st.builds(Stretch, st.builds(at, st.just("t"), st.integers(0, 2)), OFFSETS, OFFSETS)
)


def _log(gaps: set[tuple[int, int]]) -> FakeSide:
    logs = {at("t", number): (0, LENGTH) for number in range(3)}
    return FakeSide("A", logs=logs, gaps={(at("t", number), offset) for number, offset in gaps})


@given(STRETCHES, st.sets(st.tuples(st.integers(0, 2), st.integers(0, LENGTH - 1))))
async def test_those_without_records_are_found(
    stretches: set[Stretch], gaps: set[tuple[int, int]]
) -> None:
    log = _log(gaps)
    expected = {
        each
        for each in stretches
        if all((each.where, offset) in log.gaps for offset in range(each.first, each.end))
    }
    assert await without_records(stretches, log.first_records) == expected


async def test_many_groups_are_one_question() -> None:
    """Copying stands at the same offset for all of them."""
    log = _log({(0, 10)})
    stretches = [Stretch(at("t", number % 3), 10, 10 + number % 3) for number in range(400)]
    empty = await without_records(stretches, log.first_records)
    assert len(log.looks) == 1
    assert empty == {Stretch(at("t", 0), 10, 10)}


async def test_what_cannot_be_read_may_hold_records() -> None:
    async def look(_: Mapping[TopicPartition, Range]) -> dict[TopicPartition, Record | None]:
        return {}

    assert await without_records([Stretch(at("t"), 1, 2)], look) == set()
