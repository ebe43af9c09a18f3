"""What Java's MirrorMaker does, by numbers, and which tests show it, as a page."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.support.layout import ROOT

PAGE: Final = ROOT / "docs" / "contributing" / "behaviours.md"
OTHERWISE: Final = ROOT / "docs" / "explanation" / "java-behaviours.md"
SAID: Final = Path(__file__).with_name("java_behaviours.txt")
"""A line for each number, with a sentence."""

LAST: Final = 492

_NUMBERS: Final = re.compile(r"\bC(\d{3})(?:-C?(\d{3}))?\b")
_IN_BRACKETS: Final = re.compile(r" \([^)]*C\d{3}[^)]*\)")
_INTRODUCTION: Final = """\
# Behaviours of Java's MirrorMaker, and the tests that show them

Code, tests and pages name behaviours of Kafka's MirrorMaker 4.3 by numbers, C001 to C492.
`scripts/generate-docs` writes this page from `tests/support/java_behaviours.txt`, and from the
numbers that the tests name.

## What Java does

The numbers tell behaviours apart; they follow Java's parts from its configuration to its metrics.

| | Java's MirrorMaker |
| --- | --- |
"""
_TESTS: Final = """\

## What the tests show

Each row says, in the words of their names, what the tests of a file show of one behaviour; the
words of the file itself where all of it does. What has no row, or is not as in Java, stands in
[where mm2 does otherwise than Java](../explanation/java-behaviours.md).

| | shown | in |
| --- | --- | --- |
"""


def numbers_in(text: str) -> set[int]:
    """All numbers of behaviours in a text, ranges written out."""
    return {
        number
        for first, last in _NUMBERS.findall(text)
        for number in range(int(first), int(last or first) + 1)
    }


def shown_by() -> Mapping[int, Mapping[str, list[str]]]:
    """By number and file: the tests of the file, as words, that name the number."""
    found: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for words, text in _parts(path.read_text()):
            for number in numbers_in(text):
                found[number][str(path.relative_to(ROOT))].append(words)
    return found


def said() -> Mapping[int, str]:
    """By number: what Java does, in a sentence."""
    lines = (line.partition(" ") for line in SAID.read_text().splitlines())
    return {int(number.removeprefix("C")): sentence for number, _, sentence in lines}


def page() -> str:
    """The page, in Markdown."""
    sentences = (f"| C{number:03} | {sentence} |\n" for number, sentence in said().items())
    rows = (
        f"| C{number:03} | {'; '.join(dict.fromkeys(words))} | `{file}` |\n"
        for number, files in sorted(shown_by().items())
        for file, words in files.items()
    )
    return "".join((_INTRODUCTION, *sentences, _TESTS, *rows))


def _parts(source: str) -> Iterator[tuple[str, str]]:
    """The tests of a module, as words and text; then what is left of it."""
    lines = source.splitlines()
    module = ast.parse(source)
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_test(node.name):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
            text = "\n".join(lines[first : node.end_lineno])
            yield _words(node.name), text
            lines[first : node.end_lineno] = [""] * ((node.end_lineno or 0) - first)
    title = (ast.get_docstring(module) or "all of it").partition("\n")[0]
    yield _IN_BRACKETS.sub("", title).rstrip(".:"), "\n".join(lines)


def _is_test(name: str) -> bool:
    return name.startswith("test_")


def _words(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ")
