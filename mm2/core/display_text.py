"""Texts as people read them, on terminals and pages."""

from __future__ import annotations

import re
from typing import Final

_UUID: Final = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def node_text(node: str) -> str:
    """Writes the name of a node with eight digits of its UUID."""
    return _UUID.sub(r"\1", node)


def printable(text: str) -> str:
    """What is no printable text is escaped, as Python writes it: a terminal would obey it."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )
