"""Sentences of the documentation are short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).parents[3]
_LISTS: Final = {"live-changes.md", "commands.md"}
"""Pages that enumerate keys, and what each command prints of itself."""
_MOST_WORDS: Final = 25
_PAGES: Final = sorted(
    chain(
        (_ROOT / "docs" / "how-to").glob("*.md"),
        (_ROOT / "docs" / "explanation").glob("*.md"),
        (_ROOT / "docs" / "runbooks").glob("*.md"),
        (page for page in (_ROOT / "docs" / "reference").glob("*.md") if page.name not in _LISTS),
        [_ROOT / "docs" / "tutorial.md", _ROOT / "docs" / "README.md"],
        [_ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")],
    )
)
_FENCE: Final = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_INLINE_CODE: Final = re.compile(r"``[^`]+``|`[^`]+`")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ITEM: Final = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
_END: Final = re.compile(r"[.!?][)*\"_]*\s+(?=[\"(*_]*(?:[A-Z0-9$]|mm2))")
_WORD: Final = re.compile(r"\w")


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_no_sentence_has_more_words_than_people_can_hold(page: Path) -> None:
    long = [
        f"{count} words: {sentence}"
        for sentence in sentences(page.read_text())
        if (count := words(sentence)) > _MOST_WORDS
    ]
    assert long == []


def test_sentences_are_found_in_paragraphs_items_and_cells() -> None:
    text = "# Head\n\nOne two. Three\nfour.\n\n- `a b c` five:\n- six [seven](x.md) eight\n\n"
    table = "| nine | ten. Eleven |\n|---|---|\n\n    code that is left out\n"
    assert [words(each) for each in sentences(text + table)] == [2, 2, 2, 3, 1, 1, 1]


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page of Markdown, without code and headings."""
    for paragraph in _paragraphs(_FENCE.sub("\n\n", text)):
        plain = _LINK.sub(r"\1", _INLINE_CODE.sub("Code", paragraph))
        start = 0
        for end in _END.finditer(plain):
            yield plain[start : end.end()].strip()
            start = end.end()
        yield plain[start:].strip()


def words(sentence: str) -> int:
    """How many words it has; inline code is one."""
    return sum(bool(_WORD.search(each)) for each in sentence.split())


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, items of lists and cells of tables, each on one line."""
    found: list[str] = []
    for line in [*text.splitlines(), ""]:
        is_code = line.startswith("    ") and not found
        begins = _ITEM.match(line)
        if found and (not line.strip() or begins or line.startswith(("#", "|"))):
            yield " ".join(found)
            found = []
        if line.startswith("|"):
            yield from (cell for cell in line.split("|") if _WORD.search(cell))
        elif line.strip() and not is_code and not line.startswith(("#", "<")):
            found.append(_ITEM.sub("", line).strip())
