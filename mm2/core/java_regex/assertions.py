"""What matches between characters, and the dot: their meaning depends on the flags."""

from __future__ import annotations

from mm2.core.java_regex import sets
from mm2.core.java_regex.reader import Mode


def dot(mode: Mode) -> str:
    """Translates the dot."""
    if Mode.DOTALL in mode:
        return sets.ANY
    return "[^\\n]" if Mode.UNIX_LINES in mode else sets.complement(sets.LINE_END)


def caret(mode: Mode) -> str:
    """Translates the caret; among several lines, no line begins at the very end."""
    if Mode.MULTILINE not in mode:
        return "\\A"
    if Mode.UNIX_LINES in mode:
        return "(?:(?!\\Z)(?:\\A|(?<=\\n)))"
    return "(?:(?!\\Z)(?:\\A|(?<=[\\n\\x85\\u2028\\u2029])|(?<=\\r)(?!\\n)))"


def dollar(mode: Mode) -> str:
    """Translates the dollar; no line ends within a pair of carriage return and line feed."""
    if Mode.MULTILINE not in mode:
        return end_of_last_line(mode)
    if Mode.UNIX_LINES in mode:
        return "(?=\\n|\\Z)"
    return "(?:(?=[\\r\\x85\\u2028\\u2029]|\\Z)|(?<!\\r)(?=\\n))"


def end_of_last_line(mode: Mode) -> str:
    """Translates the end of input, or of its last line."""
    if Mode.UNIX_LINES in mode:
        return "(?=\\n?\\Z)"
    return "(?:(?=\\r\\n\\Z)|(?<!\\r)(?=\\n\\Z)|(?=[\\r\\x85\\u2028\\u2029]?\\Z))"


def boundary(mode: Mode) -> str:
    """Translates the boundary of a word."""
    word = _word(mode)
    return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"


def no_boundary(mode: Mode) -> str:
    """Translates its opposite."""
    word = _word(mode)
    return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"


def _word(mode: Mode) -> str:
    return sets.UNICODE_WORD if Mode.UNICODE_CHARACTER_CLASS in mode else sets.BOUNDARY_WORD
