"""Every numbered behaviour of Java's MirrorMaker is shown by a test, or accounted for in words."""

from __future__ import annotations

from tests.support.behaviours import LAST, OTHERWISE, PAGE, numbers_in, page, said, shown_by


def test_no_behaviour_is_forgotten() -> None:
    known = numbers_in(OTHERWISE.read_text()) | shown_by().keys()
    forgotten = sorted(set(range(1, LAST + 1)) - known)
    assert forgotten == [], "name them in a test, or in docs/explanation/java-behaviours.md"


def test_a_sentence_says_what_java_does_for_each_number() -> None:
    assert list(said()) == list(range(1, LAST + 1))
    assert [number for number, text in said().items() if not text.endswith(".")] == []


def test_the_page_lists_the_tests_of_each_behaviour() -> None:
    assert PAGE.read_text() == page(), "run scripts/generate-docs"
