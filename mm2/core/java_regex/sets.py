r"""
Sets of characters, written for the ``regex`` module.

A set is a text that stands for one character, ``[...]`` or ``\p{...}``, and nests in others. Every
character is written as a number, so that none has a meaning of its own.
"""

from __future__ import annotations

from typing import Final

_LINE_ENDS: Final = "\\n\\r\\x85\\u2028\\u2029"

DIGIT: Final = "[0-9]"
WORD: Final = "[a-zA-Z0-9_]"
SPACE: Final = "[ \\t\\n\\x0B\\f\\r]"
HORIZONTAL: Final = "[ \\t\\xA0\\u1680\\u180E\\u2000-\\u200A\\u202F\\u205F\\u3000]"
VERTICAL: Final = "[\\n\\x0B\\f\\r\\x85\\u2028\\u2029]"
LINE_END: Final = f"[{_LINE_ENDS}]"
ANY: Final = "[\\x00-\\U0010FFFF]"
UNICODE_DIGIT: Final = "\\p{Nd}"
UNICODE_SPACE: Final = "\\p{White_Space}"
UNICODE_WORD: Final = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]"
BOUNDARY_WORD: Final = "[_\\p{L}\\p{Nd}]"
"""What ``\\b`` takes for parts of words on Java 17 (Java 19 and later: ASCII only)."""


def literal(code: int) -> str:
    """Writes one character, inside a set or outside."""
    return f"\\U{code:08X}"


def span(first: int, last: int) -> str:
    """Returns the set of the characters from ``first`` to ``last``."""
    return f"[{literal(first)}-{literal(last)}]"


def union(*members: str) -> str:
    """Returns the characters that are in one of the sets."""
    return f"[{''.join(members)}]"


def intersection(left: str, right: str) -> str:
    """Returns the characters that are in both sets."""
    return f"[{left}&&{right}]"


def complement(members: str) -> str:
    """Returns the characters that are not in the set."""
    return f"[^{members}]"
