"""The control record by which a leader divides the flow's byte rate among its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mm2.protocol.codec import decode, encode

_KEY: Final = b"shares"


def _rounded(portions: Mapping[int, float]) -> dict[int, float]:
    return {task: round(each, 4) for task, each in portions.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RateDivision:
    """
    Who may take how much.

    Attributes:
        epoch: of the leader.
        portions: of the flow's byte rate, by numbers of tasks; together they are 1.
        number: grows with each division of an epoch.
    """

    epoch: int
    portions: Mapping[int, float] = field(
        metadata={"encode": _rounded, "is_required": True}, default_factory=dict
    )
    number: int = 0


def encode_division(division: RateDivision) -> tuple[bytes, bytes]:
    """Key and value of the record."""
    return _KEY, encode(division, ascii_only=True)


def decode_division(key: bytes | None, value: bytes | None) -> RateDivision | None:
    """
    The record; None for a tombstone, and for other records.

    Raises:
        SchemaError: the record is damaged.
    """
    if key != _KEY or value is None:
        return None
    return decode(RateDivision, value, "control record 'shares'")
