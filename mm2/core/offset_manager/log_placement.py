"""Which log partition a group's offsets are in, and which instance leads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

_INT32: Final = 1 << 32
_MOST: Final = 0x7FFFFFFF
_REMEMBERED: Final = 4_096
"""Groups whose hash is remembered: each of their commits and fetches asks for it."""

_SHORT: Final = 255
"""Characters of a group whose hash is remembered."""


def log_partition_of(group: str, partitions: int) -> int:
    """The log partition of a group; as Kafka finds the one of ``__consumer_offsets``."""
    java_hash = _java_hash if len(group) <= _SHORT else _java_hash.__wrapped__
    return (java_hash(group) & _MOST) % partitions


def place_logs(leads: Mapping[str, Collection[int]], partitions: int) -> list[str]:
    """
    The leader of each log partition, in their order.

    Who leads one keeps it as long as that is no more than its share; of two that claim the same the
    first by name has it. What nobody leads goes to those who lead least.

    Args:
        leads: the instances with what they lead, at least one.
        partitions: how many there are.
    """
    names = sorted(leads)
    most = -(-partitions // len(names))
    counts = dict.fromkeys(names, 0)
    placed: dict[int, str] = {}
    for name in names:
        for number in sorted(set(leads[name])):
            if 0 <= number < partitions and number not in placed and counts[name] < most:
                placed[number] = name
                counts[name] += 1
    for number in range(partitions):
        if number not in placed:
            name = min(names, key=lambda each: (counts[each], each))
            placed[number] = name
            counts[name] += 1
    return [placed[number] for number in range(partitions)]


@lru_cache(maxsize=_REMEMBERED)
def _java_hash(text: str) -> int:
    """``String.hashCode`` of Java, over UTF-16, without its sign."""
    data, found = text.encode("utf-16-be", "surrogatepass"), 0
    for at in range(0, len(data), 2):
        found = (31 * found + int.from_bytes(data[at : at + 2], "big")) % _INT32
    return found
