"""Batches that brokers keep, and that no producer can write."""

from __future__ import annotations

from typing import Final

EMPTY_CONTROL_BATCH: Final = bytes.fromhex(
    "0000000000000005"  # base offset
    "00000031"  # length
    "00000000"  # leader epoch
    "02"  # magic
    "9b02677d"  # checksum
    "0030"  # transactional, control
    "00000000"  # last offset delta
    "0000018bcfe56800"
    "0000018bcfe56800"
    "000000000000002a"  # producer id
    "0003"  # producer epoch
    "ffffffff"  # base sequence
    "00000000"  # number of records
)
"""A transaction marker that the cleaner has emptied, and kept because its producer is known."""
