"""Transforms of headers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from mm2.core.transforms.java_numbers import double_text, float32
from mm2.core.transforms.record_draft import Json, RecordDraft, Side, json_text
from mm2.errors import TransformError

_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d{1,9})?", re.ASCII)
_MOST_DIGITS: Final = 400
_LONGS: Final = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class InsertHeader:
    """Adds a header behind those that there are, even if one has its name."""

    name: str
    value: bytes | None

    def apply(self, draft: RecordDraft) -> bool:
        """Adds it."""
        draft.headers = (*draft.headers, (self.name, self.value))
        return True


@dataclass(frozen=True, slots=True)
class DropHeaders:
    """Takes all headers of some names away."""

    names: frozenset[str]

    def apply(self, draft: RecordDraft) -> bool:
        """Takes them away."""
        names = self.names
        if any(header[0] in names for header in draft.headers):
            draft.headers = tuple(each for each in draft.headers if each[0] not in names)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderFrom:
    """
    Copies or moves fields to headers; one that is missing becomes a header without a value.

    Texts become what they say in UTF-8, numbers what Java writes, lists and objects their JSON.
    """

    side: Side
    fields: tuple[str, ...]
    headers: tuple[str, ...]
    moves: bool

    def apply(self, draft: RecordDraft) -> bool:
        """
        Adds the headers.

        Raises:
            TransformError: the record has no fields.
        """
        payload = self.side(draft)
        fields = payload.required_fields()
        found = ((name, _bytes(fields.get(field))) for name, field in self._pairs())
        draft.headers = (*draft.headers, *found)
        if self.moves:
            payload.set_json({k: v for k, v in fields.items() if k not in self.fields})
        return True

    def _pairs(self) -> zip[tuple[str, str]]:
        return zip(self.headers, self.fields, strict=True)


def literal_value(text: str) -> bytes | None:
    """
    The value of a header that Java's ``Values`` and SimpleHeaderConverter make of a literal.

    Numbers are written as Java writes those of the smallest type that they fit in, ``null`` is no
    value. Everything else stays as it is: so do lists, dates, and numbers that text follows.
    """
    if text == "null":
        return None
    trimmed = text.strip()
    is_number = len(text) <= _MOST_DIGITS and _NUMBER.fullmatch(trimmed)
    return (_number(Decimal(trimmed)) if is_number else text).encode()


def _number(number: Decimal) -> str:
    if number and number.adjusted() > _MOST_DIGITS:
        return str(number)
    if number == number.to_integral_value():
        return str(int(number)) if int(number) in _LONGS else _large(number)
    return _small(number)


def _large(number: Decimal) -> str:
    """Java has no whole type for it: without an exponent it is a decimal."""
    exponent = number.as_tuple().exponent
    return str(number) if exponent == 0 else _small(number)


def _small(number: Decimal) -> str:
    wide = float(number)
    if math.isinf(wide):
        return str(number)
    try:
        return double_text(float32(wide))
    except TransformError:
        return double_text(wide)


def _bytes(value: Json) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, float):
        return double_text(value).encode()
    return (value if isinstance(value, str) else json_text(value)).encode()
