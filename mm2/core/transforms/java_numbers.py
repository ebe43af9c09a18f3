"""Numbers with a fraction as Java reads and writes them."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from typing import Final

from mm2.errors import TransformError

_DIGITS_OF_FLOAT: Final = 9
_LARGE: Final = 1e7
_SMALL: Final = 1e-3
_FLOAT: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)
_MOST_DIGITS: Final = 400
_LONG_BITS: Final = 64


def parse_double(text: str) -> float:
    """
    Reads a finite number in decimal digits as ``Double.parseDouble`` does.

    Raises:
        ValueError: it is none.
    """
    trimmed = text.strip()
    if not _FLOAT.fullmatch(trimmed):
        raise ValueError(f"'{text}' is no number")
    return _finite(float(trimmed.rstrip("fFdD")), text)


def parse_long(text: str) -> int:
    """
    The whole part of a decimal number, as ``new BigDecimal(text).longValue()`` has it.

    Raises:
        ValueError: it is none, or has hundreds of digits.
    """
    number = _decimal(text)
    if number.adjusted() > _MOST_DIGITS:
        raise ValueError(f"'{text}' is too large for {_LONG_BITS} bits")
    return wrapped(int(number), _LONG_BITS)


def parse_decimal_double(text: str) -> float:
    """
    A finite decimal number, as ``new BigDecimal(text).doubleValue()`` has it.

    Raises:
        ValueError: it is none, or too large.
    """
    return _finite(float(_decimal(text)), text)


def wrapped(number: int, bits: int) -> int:
    """So many low bits of a whole number, with a sign."""
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


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


def _decimal(text: str) -> Decimal:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"'{text}' is no number")
    return Decimal(text)


def _finite(number: float, text: str) -> float:
    if math.isinf(number):
        raise ValueError(f"'{text}' is too large for {_LONG_BITS} bits")
    return number
