"""Translates a Java pattern, piece by piece, as Java's ``Pattern`` compiles it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.core.java_regex import sets
from mm2.core.java_regex.assertions import (
    boundary,
    caret,
    dollar,
    dot,
    end_of_last_line,
    no_boundary,
)
from mm2.core.java_regex.classes import cased, read_class
from mm2.core.java_regex.escapes import read_escape
from mm2.core.java_regex.reader import Mode, Reader, is_digit, is_letter

NEVER: Final = "(?!)"
_ENDLESS: Final = 0x7FFFFFFF

_FLAGS: Final[Mapping[str, Mode]] = {
    "i": Mode.CASE_INSENSITIVE,
    "m": Mode.MULTILINE,
    "s": Mode.DOTALL,
    "d": Mode.UNIX_LINES,
    "u": Mode.UNICODE_CASE,
    "x": Mode.COMMENTS,
    "U": Mode.UNICODE_CHARACTER_CLASS | Mode.UNICODE_CASE,
    "c": Mode.NONE,  # canonical equivalence, which Java ignores inside a pattern
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a pattern in the syntax of the ``regex`` module."""

    source: str
    bounded: bool = True
    """Whether it is clear how long a match can be at most; only such parts may look behind."""


class Parser:
    """Translates one pattern."""

    def __init__(self, pattern: str) -> None:
        self._reader = Reader(pattern)
        self._groups = 0
        self._names: dict[str, int] = {}
        self._referenced: set[int] = set()

    @property
    def groups(self) -> int:
        """How many capturing groups were read."""
        return self._groups

    @property
    def names(self) -> Mapping[str, int]:
        """Numbers of the groups that have names."""
        return self._names

    def translate(self) -> str:
        """
        Returns the pattern in the syntax of the ``regex`` module, version 1.

        Raises:
            ConfigError: Java would reject the pattern; the message says where.
        """
        source = self._alternatives().source
        if self._reader.take():
            self._reader.fail("Unmatched closing ')'")
        for group in self._referenced:
            if group > self._groups:
                source = source.replace(_reference(group), NEVER)
        return source

    def _alternatives(self) -> Piece:
        branches = [self._sequence()]
        while self._reader.take_if("|"):
            branches.append(self._sequence())
        source = "|".join(branch.source for branch in branches)
        return Piece(source, all(branch.bounded for branch in branches))

    def _sequence(self) -> Piece:
        pieces = []
        while self._reader.peek() not in {"", "|", ")"}:
            atom = self._atom()
            if atom is not None:
                pieces.append(self._quantified(atom))
        source = "".join(piece.source for piece in pieces)
        return Piece(source, all(piece.bounded for piece in pieces))

    def _atom(self) -> Piece | None:
        """Reads one thing that can be repeated; None for flags, which cannot."""
        reader = self._reader
        following = reader.peek()
        if following == "{":
            # Java finds nothing to repeat, and so repeats nothing.
            return Piece("(?:)")
        reader.take()
        if following in "*+?":
            reader.fail(f"Dangling meta character '{following}'")
        special = self._SPECIAL.get(following)
        return special(self) if special else self._literal(ord(following))

    def _literal(self, code: int) -> Piece:
        if Mode.CASE_INSENSITIVE in self._reader.mode:
            return Piece(cased(self._reader.mode, code, code))
        return Piece(sets.literal(code))

    def _class(self) -> Piece:
        return Piece(read_class(self._reader))

    def _escape(self) -> Piece:
        following = self._reader.peek_raw()
        special = self._ESCAPES.get(following)
        if special is not None:
            self._reader.take_raw()
            return special(self)
        if is_digit(following) and following != "0":
            return self._numbered_reference()
        found = read_escape(self._reader)
        return self._literal(found) if isinstance(found, int) else Piece(found)

    def _boundary(self) -> Piece:
        if self._reader.peek_raw() == "{":
            self._reader.fail("A boundary of graphemes is not supported")
        return Piece(boundary(self._reader.mode))

    def _numbered_reference(self) -> Piece:
        """Reads a group's number: more digits as long as there is such a group (by now)."""
        reader = self._reader
        group = int(reader.take_raw())
        while is_digit(reader.peek()) and group * 10 + int(reader.peek()) <= self._groups:
            group = group * 10 + int(reader.take())
        return self._reference(group)

    def _named_reference(self) -> Piece:
        if not self._reader.take_if("<"):
            self._reader.fail("\\k is not followed by '<' for named capturing group")
        name = self._group_name()
        if name not in self._names:
            self._reader.fail(f"named capturing group <{name}> does not exist")
        return self._reference(self._names[name])

    def _reference(self, group: int) -> Piece:
        self._referenced.add(group)
        insensitive = Mode.CASE_INSENSITIVE in self._reader.mode
        reference = _reference(group)
        return Piece(f"(?i-f:{reference})" if insensitive else reference, bounded=False)

    def _group(self) -> Piece | None:
        reader = self._reader
        mode = reader.mode
        if reader.peek() != "?":
            self._groups += 1
            return self._grouped("(", mode)
        reader.take()
        kind = reader.take_raw()
        if kind in _OPENINGS:
            return self._grouped(_OPENINGS[kind], mode, zero_width=kind in "=!")
        if kind == "<":
            return self._angle_group(mode)
        if kind in {"$", "@", ""}:
            reader.fail("Unknown group type")
        reader.back()
        return self._flags(mode)

    def _angle_group(self, mode: Mode) -> Piece:
        reader = self._reader
        if reader.peek() in {"=", "!"}:
            behind = self._grouped(f"(?<{reader.take()}", mode)
            if not behind.bounded:
                # Java rejects most of these too; those it takes, it does not always match.
                reader.fail("A look-behind without an obvious maximum length is not supported")
            return behind
        name = self._group_name()
        if name in self._names:
            reader.fail(f"Named capturing group <{name}> is already defined")
        self._groups += 1
        self._names[name] = self._groups
        return self._grouped("(", mode)

    def _group_name(self) -> str:
        reader = self._reader
        if not is_letter(reader.peek()):
            reader.fail("capturing group name does not start with a Latin letter")
        name = ""
        while is_letter(reader.peek()) or is_digit(reader.peek()):
            name += reader.take()
        if not reader.take_if(">"):
            reader.fail("named capturing group is missing trailing '>'")
        return name

    def _flags(self, mode: Mode) -> Piece | None:
        """Reads flags, which hold to the end of the group around them or of their own."""
        reader = self._reader
        added = True
        while (letter := reader.take()) in _FLAGS or (letter == "-" and added):
            if letter == "-":
                added = False
            elif added:
                reader.mode |= _FLAGS[letter]
            else:
                reader.mode &= ~_FLAGS[letter]
        if letter == ")":
            return None
        if letter != ":":
            reader.fail("Unknown inline modifier")
        return self._grouped("(?:", mode)

    def _grouped(self, opening: str, mode: Mode, *, zero_width: bool = False) -> Piece:
        """Reads a group's content and its closing bracket; then its flags are over."""
        content = self._alternatives()
        if not self._reader.take_if(")"):
            self._reader.fail("Unclosed group")
        self._reader.mode = mode
        return Piece(f"{opening}{content.source})", content.bounded or zero_width)

    def _quantified(self, atom: Piece) -> Piece:
        reader = self._reader
        quantifier = reader.peek()
        if quantifier and quantifier in "*+?":
            reader.take()
            repeat, bounded = quantifier, atom.bounded and quantifier == "?"
        elif quantifier == "{":
            reader.take()
            repeat, bounded = self._counted(bounded=atom.bounded)
        else:
            return atom
        kind = reader.take() if reader.peek() in {"?", "+"} else ""
        return Piece(f"(?:{atom.source}){repeat}{kind}", bounded)

    def _counted(self, *, bounded: bool) -> tuple[str, bool]:
        reader = self._reader
        if not is_digit(reader.peek_raw()):
            reader.fail("Illegal repetition")
        least = most = self._count()
        if reader.take_if(","):
            most = self._count() if is_digit(reader.peek()) else _ENDLESS
        if not reader.take_if("}"):
            reader.fail("Unclosed counted closure")
        if most < least or least > _ENDLESS:
            reader.fail("Illegal repetition range")
        if most == _ENDLESS:
            return f"{{{least},}}", False
        return f"{{{least},{most}}}", bounded

    def _count(self) -> int:
        digits = ""
        while is_digit(self._reader.peek()):
            digits += self._reader.take()
        return int(digits)

    _SPECIAL: Final[Mapping[str, Callable[[Parser], Piece | None]]] = {
        "(": _group,
        "[": _class,
        "\\": _escape,
        "^": lambda self: Piece(caret(self._reader.mode)),
        "$": lambda self: Piece(dollar(self._reader.mode)),
        ".": lambda self: Piece(dot(self._reader.mode)),
    }

    _ESCAPES: Final[Mapping[str, Callable[[Parser], Piece]]] = {
        "A": lambda _: Piece("\\A"),
        "B": lambda self: Piece(no_boundary(self._reader.mode)),
        "G": lambda _: Piece("\\G"),
        "R": lambda _: Piece(f"(?:\\r\\n|{sets.VERTICAL})"),
        "X": lambda _: Piece("\\X", bounded=False),
        "Z": lambda self: Piece(end_of_last_line(self._reader.mode)),
        "b": _boundary,
        "k": _named_reference,
        "z": lambda _: Piece("\\Z"),
    }


_OPENINGS: Final[Mapping[str, str]] = {":": "(?:", "=": "(?=", "!": "(?!", ">": "(?>"}


def _reference(group: int) -> str:
    return f"\\g<{group}>"
