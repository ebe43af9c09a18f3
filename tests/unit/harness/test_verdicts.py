"""How trials count what a group reads twice or never."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.outcomes import save
from tests.harness.trials.trial import UNPLANNED, Toll, Trial, load
from tests.harness.trials.verdict import FROM_THE_START, Verdict, judge, read_in_copy, read_up_to

_SOURCE = {100: 3, 101: 4, 102: 8, 103: 9}
"""Number to offset: gaps before the first, and between the second and the third."""

_COPY = [(10, 100), (11, 101), (13, 102), (14, 103)]


@pytest.mark.parametrize(
    ("stood", "arrived", "expected"),
    [
        # In a gap of both logs: wherever it is, nothing is lost or read twice.
        (5, 12, Verdict((), (), 102)),
        (8, 13, Verdict((), (), 102)),
        (8, 11, Verdict((101,), (), 101)),
        (4, 14, Verdict((), (101, 102), 103)),
        (10, 15, Verdict((), (), None)),
        (9, FROM_THE_START, Verdict((100, 101, 102), (), 100)),
        (FROM_THE_START, 11, Verdict((), (100,), 101)),
    ],
)
def test_both_logs_are_split_at_the_same_record_or_it_is_counted(
    stood: int, arrived: int, expected: Verdict
) -> None:
    assert judge(_COPY, arrived, read_up_to(_SOURCE, stood)) == expected


def test_a_record_that_was_copied_twice_is_skipped_only_with_both_copies() -> None:
    log = [*_COPY, (15, 102), (16, 103)]
    assert judge(log, 15, read_up_to(_SOURCE, 8)) == Verdict((), (), 102)
    assert judge(log, 16, read_up_to(_SOURCE, 8)) == Verdict((), (102,), 103)
    assert judge(log, 11, read_up_to(_SOURCE, 9)) == Verdict((101, 102), (), 101)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (FROM_THE_START, [False, False, False, False]),
        (11, [True, False, False, False]),
        (12, [True, True, False, False]),
        (14, [True, True, True, False]),
        (20, [True, True, True, True]),
    ],
)
def test_what_was_read_of_a_copy_was_read_of_the_original(at: int, expected: list[bool]) -> None:
    was_read = read_in_copy(_SOURCE, _COPY, at)
    assert [was_read(number) for number in _SOURCE] == expected


def test_nobody_knows_of_records_that_compaction_took_from_the_copy() -> None:
    was_read = read_in_copy(_SOURCE, [_COPY[0], _COPY[3]], 12)
    assert [was_read(number) for number in _SOURCE] == [True, None, None, False]
    assert judge([(4, 101), (9, 103)], 8, was_read) == Verdict((), (), 103)


def test_trials_are_kept_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "trials.json"
    assert load(file) == []
    trials = [
        Trial(kind=UNPLANNED, group="g", seed=1, ours=Toll(3, 0), java=Toll(9, 0), faults=["x"]),
        Trial(kind=UNPLANNED, group="h", seed=1, ours=Toll(3, 0), allowed=3),
    ]
    save(trials, file)
    assert load(file) == trials
