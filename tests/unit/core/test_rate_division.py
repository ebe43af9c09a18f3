"""How tasks share the byte rate of their flow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.balancing.rate_division import FlowRate, differ, portions


def test_who_has_partitions_shares_equally_until_told_otherwise() -> None:
    rate = FlowRate(0, 1_000)
    assert rate.share == 1_000
    rate.holds(0, something=True)
    rate.holds(1, something=True)
    assert rate.share == 500
    rate.divided({0: 0.9, 1: 0.1})
    assert rate.share == 900
    rate.holds(2, something=True)
    assert rate.share == pytest.approx(1_000 / 3), "the leader has not spoken of all of them"
    rate.holds(2, something=False)
    rate.configured = 100
    assert rate.share == 90
    rate.configured = -1
    assert rate.share is None


def test_what_one_leaves_the_others_have() -> None:
    assert portions({0: 500, 1: 500}, {0: 490, 1: 10}) == pytest.approx({0: 0.9, 1: 0.1})
    assert portions({0: 500, 1: 500}, {0: 490}) == pytest.approx({0: 0.9, 1: 0.1})
    assert portions({0: 900, 1: 100}, {0: 890, 1: 95}) == pytest.approx({0: 0.5, 1: 0.5})
    assert portions({0: 500, 1: 500}, {0: 200, 1: 100}) == pytest.approx({0: 0.575, 1: 0.425})
    assert portions({}, {}) == portions({0: 0.0}, {}) == {}


@given(
    tasks=st.dictionaries(
        st.integers(0, 8), st.tuples(st.floats(1, 1e9), st.floats(0, 1.2)), min_size=1, max_size=8
    )
)
def test_portions_are_all_there_is_and_leave_nobody_nothing(
    tasks: dict[int, tuple[float, float]],
) -> None:
    shares = {task: share for task, (share, _) in tasks.items()}
    used = {task: share * part for task, (share, part) in tasks.items()}
    found = portions(shares, used)
    assert found.keys() == tasks.keys()
    assert sum(found.values()) == pytest.approx(1)
    assert min(found.values()) >= 0.2 / len(tasks) - 1e-9
    hungry = [found[task] for task, (_, part) in tasks.items() if part >= 0.8]
    content = [found[task] for task, (_, part) in tasks.items() if part < 0.8]
    assert hungry == pytest.approx([max(hungry)] * len(hungry)) if hungry else True
    if hungry and content:
        assert min(hungry) >= max(content) - 1e-9


def test_small_changes_are_no_news() -> None:
    assert not differ({0: 0.5, 1: 0.5}, {0: 0.53, 1: 0.47}, by=0.05)
    assert differ({0: 0.5, 1: 0.5}, {0: 0.6, 1: 0.4}, by=0.05)
    assert differ({0: 1.0}, {0: 0.5, 1: 0.5}, by=0.05)
