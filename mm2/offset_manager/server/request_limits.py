"""
How much of a request kio reads: it makes objects of all items, in one piece.

Commits and fetches of offsets, which may have many items, are read elsewhere.
"""

from __future__ import annotations

import struct
from typing import Final

from mm2.errors import SchemaError
from mm2.kafka.wire.frame import Frame

MOST_ITEMS: Final = 10_000
"""Topics of Metadata; topics and partitions of Produce."""

_MOST_BYTES: Final = 1 << 20
"""Of anything but Produce, whose records are passed over."""

_ACKS_AND_TIMEOUT_BYTES: Final = 6


def check_metadata(body: memoryview) -> None:
    """
    Refuses a Metadata request about too many topics, before it is read.

    Raises:
        SchemaError: it is too large, or cannot be read.
    """
    check_size(body)
    try:
        _check_items(Frame(body).int32())
    except struct.error as error:
        raise SchemaError(f"a Metadata request cannot be read: {error}") from error


def check_produce(body: memoryview) -> None:
    """
    Refuses a Produce request, of a version that is not flexible, with too many items.

    Raises:
        SchemaError: it is too large, or cannot be read.
    """
    try:
        _check_items(_produce_items(Frame(body)))
    except (struct.error, ValueError) as error:
        raise SchemaError(f"a Produce request cannot be read: {error}") from error


def check_size(body: memoryview) -> None:
    """
    Refuses any other request that is too large.

    Raises:
        SchemaError: it is.
    """
    if len(body) > _MOST_BYTES:
        raise SchemaError(f"a request of {len(body)} bytes is not read")


def _produce_items(cursor: Frame) -> int:
    """Topics and partitions, counted until there are too many."""
    cursor.text()  # the transactional id
    cursor.at += _ACKS_AND_TIMEOUT_BYTES
    items = topics = max(cursor.int32(), 0)
    for _ in range(min(topics, MOST_ITEMS)):
        cursor.text()
        partitions = max(cursor.int32(), 0)
        items += partitions
        if items > MOST_ITEMS:
            break
        for _ in range(partitions):
            cursor.int32()
            cursor.blob()
    return items


def _check_items(items: int) -> None:
    if items > MOST_ITEMS:
        raise SchemaError(f"a request with more than {MOST_ITEMS} topics or partitions is not read")
