"""Whatever lies between two offsets, stretches without records are found."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from mm2.failover.empty_ranges import OffsetRange, without_records
from tests.support.fake_route import FakeSide, at

LENGTH = 12
OFFSETS = st.integers(0, LENGTH)
STRETCHES = st.sets(
    st.builds(OffsetRange, st.builds(at, st.just("t"), st.integers(0, 2)), OFFSETS, OFFSETS)
)


@given(STRETCHES, st.sets(st.tuples(st.integers(0, 2), st.integers(0, LENGTH - 1))))
def test_those_without_records_are_found(
    stretches: set[OffsetRange], gaps: set[tuple[int, int]]
) -> None:
    log = FakeSide(
        "A",
        logs={at("t", number): (0, LENGTH) for number in range(3)},
        gaps={(at("t", number), offset) for number, offset in gaps},
    )
    expected = {
        each
        for each in stretches
        if all((each.where, offset) in log.gaps for offset in range(each.first, each.end))
    }
    assert asyncio.run(without_records(stretches, log.first_records)) == expected
