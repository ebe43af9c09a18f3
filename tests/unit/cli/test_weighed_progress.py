"""Parts of different sizes make one progress."""

from __future__ import annotations

from mm2.cli.progress import WeighedProgress


def test_what_parts_have_done_adds_up_to_the_whole() -> None:
    progress = WeighedProgress([100, 0, 50])
    assert progress.total == 151
    more = [progress.reached(0, 30), progress.reached(2, 50), progress.reached(0, 70)]
    assert more == [30, 50, 40]
    assert [progress.ended(part) for part in range(3)] == [30, 1, 0]


def test_what_comes_late_or_is_too_much_counts_once() -> None:
    progress = WeighedProgress([100])
    assert [progress.reached(0, done) for done in (60, 20, 500)] == [60, 0, 40]
    assert progress.reached(7, 10) == 0
