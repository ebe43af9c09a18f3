"""What pages of the documentation show for the shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.support.layout import ROOT

_MADE_FROM_CODE: Final = {"commands.md", "rest.md"}
"""They have usages with placeholders."""

PAGES: Final = [
    page
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
    if page.name not in {*_MADE_FROM_CODE, "CHANGELOG.md"}
]
_FENCE: Final = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INDENTED: Final = re.compile(r"(?<=\n\n)(?: {4}.*\n)+", re.MULTILINE)
_INLINE: Final = re.compile(r"`([^`\n]+)`")
_PROMPT: Final = re.compile(r"^(?:[\w-]+)?\$ ")
_DRAWN: Final = re.compile("[─-╿]")
_LANGUAGES: Final = {"sh", "bash", "console", ""}


def shell_lines(page: Path) -> Iterator[str]:
    """The lines of a page's blocks for the shell; one that goes on with a backslash is one."""
    text = page.read_text()
    blocks = [block for language, block in _FENCE.findall(text) if language in _LANGUAGES]
    indented = _INDENTED.findall(_FENCE.sub("", text))
    for block in (*blocks, *(block for block in indented if not _DRAWN.search(block))):
        for line in block.replace("\\\n", " ").splitlines():
            yield _PROMPT.sub("", line.strip())


def inline_code(page: Path) -> Iterator[str]:
    """The code in the sentences of a page."""
    yield from _INLINE.findall(_FENCE.sub("", page.read_text()))
