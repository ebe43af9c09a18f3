"""The transform that turns values into those of another type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.core.transforms.java_numbers import double_text, float32, parse_double, wrapped
from mm2.core.transforms.record_draft import Json, RecordDraft, Side, json_type
from mm2.errors import TransformError

_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_INT_BITS: Final = 32
_LONG_BITS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """
    Casts fields of a JSON object, or the whole of key or value.

    Attributes:
        types: names of types by fields.
        whole: the type of the whole; then there are no fields.
    """

    side: Side
    types: Mapping[str, str]
    whole: str | None

    def apply(self, draft: RecordDraft) -> bool:
        """
        Casts; a field that is missing becomes null, as in Java.

        Raises:
            TransformError: the record has no fields, or a value cannot be cast.
        """
        payload = self.side(draft)
        if payload.json is None:
            return True
        if self.whole is not None:
            payload.set_json(cast_to(self.whole, payload.json))
            return True
        found = dict(payload.required_fields())
        for field, kind in self.types.items():
            found[field] = cast_to(kind, found.get(field))
        payload.set_json(found)
        return True


def cast_to(kind: str, value: Json) -> Json:
    """
    The value as one of the types in ``CAST_TYPES``; null stays null.

    Numbers that do not fit lose their high bits, as Java's casts have it.

    Raises:
        TransformError: it cannot be.
    """
    if value is None:
        return None
    if isinstance(value, list | dict):
        raise TransformError(f"{json_type(value)} cannot be cast to {kind}")
    try:
        return _CASTS[kind](value)
    except (ValueError, OverflowError) as problem:
        raise TransformError(f"cannot be cast to {kind}: {problem}") from None


def _whole(bits: int) -> Callable[[Json], Json]:
    def cast(value: Json) -> Json:
        if isinstance(value, str):
            return _parsed(value, bits)
        if isinstance(value, float):
            return wrapped(_saturated(value, max(bits, _INT_BITS)), bits)
        return wrapped(int(value), bits)  # type: ignore[arg-type]  # a number or a boolean

    return cast


def _parsed(text: str, bits: int) -> int:
    number = int(text) if _INTEGER.fullmatch(text) else None
    if number is None or not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"'{text}' is no whole number of {bits} bits")
    return number


def _saturated(number: float, bits: int) -> int:
    return max(-(1 << (bits - 1)), min(int(number), (1 << (bits - 1)) - 1))


def _double(value: Json) -> float:
    return parse_double(value) if isinstance(value, str) else float(value)  # type: ignore[arg-type]


def _boolean(value: Json) -> bool:
    if isinstance(value, str):
        return value.lower() == "true"
    if isinstance(value, float):
        return _saturated(value, _LONG_BITS) != 0
    return bool(value)


def _string(value: Json) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return double_text(value) if isinstance(value, float) else str(value)


_CASTS: Final[Mapping[str, Callable[[Json], Json]]] = {
    "int8": _whole(8),
    "int16": _whole(16),
    "int32": _whole(32),
    "int64": _whole(64),
    "float32": lambda value: float32(_double(value)),
    "float64": _double,
    "boolean": _boolean,
    "string": _string,
}
CAST_TYPES: Final = tuple(_CASTS)
"""All types that there are."""
