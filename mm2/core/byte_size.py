"""Sizes as people write them: 10485760, 10MB, 1.5 GiB."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_SIZE: Final = re.compile(
    r"([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(?:([kmgt])(i?)b|b)?", re.IGNORECASE | re.ASCII
)
_POWERS: Final = {"k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """
    Bytes of a size, with a unit or without: kB, MB, GB, TB are powers of 1000; KiB to TiB of 1024.

    Raises:
        ValueError: it is none, or no whole number of bytes.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError("must be bytes, or a size such as 10MB or 1.5GiB")
    number, unit, is_binary = found.groups()
    factor = (1024 if is_binary else 1000) ** _POWERS[unit.lower()] if unit else 1
    size = Decimal(number) * factor
    if size != int(size):
        raise ValueError("must be a whole number of bytes")
    return int(size)
