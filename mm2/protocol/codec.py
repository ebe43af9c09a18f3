"""
The one codec of what leader, tasks and nodes exchange: frozen dataclasses as versioned JSON.

Types of fields say what is read. Fields that are not known are passed over, since newer releases
may add some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from mm2.core.json_text import MOST_BYTES
from mm2.errors import SchemaError

VERSION: Final = 1
_MOST_USER_DATA: Final = 1 << 20
"""Bytes; what is longer is no honest member's."""

_T = TypeVar("_T")


def encode(record: Any, *, key_field: str = "", **more: object) -> bytes:
    """
    The value of a record; ``more`` goes before its own fields.

    Args:
        key_field: is left out, since the record's key has it.
    """
    names = (each.name for each in fields(record) if each.name != key_field)
    own = {name: getattr(record, name) for name in names}
    return msgspec.json.encode({"version": VERSION, **more, **own})


def decode(
    record_type: type[_T],
    value: bytes | None,
    name: str,
    *,
    key_fields: Mapping[str, object] | None = None,
    most_bytes: int = MOST_BYTES,
) -> _T:
    """
    The record in a value of any version.

    Args:
        name: names it in errors.
        key_fields: what the record's key has of it.

    Raises:
        SchemaError: it is damaged, or longer than ``most_bytes``.
    """
    data = value or b"null"
    if len(data) > most_bytes:
        raise SchemaError(f"{name} cannot be read: longer than {most_bytes} bytes")
    try:
        if key_fields:
            return msgspec.convert({**_decoder(dict).decode(data), **key_fields}, record_type)
        found: _T = _decoder(record_type).decode(data)  # type: ignore[arg-type]  # types are hashable
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"{name} cannot be read: {error!r}") from error
    return found


def decode_user_data(record_type: type[_T], data: bytes | None) -> _T | None:
    """What a member of a group has sent, in any version; None if it has not this form."""
    try:
        return decode(record_type, data, "user data", most_bytes=_MOST_USER_DATA)
    except SchemaError:
        return None


@cache
def _decoder(record_type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(record_type)
