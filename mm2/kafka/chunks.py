"""Parts of long lists, so that no request grows without bounds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

NAMES_PER_REQUEST: Final = 500

METADATA_RECORDS_PER_REQUEST: Final = 2_000
"""Of a change. KRaft's controllers refuse a request that makes more than 10,000."""


def chunks(items: Collection[T], size: int) -> Iterable[list[T]]:
    """Parts of at most ``size`` items."""
    listed = list(items)
    for at in range(0, len(listed), size):
        yield listed[at : at + size]


def weighed_chunks(items: Iterable[T], most: int, weight: Callable[[T], int]) -> Iterable[list[T]]:
    """Parts that weigh ``most`` at most; an item that weighs more is a part of its own."""
    part, weighs = list[T](), 0
    for item in items:
        weighs += weight(item)
        if part and weighs > most:
            yield part
            part, weighs = [], weight(item)
        part.append(item)
    if part:
        yield part
