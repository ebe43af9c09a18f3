"""Dates as Java's ``SimpleDateFormat`` writes them, in UTC and English."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from mm2.errors import ConfigError, TransformError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PIECES: Final = re.compile(r"''|'|([a-zA-Z])\1*|[^a-zA-Z']+")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FULL: Final = 4
_STEPS_MS: Final = {"S": 1, "s": 1_000, "m": 60_000, **dict.fromkeys("aHkKh", 3_600_000)}
_DAY_MS: Final = 86_400_000
_MOST_ZONE: Final = 3
_OF_LOCALES: Final = "wWY"

_Letter = Callable[[datetime, int], str]


def _number(part: Callable[[datetime], int]) -> _Letter:
    return lambda date, width: str(part(date)).zfill(width)


def _year(date: datetime, width: int) -> str:
    return f"{date.year % 100:02}" if width == 2 else str(date.year).zfill(width)  # noqa: PLR2004


def _month(date: datetime, width: int) -> str:
    name = _MONTHS[date.month - 1]
    if width < _FULL - 1:
        return str(date.month).zfill(width)
    return name if width >= _FULL else name[:3]


def _weekday(date: datetime, width: int) -> str:
    name = _DAYS[date.weekday()]
    return name if width >= _FULL else name[:3]


_LETTERS: Final[Mapping[str, _Letter]] = {
    "G": lambda _, __: "AD",
    "y": _year,
    "M": _month,
    "L": _month,
    "d": _number(lambda date: date.day),
    "D": _number(lambda date: date.timetuple().tm_yday),
    "F": _number(lambda date: (date.day - 1) // 7 + 1),
    "E": _weekday,
    "u": _number(lambda date: date.isoweekday()),
    "a": lambda date, _: "AM" if date.hour < 12 else "PM",  # noqa: PLR2004
    "H": _number(lambda date: date.hour),
    "k": _number(lambda date: date.hour or 24),
    "K": _number(lambda date: date.hour % 12),
    "h": _number(lambda date: date.hour % 12 or 12),
    "m": _number(lambda date: date.minute),
    "s": _number(lambda date: date.second),
    "S": _number(lambda date: date.microsecond // 1000),
    "z": lambda _, width: "UTC" if width < _FULL else "Coordinated Universal Time",
    "Z": lambda _, __: "+0000",
    "X": lambda _, __: "Z",
}


class DateFormat:
    """
    A pattern of ``SimpleDateFormat``: letters for parts of a date, other text between quotes.

    Raises:
        ConfigError: Java would reject it; or it has ``w``, ``W`` or ``Y``, which stand for weeks
            that begin on other days in other countries.

    Attributes:
        step_ms: two times are written alike if this goes into both as often.
    """

    __slots__ = ("_parts", "step_ms", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.step_ms = _DAY_MS
        self._parts = tuple(self._read(text))

    def __reduce__(self) -> tuple[type[DateFormat], tuple[str]]:
        """Travels as its text."""
        return DateFormat, (self.text,)

    def format(self, timestamp: int) -> str:
        """
        Writes a time in ms since the epoch.

        Raises:
            TransformError: it is outside of the years 1 to 9999.
        """
        try:
            date = _EPOCH + timedelta(milliseconds=timestamp)
        except OverflowError:
            raise TransformError(f"timestamp {timestamp} is outside of years 1 to 9999") from None
        return "".join(
            part if isinstance(part, str) else part[0](date, part[1]) for part in self._parts
        )

    def _read(self, text: str) -> Iterator[str | tuple[_Letter, int]]:
        is_quoted = False
        for piece in (found[0] for found in _PIECES.finditer(text)):
            if piece == "'":
                is_quoted = not is_quoted
            elif piece == "''":
                yield "'"
            else:
                yield piece if is_quoted else self._part(piece)
        if is_quoted:
            raise self._wrong("a quote is not closed: write '' for ' itself")

    def _part(self, piece: str) -> str | tuple[_Letter, int]:
        letter, width = piece[0], len(piece)
        if not (letter.isascii() and letter.isalpha()):
            return piece
        if letter not in _LETTERS or (letter == "X" and width > _MOST_ZONE):
            raise self._wrong(self._advice(letter))
        self.step_ms = min(self.step_ms, _STEPS_MS.get(letter, _DAY_MS))
        return _LETTERS[letter], width

    def _advice(self, letter: str) -> str:
        if letter in _OF_LOCALES:
            return f"{letter} counts weeks, which differ between countries: use y, M, d or D"
        if letter == "X":
            return "X stands at most three times"
        return f"{letter} is no letter of SimpleDateFormat: write text between quotes"

    def _wrong(self, reason: str) -> ConfigError:
        return ConfigError(f"Date format '{self.text}': {reason}", value=self.text)
