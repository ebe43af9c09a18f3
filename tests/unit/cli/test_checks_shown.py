"""How commands show checks, and which exit status belongs to them."""

from __future__ import annotations

import pytest

from mm2.cli.check_rows import check_row, conclude, graded_lines, refusals
from mm2.core.checks import Check

GO = Check.go("origin", "g", "has no members")
CAUTION = Check.caution("flow", "A->B", "is stopped", remedy="resume it")
NO_GO = Check.no_go("copied", "t-0", "is not copied", remedy="does the flow run?")
FORCIBLE = Check.no_go("copied", "t-1", "is not copied", cost="5 records are read again")


def test_a_row_has_the_remedy_with_the_reason_and_no_cost_of_what_is_good() -> None:
    rows = [tuple(check_row(each).values()) for each in (GO, CAUTION, NO_GO, FORCIBLE)]
    assert rows == [
        ("go", "origin", "g", "has no members", None),
        ("caution", "flow", "A->B", "is stopped: resume it", ""),
        ("no-go", "copied", "t-0", "is not copied: does the flow run?", None),
        ("no-go", "copied", "t-1", "is not copied", "5 records are read again"),
    ]


def test_a_refusal_names_each_check_that_stops_and_what_forcing_costs() -> None:
    checks = [GO, CAUTION, NO_GO, FORCIBLE]
    assert list(refusals(checks, forced=False)) == [
        "no-go: t-0: is not copied: does the flow run?.",
        "no-go: t-1: is not copied. With --force: 5 records are read again.",
    ]
    assert list(refusals(checks, forced=True)) == ["no-go: t-0: is not copied: does the flow run?."]
    assert list(refusals([CAUTION], forced=False)) == [
        "no-go: there are cautions, and --strict was given."
    ]


def test_a_command_that_only_shows_something_ends_with_1_at_a_no_go(
    capsys: pytest.CaptureFixture[str],
) -> None:
    conclude([GO, CAUTION])
    assert capsys.readouterr().err == "A->B: is stopped: resume it\n"
    with pytest.raises(SystemExit) as ended:
        conclude([CAUTION, FORCIBLE])
    assert ended.value.code == 1
    assert capsys.readouterr().err == "A->B: is stopped: resume it\nt-1: is not copied\n"


@pytest.mark.parametrize(
    ("is_terminal", "variable", "is_coloured"),
    [(True, None, True), (True, "", True), (True, "1", False), (False, None, False)],
)
def test_grades_are_coloured_on_terminals_of_who_wants_it(
    monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool, variable: str | None, is_coloured: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if variable is not None:
        monkeypatch.setenv("NO_COLOR", variable)
    (line, _) = graded_lines([CAUTION])
    assert ("\x1b[" in line) is is_coloured
