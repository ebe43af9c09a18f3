"""Requests as clients send them, written by kio from the fields that a test names."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import timedelta
from typing import Any, get_args, get_origin

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

CLIENT = "some-client"
CORRELATION = 7


def request(api: int, version: int, **values: object) -> bytes:
    """A request without its length; fields that are not given have zeros, or nothing in them."""
    schema: Any = load_request_schema(api, version)
    header: Any = schema.__header_schema__
    known = {
        "request_api_key": api,
        "request_api_version": version,
        "correlation_id": CORRELATION,
        "client_id": CLIENT,
    }
    out = io.BytesIO()
    entity_writer(header)(out, _entity(header, known))
    entity_writer(schema)(out, _entity(schema, values))
    return out.getvalue()


def answer(api: int, version: int, frame: bytes) -> Any:
    """An answer, read from what is sent with its length."""
    schema: Any = load_response_schema(api, version)
    data = frame[4:]
    header, size = entity_reader(schema.__header_schema__)(data, 0)
    assert header.correlation_id == CORRELATION
    body, _ = entity_reader(schema)(data, size)
    return body


def _entity(schema: Any, values: Mapping[str, object]) -> Any:
    made = {each.name: _made(each, values) for each in fields(schema)}
    return schema(**{name: value for name, value in made.items() if value is not MISSING})


def _made(field: Any, values: Mapping[str, object]) -> object:
    if field.name not in values:
        return MISSING if field.default is not MISSING else _nothing(field)
    value = values[field.name]
    if isinstance(value, list):
        kinds = (field.type, *get_args(field.type))  # a list that may be null is in a union
        (item, *_) = get_args(next(each for each in kinds if get_origin(each) is tuple))
        return tuple(_entity(item, each) if isinstance(each, dict) else each for each in value)
    return value


def _nothing(field: Any) -> object:
    if any(get_origin(each) is tuple for each in (field.type, *get_args(field.type))):
        return ()
    kinds = {"string": "", "bytes": b"", "bool": False}
    kind = field.metadata.get("kafka_type", "")
    return timedelta() if kind.startswith("timedelta") else kinds.get(kind, 0)
