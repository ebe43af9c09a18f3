"""The control record by which a leader divides the flow's byte rate among its tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mm2.core.json_text import read_json
from mm2.errors import SchemaError
from mm2.protocol.control_records import VERSION

_KEY: Final = b"shares"


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
    portions: Mapping[int, float] = field(default_factory=dict)
    number: int = 0


def encode_division(division: RateDivision) -> tuple[bytes, bytes]:
    """Key and value of the record."""
    portions = {str(task): round(each, 4) for task, each in division.portions.items()}
    fields = {
        "version": VERSION,
        "epoch": division.epoch,
        "portions": portions,
        "number": division.number,
    }
    return _KEY, json.dumps(fields, separators=(",", ":")).encode()


def decode_division(key: bytes | None, value: bytes | None) -> RateDivision | None:
    """
    The record; None for a tombstone, and for other records.

    Raises:
        SchemaError: the record is damaged.
    """
    if key != _KEY or value is None:
        return None
    try:
        fields: Any = read_json(value)
        portions = {int(task): float(each) for task, each in fields["portions"].items()}
        return RateDivision(
            epoch=int(fields["epoch"]), portions=portions, number=int(fields.get("number", 0))
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SchemaError(f"control record 'shares' cannot be read: {error!r}") from error
