"""
Shows checks (``mm2.core.checks``): the same columns and sentences for all commands.

Commands about groups ask whether to go on, and show verdicts; ``mm2 doctor`` and ``mm2 plan`` look
for what is wrong, and show the same verdicts as grades.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mm2.cli.options import CHECK_FAILED, UNREACHABLE, end, tell
from mm2.cli.rows import Row
from mm2.cli.watching import styled
from mm2.config.text.expressions import hide
from mm2.core.checks import Check, Verdict, is_go
from mm2.core.display_text import printable

COLUMNS: Final = ("outcome", "check", "subject", "reason", "cost")

_GRADES: Final = {
    Verdict.GO: "ok",
    Verdict.NOTE: "note",
    Verdict.CAUTION: "warning",
    Verdict.NO_GO: "error",
}
_COLORS: Final = {Verdict.GO: "green", Verdict.CAUTION: "yellow", Verdict.NO_GO: "red"}


def check_row(check: Check) -> Row:
    """A check as a row of a table, or an object of JSON."""
    return {
        "outcome": check.verdict.value,
        "check": check.name,
        "subject": check.subject,
        "reason": check.reason,
        "cost": check.cost if check.verdict is not Verdict.GO else None,
    }


def refusals(checks: Iterable[Check], *, forced: bool) -> Iterator[str]:
    """Why a command does not go on: one sentence for each check that stops it."""
    stopping = [each for each in checks if each.stops(forced=forced)]
    for each in stopping:
        cost = f" With --force: {each.cost}." if each.cost and not forced else ""
        yield f"no-go: {each.subject}: {each.reason}.{cost}"
    if not stopping:
        yield "no-go: there are cautions, and --strict was given."


def conclude(checks: Iterable[Check]) -> None:
    """Ends a command that only shows something: names what was found, exits 1 at a no-go."""
    status, sentences = conclusion(checks)
    if status:
        end(status, *sentences)
    tell(sentences)


def conclusion(checks: Iterable[Check]) -> tuple[int, list[str]]:
    """The exit status after checks, which is 1 at a no-go, and a sentence for each finding."""
    found = [each for each in checks if each.verdict is not Verdict.GO]
    sentences = [f"{each.subject}: {each.reason}" for each in found]
    return 0 if is_go(found) else CHECK_FAILED, sentences


def graded_row(check: Check) -> Row:
    """A check with its grade, for programs."""
    return {
        "grade": _GRADES[check.verdict],
        "check": check.name,
        "about": check.subject,
        "message": hide(check.sentence),
        "remedy": hide(check.remedy) or None,
    }


def graded_lines(checks: Iterable[Check]) -> Iterator[str]:
    """Checks for people; a remedy stands below what it is for, each command on its line."""
    for each in sorted(checks, key=lambda check: [*Verdict].index(check.verdict)):
        grade = styled(f"{_GRADES[each.verdict]:<8}", fg=_COLORS.get(each.verdict))
        yield f"{grade}{each.name:<19}{safe_text(f'{each.subject}: {each.sentence}')}"
        yield from (f"{'':<10}{safe_text(line)}" for line in each.remedy.splitlines())


def safe_text(text: str) -> str:
    """A text without secrets, and without what terminals would obey; names may hold anything."""
    return printable(hide(text))


def exit_status(checks: Iterable[Check]) -> int:
    """3 if a cluster cannot be reached, 1 if anything else has failed, 0 if not."""
    failed = [each for each in checks if each.failed]
    if any(each.is_unreachable for each in failed):
        return UNREACHABLE
    return CHECK_FAILED if failed else 0
