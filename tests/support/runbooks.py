"""
The commands that runbooks show, to be run by tests as they stand there.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.support.layout import ROOT

FOLDER = ROOT / "docs" / "runbooks"
PAGES = sorted(FOLDER.glob("*.md"))


def headings(page: Path) -> list[str]:
    """The sections of a page."""
    return re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)


def commands(page: Path, heading: str) -> list[list[str]]:
    """The words of each command in a section."""
    _, _, rest = page.read_text().partition(f"## {heading}\n")
    section = re.split(r"^## ", rest, flags=re.MULTILINE)[0]
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines() if line.strip()]
