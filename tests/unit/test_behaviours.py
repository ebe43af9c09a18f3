"""Every numbered behaviour of Java's MirrorMaker is shown by a test, or accounted for in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "docs" / "explanation" / "java-behaviours.md"
_LAST = 492
_NUMBERS = re.compile(r"(?:\b|_)[Cc](\d{3})(?:-C?(\d{3}))?(?=\b|_)")


def _named(texts: Iterable[str]) -> set[int]:
    """All numbers in texts, ranges written out."""
    return {
        number
        for text in texts
        for first, last in _NUMBERS.findall(text)
        for number in range(int(first), int(last or first) + 1)
    }


def test_no_behaviour_is_forgotten() -> None:
    tests = (path.read_text() for path in (_ROOT / "tests").rglob("*.py") if path != Path(__file__))
    known = _named([_PAGE.read_text(), *tests])
    forgotten = sorted(set(range(1, _LAST + 1)) - known)
    assert forgotten == [], "name them in a test, or in docs/explanation/java-behaviours.md"
