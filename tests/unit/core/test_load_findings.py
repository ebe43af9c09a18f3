"""What a load test takes for wrong, and how it counts."""

from __future__ import annotations

import pytest

from mm2.core.offset_manager.load_findings import GroupHistory, Measured, ratios


@pytest.mark.parametrize(
    ("before", "offsets", "complaint"),
    [
        (3, [3, 3], None),
        (3, [4, 4], None),
        (3, [2, 2], "stale"),
        (3, [], "stale"),
        (0, [], None),
        (3, [3, 4], "partial"),
        (3, [3], "partial"),
        (3, [9, 9], "unknown"),
    ],
)
def test_an_answer_is_wrong_if_no_order_of_the_commits_explains_it(
    before: int, offsets: list[int], complaint: str | None
) -> None:
    history = GroupHistory(acknowledged=3, attempted=4)
    assert history.complaint(before, offsets, 2) == complaint


def test_what_several_threads_have_measured_is_one_row() -> None:
    whole = Measured()
    for errors in (["A"], ["A", "B"]):
        part = Measured(took_s=[0.001 * each for each in range(50)])
        for each in errors:
            part.failed(each)
        whole.merge(part)
    assert whole.row("commits", 10.0) == {
        "calls": "commits",
        "answered": 100,
        "per_second": 10,
        "p50_ms": 25,
        "p99_ms": 49,
        "max_ms": 49,
        "errors": "A=2 B=1",
    }


def test_ratios_compare_answers_and_the_slowest_of_a_hundred() -> None:
    ours, theirs = Measured(took_s=[0.02] * 50), Measured(took_s=[0.01] * 100)
    assert ratios(ours, theirs) == (0.5, 2.0)
    assert ratios(Measured(), theirs) == (None, None)
