"""Kafka's default partitioner: the murmur2 hash of the key."""

from __future__ import annotations

from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Hashes ``data`` to 32 bits without sign (Java: ``Utils.murmur2``, there with sign)."""
    whole = len(data) & ~3
    state = _SEED ^ len(data)
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        state = state * _MULTIPLIER & _MASK ^ word
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    state = (state ^ state >> 13) * _MULTIPLIER & _MASK
    return state ^ state >> 15


def partition_for(key: bytes, count: int) -> int:
    """Returns the partition of ``count`` that Kafka's producers choose for ``key``."""
    return (murmur2(key) & 0x7FFFFFFF) % count
