"""How doctor and plan show checks, and what status they end a command with."""

from __future__ import annotations

import pytest

from mm2.cli.check_rows import exit_status, graded_lines, graded_row
from mm2.core.checks import Check, Verdict, first_few


def _check(verdict: Verdict, sentence: str = "x", *, is_unreachable: bool = False) -> Check:
    return Check(
        name="clock",
        subject="A",
        verdict=verdict,
        sentence=sentence,
        remedy="one\ntwo",
        is_unreachable=is_unreachable,
    )


@pytest.mark.parametrize(
    ("verdict", "grade"),
    [
        (Verdict.GO, "ok"),
        (Verdict.NOTE, "note"),
        (Verdict.CAUTION, "warning"),
        (Verdict.NO_GO, "error"),
    ],
)
def test_programs_get_the_verdict_as_a_grade(verdict: Verdict, grade: str) -> None:
    assert graded_row(_check(verdict)) == {
        "grade": grade,
        "check": "clock",
        "about": "A",
        "message": "x",
        "remedy": "one\ntwo",
    }


def test_the_worst_comes_last_and_commands_stand_on_lines_of_their_own() -> None:
    lines = [*graded_lines([_check(Verdict.NO_GO), _check(Verdict.GO)])]
    assert ["ok" in lines[0], "error" in lines[3]] == [True, True]
    assert [line.strip() for line in lines[1:3]] == ["one", "two"]


def test_terminals_are_sent_no_commands() -> None:
    (line, *_) = graded_lines([_check(Verdict.NOTE, "a\x1b[2J\nb")])
    assert "A: a\\x1b[2J\\nb" in line


def test_the_exit_status_is_that_of_the_worst() -> None:
    assert exit_status([_check(Verdict.GO), _check(Verdict.NOTE)]) == 0
    assert exit_status([_check(Verdict.CAUTION)]) == 1
    assert exit_status([_check(Verdict.NO_GO), _check(Verdict.NO_GO, is_unreachable=True)]) == 3


def test_many_names_are_counted() -> None:
    assert first_few("abcdefg") == "a, b, c, d, e and 2 more"
    assert first_few(["b", "a"]) == "b, a"
