r"""
Quotation in patterns: what stands between ``\Q`` and ``\E`` means itself.

Java takes quotation out first and escapes what was quoted, wherever it stands. So a quantifier
after a quotation belongs to its last character, and a quotation may stand inside a set.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unquoted:
    """A pattern without quotation, and for each character where the user wrote it."""

    text: str
    positions: tuple[int, ...]


def unquote(pattern: str) -> Unquoted:
    """Takes quotation out of a pattern. One that is not closed reaches to the end."""
    out: list[str] = []
    positions: list[int] = []
    index, quoted = 0, False
    while index < len(pattern):
        pair = pattern[index : index + 2]
        if pair == (r"\E" if quoted else r"\Q"):
            quoted = not quoted
            index += 2
            continue
        taken = _escaped(pattern[index]) if quoted else pair if pair[0] == "\\" else pair[0]
        out.append(taken)
        width = 1 if quoted else len(taken)
        positions.extend(range(index, index + width))
        positions.extend([index] * (len(taken) - width))
        index += width
    return Unquoted("".join(out), tuple(positions))


def _escaped(character: str) -> str:
    if character.isascii() and character.isdigit():
        # A digit behind a backslash would be a group, and behind an escape a part of it.
        return f"\\x3{character}"
    return character if character.isalpha() or not character.isascii() else f"\\{character}"
