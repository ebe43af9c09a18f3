"""
Reads JSON that comes from outside: records, members of groups, requests, files.

Whoever may write those may write anything. What is too long or too deep to be worth reading is
refused as other bad input is, before anything recurses over it.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

MOST_BYTES: Final = 16 * 1024 * 1024
"""More than any record that our own nodes or Kafka Connect's workers write."""

MOST_LEVELS: Final = 50
"""Of objects and lists within each other; up to twice as many where they alternate."""

_STRINGS_AND_VALUES: Final = re.compile(r'"(?:[^"\\]++|\\[\s\S])*+(?:"|\Z)|[^\[\]{}"]++')
_HALF_OF_A_PAIR: Final = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(data: bytes | str, *, most_bytes: int = MOST_BYTES) -> object:
    """
    Reads JSON in UTF-8.

    Numbers are finite, and texts can be written in UTF-8 again.

    Raises:
        ValueError: it is none, or longer than ``most_bytes`` or deeper than ``MOST_LEVELS``;
            ``json.JSONDecodeError`` where it says at which place.
    """
    if len(data) > most_bytes:
        raise ValueError(f"longer than {most_bytes} bytes")
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    if _is_deep(text):
        raise ValueError(f"brackets more than {MOST_LEVELS} levels deep, or never closed")
    parsed: object = _decode(text)
    if _HALF_OF_A_PAIR.search(text):
        json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return False
    brackets = _STRINGS_AND_VALUES.sub("", text)
    # Each pass takes away what holds nothing; so many passes leave what is deeper.
    for _ in range(MOST_LEVELS):
        brackets = brackets.replace("[]", "").replace("{}", "")
    return bool(brackets)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(written: str) -> float:
    number = float(written)
    if number in {float("inf"), float("-inf")}:
        raise ValueError(f"{written[:20]} is no number")
    return number


_decode: Final = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite).decode
