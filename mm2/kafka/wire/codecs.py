"""Compression of record batches as the Kafka protocol numbers it (attributes, bits 0-2)."""

from __future__ import annotations

from typing import Final

from aiokafka import codec

NONE: Final = 0
_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")


def codec_name(number: int) -> str:
    """
    Kafka's word for a codec number.

    Raises:
        ValueError: for a number that no Kafka knows.
    """
    if not 0 <= number < len(_NAMES):
        raise ValueError(f"unknown compression codec {number}")
    return _NAMES[number]


def decompress(number: int, payload: memoryview | bytes) -> bytes:
    """
    The records section of a batch, plain.

    Raises:
        ValueError: for a codec that no Kafka knows, or a payload that does not decompress.
    """
    name = codec_name(number)
    if name == "none":
        return bytes(payload)
    try:
        return bytes(getattr(codec, f"{name}_decode")(payload))
    except Exception as error:
        # Each codec raises its own type; none of them is public.
        raise ValueError(f"the batch does not decompress as {name}: {error}") from error


def compress(number: int, payload: bytes) -> bytes:
    """
    The records section of a batch, compressed.

    Raises:
        ValueError: for a codec that no Kafka knows.
    """
    name = codec_name(number)
    return payload if name == "none" else bytes(getattr(codec, f"{name}_encode")(payload))
