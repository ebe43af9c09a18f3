"""Numbers as people read them."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "-"
"""Stands for a number that is not known."""

_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")
_STEP: Final = 1000
_SHORT: Final = 10


def count_text(count: float | None) -> str:
    """Writes a count in groups of three digits: 1,204."""
    return UNKNOWN if count is None else f"{round(count):,}"


def bytes_text(amount: float | None) -> str:
    """Writes a number of bytes with a decimal unit of its size: 1.2 GB, 37 MB."""
    if amount is None:
        return UNKNOWN
    unit = 0
    while round(amount) >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    digits = 1 if unit and amount < _SHORT else 0
    return f"{amount:.{digits}f} {_UNITS[unit]}"
