"""Parts of long lists."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mm2.kafka.chunks import weighed_chunks

WEIGHTS = st.lists(st.integers(min_value=0, max_value=10))


@given(weights=WEIGHTS, most=st.integers(min_value=1, max_value=20))
def test_parts_are_as_heavy_as_they_may_be(weights: list[int], most: int) -> None:
    parts = list(weighed_chunks(weights, most, int))
    assert [each for part in parts for each in part] == weights
    assert all(parts)
    assert all(sum(part) <= most for part in parts if len(part) > 1)
    starts = [part[0] for part in parts[1:]]
    assert all(
        sum(part) + following > most for part, following in zip(parts[:-1], starts, strict=True)
    )
