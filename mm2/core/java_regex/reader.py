"""A cursor over a pattern, and the flags that hold where it stands."""

from __future__ import annotations

import string
from dataclasses import dataclass
from enum import Flag, auto
from typing import Final, NoReturn

from mm2.errors import ConfigError

_IGNORED: Final = " \t\n\x0b\f\r"


class Mode(Flag):
    """Java's flags; the comment gives the letter that sets one inside a pattern."""

    NONE = 0
    CASE_INSENSITIVE = auto()  # i
    MULTILINE = auto()  # m
    DOTALL = auto()  # s
    UNIX_LINES = auto()  # d
    UNICODE_CASE = auto()  # u
    COMMENTS = auto()  # x
    UNICODE_CHARACTER_CLASS = auto()  # U


class Reader:
    """
    Hands out the characters of a pattern one by one.

    Under the flag ``x`` blanks and comments are passed over, except by the methods named raw.
    """

    def __init__(self, pattern: str) -> None:
        unquoted = unquote(pattern)
        self.mode = Mode.NONE
        self._pattern = pattern
        self._text = unquoted.text
        self._positions = unquoted.positions
        self._cursor = 0

    def peek(self) -> str:
        """Returns the next character and stays in front of it; empty at the end."""
        if Mode.COMMENTS in self.mode:
            self._pass_ignored()
        return self.peek_raw()

    def peek_raw(self, ahead: int = 0) -> str:
        """Returns the next character, or one further ahead, whatever it is; empty at the end."""
        return self._text[self._cursor + ahead : self._cursor + ahead + 1]

    def take(self) -> str:
        """Returns the next character and goes behind it; empty at the end."""
        self.peek()
        return self.take_raw()

    def take_raw(self) -> str:
        """Returns the next character, whatever it is, and goes behind it; empty at the end."""
        taken = self.peek_raw()
        self._cursor += len(taken)
        return taken

    def take_if(self, expected: str) -> bool:
        """Goes behind the next character if it is the one expected."""
        found = self.peek() == expected
        self._cursor += found
        return found

    def back(self) -> None:
        """Goes back by one character."""
        self._cursor -= 1

    def is_behind(self, character: str) -> bool:
        """Tells whether the cursor stands right behind ``character``."""
        return self._text[self._cursor - 1 : self._cursor] == character

    def fail(self, reason: str) -> NoReturn:
        """Rejects the pattern, as Java's ``PatternSyntaxException`` does."""
        place = max(self._cursor - 1, 0)
        index = self._positions[place] if place < len(self._positions) else len(self._pattern)
        raise ConfigError(
            f"Invalid pattern '{self._pattern}': {reason} near index {index}.", value=self._pattern
        )

    def _pass_ignored(self) -> None:
        while True:
            while self.peek_raw() and self.peek_raw() in _IGNORED:
                self._cursor += 1
            if self.peek_raw() != "#":
                return
            while self.peek_raw() and self.peek_raw() not in self._line_ends:
                self._cursor += 1

    @property
    def _line_ends(self) -> str:
        return "\n" if Mode.UNIX_LINES in self.mode else "\n\r\x85\u2028\u2029"


def is_letter(character: str) -> bool:
    """Tells whether this is one of the 52 letters of ASCII."""
    return len(character) == 1 and character in string.ascii_letters


def is_digit(character: str, base: int = 10) -> bool:
    """Tells whether this is one of ASCII's digits in ``base``."""
    return len(character) == 1 and character in string.hexdigits and int(character, 16) < base


@dataclass(frozen=True, slots=True)
class Unquoted:
    """A pattern without quotation, and for each character where the user wrote it."""

    text: str
    positions: tuple[int, ...]


def unquote(pattern: str) -> Unquoted:
    r"""
    Takes quotation out of a pattern: what stands between ``\Q`` and ``\E`` means itself.

    One that is not closed reaches to the end. Java takes quotation out first and escapes what was
    quoted, wherever it stands. So a quantifier after a quotation belongs to its last character, and
    a quotation may stand inside a set.
    """
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
