"""Parts of long lists, so that no request grows without bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

NAMES_PER_REQUEST: Final = 500


def chunks(items: Collection[T], size: int) -> Iterable[list[T]]:
    """Parts of at most ``size`` items."""
    listed = list(items)
    for at in range(0, len(listed), size):
        yield listed[at : at + size]
