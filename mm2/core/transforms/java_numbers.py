"""Numbers with a fraction as Java reads and writes them."""

from __future__ import annotations

import re
import struct
from decimal import Decimal
from typing import Final

from mm2.errors import TransformError

_DIGITS_OF_FLOAT: Final = 9
_LARGE: Final = 1e7
_SMALL: Final = 1e-3
_FLOAT: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?", re.ASCII)


def parse_double(text: str) -> float:
    """
    Reads a finite number in decimal digits as ``Double.parseDouble`` does.

    Raises:
        ValueError: it is none.
    """
    trimmed = text.strip()
    if not _FLOAT.fullmatch(trimmed):
        raise ValueError(f"'{text}' is no number")
    return float(trimmed.rstrip("fFdD"))


def float32(number: float) -> float:
    """
    The nearest number of 32 bits, as the shortest one of 64 bits that is written alike.

    Raises:
        TransformError: it is larger than any.
    """
    nearest = _rounded(number)
    shorter = (float(f"{nearest:.{digits}g}") for digits in range(1, _DIGITS_OF_FLOAT + 1))
    return next(each for each in shorter if _rounded(each) == nearest)


def double_text(number: float) -> str:
    """What ``Double.toString`` writes, since Java 19."""
    if number == 0 or _SMALL <= abs(number) < _LARGE:
        return repr(number)
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    text = "".join(map(str, digits))
    return f"{'-' * sign}{text[0]}.{text[1:] or '0'}E{int(exponent) + len(text) - 1}"


def _rounded(number: float) -> float:
    try:
        (found,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        raise TransformError(f"{number} is too large for 32 bits") from None
    return float(found)
