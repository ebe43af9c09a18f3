"""
The one codec of what leader, tasks and nodes exchange: frozen dataclasses as versioned JSON.

Types of fields say what is read; fields that are not known are passed over, since newer releases
may add some. Metadata of a field: ``IN_KEY``, or a mapping with ``json`` (its name in JSON),
``encode`` and ``decode`` (where JSON has another form than its type), and ``is_required`` (although
it has a default).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Final, NewType, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from mm2.core.json_text import read_json
from mm2.errors import SchemaError

VERSION: Final = 1
IN_KEY: Final[Mapping[str, object]] = {"in_key": True}
"""Of a field that the record's key has, and its value has not."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Type:
    """What JSON may have: values of these types as they are, others by conversion."""

    as_is: frozenset[type]
    convert: Callable[[Any], Any]


def encode(record: Any, *, ascii_only: bool = False, **more: object) -> bytes:
    """The value of a record; ``more`` goes before its own fields."""
    value = {"version": VERSION, **more, **_to_json(record)}
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only, default=_to_json)
    return text.encode()


def decode(record_type: type[_T], value: bytes | None, name: str) -> _T:
    """
    The record in a value of any version.

    Raises:
        SchemaError: it is damaged; ``name`` names it.
    """
    try:
        return from_json(record_type, read_json(value or b"null"))
    except (ValueError, KeyError, TypeError) as error:
        raise SchemaError(f"{name} cannot be read: {error!r}") from error


def from_json(record_type: type[_T], value: object, **known: object) -> _T:
    """
    The record in parsed JSON, and fields that its key has.

    Raises:
        KeyError: a field without a default is missing.
        TypeError: a field has another type.
        ValueError: a field has no value of its type.
    """
    if not isinstance(value, dict):
        raise TypeError("no object")
    for name, in_json, is_required, what in _fields_read(record_type):  # type: ignore[arg-type]  # types are hashable
        if in_json in value:
            found = value[in_json]
            known[name] = found if type(found) in what.as_is else what.convert(found)
        elif is_required:
            raise KeyError(in_json)
    return record_type(**known)


def _to_json(record: Any) -> dict[str, object]:
    # Not asdict, which copies each value: there may be a hundred thousand.
    return {
        in_json: getattr(record, name) if convert is None else convert(getattr(record, name))
        for name, in_json, convert in _fields_written(type(record))  # type: ignore[arg-type]  # types are hashable
    }


@cache
def _fields_written(record_type: Any) -> list[tuple[str, str, Callable[[Any], object] | None]]:
    return [
        (each.name, each.metadata.get("json", each.name), each.metadata.get("encode"))
        for each in fields(record_type)
        if "in_key" not in each.metadata
    ]


@cache
def _fields_read(record_type: Any) -> list[tuple[str, str, bool, _Type]]:
    types = get_type_hints(record_type)
    return [
        (
            each.name,
            each.metadata.get("json", each.name),
            each.metadata.get("is_required", _has_no_default(each)),
            _Type(frozenset(), each.metadata["decode"])
            if "decode" in each.metadata
            else _type(types[each.name]),
        )
        for each in fields(record_type)
        if "in_key" not in each.metadata
    ]


def _has_no_default(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _type(hint: Any) -> _Type:
    if isinstance(hint, NewType):
        hint = hint.__supertype__
    if hint in {int, str, bool, NoneType}:
        return _Type(frozenset({hint}), _refuse)
    if hint is float:
        return _Type(frozenset({float}), _float)
    if isinstance(hint, type) and is_dataclass(hint):
        return _Type(frozenset(), partial(from_json, hint))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _Type(frozenset(), hint)
    return _compound(get_origin(hint), get_args(hint))


def _compound(origin: object, arguments: tuple[Any, ...]) -> _Type:
    if origin is UnionType:
        # Of a type or None: there are no others.
        inner = _type(arguments[0])
        return _Type(inner.as_is | {NoneType}, inner.convert)
    if origin is tuple:
        return _Type(frozenset(), _tuple_of(_type(arguments[0])))
    assert origin is Mapping, f"no codec for {origin}"  # noqa: S101  # a record type without one
    return _Type(frozenset(), _mapping_of(arguments[0], _type(arguments[1])))


def _tuple_of(item: _Type) -> Callable[[object], tuple[object, ...]]:
    def convert(value: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            _refuse(value)
        return tuple(each if type(each) in item.as_is else item.convert(each) for each in value)

    return convert


def _mapping_of(key: type, item: _Type) -> Callable[[object], Mapping[object, object]]:
    def convert(value: object) -> Mapping[object, object]:
        if not isinstance(value, dict):
            _refuse(value)
        return {
            key(name): each if type(each) in item.as_is else item.convert(each)
            for name, each in value.items()
        }

    return convert


def _float(value: object) -> float:
    if type(value) is not int:
        _refuse(value)
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError("a number is too large") from error


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"a value of type {type(value).__name__} is none of this field")
