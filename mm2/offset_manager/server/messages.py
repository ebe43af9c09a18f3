"""
Requests and answers of the Kafka protocol as a server has them; kio knows their fields.

An answer is a dictionary with the fields of the newest version; what an older one lacks is left
out.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import cache
from typing import Any, Final, get_args

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from mm2.errors import SchemaError
from mm2.offset_manager.server.request_limits import check_metadata, check_produce, check_size

PRODUCE: Final = 0
METADATA: Final = 3
OFFSET_COMMIT: Final = 8
OFFSET_FETCH: Final = 9
FIND_COORDINATOR: Final = 10
SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
SASL_AUTHENTICATE: Final = 36

Versions = Mapping[int, tuple[int, int]]
"""The oldest and the newest version of requests, by Kafka's number of each."""

ANSWERED: Final[Versions] = {
    PRODUCE: (3, 8),
    METADATA: (0, 8),
    OFFSET_COMMIT: (2, 9),
    OFFSET_FETCH: (1, 9),
    FIND_COORDINATOR: (0, 2),
    API_VERSIONS: (0, 4),
}
"""
Produce is refused; but librdkafka fetches only from brokers that have it.

What kio reads is offered in no version with tagged fields (KIP-482): kio refuses unknown ones, over
which brokers pass.
"""

LOG_IN: Final[Versions] = {SASL_HANDSHAKE: (0, 1), SASL_AUTHENTICATE: (0, 1)}
"""Are answered where clients have to log in; with version 0 of the first, nothing but errors."""

_CHECKS: Final = {PRODUCE: check_produce, METADATA: check_metadata}
_START: Final = struct.Struct(">hhi")
_SIZE: Final = struct.Struct(">i")

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """
    A request.

    Attributes:
        api: Kafka's number of what it asks for.
        version: of its format.
        correlation: number by which the client knows the answer.
        body: kio's object; None for a question about versions, of which nothing more is read.
        is_known: whether the version is offered; only of a question about versions it may not be.
    """

    api: int
    version: int
    correlation: int
    body: Any
    is_known: bool = True


def read_request(frame: bytes, versions: Versions) -> ClientRequest:
    """
    Reads a request; what follows it is ignored, as by Kafka's brokers: librdkafka sends such.

    Args:
        frame: without its length.
        versions: that are answered.

    Raises:
        SchemaError: it is none, too large, or not one that is answered.
    """
    if len(frame) < _START.size:
        raise SchemaError("a request is too short")
    api, version, correlation = _START.unpack_from(frame)
    oldest, newest = versions.get(api, (0, -1))
    is_known = oldest <= version <= newest
    if api == API_VERSIONS:
        return ClientRequest(api, version if is_known else 0, correlation, None, is_known)
    if not is_known:
        raise SchemaError(f"requests of kind {api} in version {version} are not answered")
    schema = load_request_schema(api, version)
    try:
        _, size = entity_reader(schema.__header_schema__)(frame, 0)
        _CHECKS.get(api, check_size)(memoryview(frame)[size:])
        body, _ = entity_reader(schema)(frame, size)
    except (SerialError, ValueError, OverflowError, KeyError) as error:
        raise SchemaError(f"a request of kind {api} cannot be read: {error}") from error
    return ClientRequest(api, version, correlation, body)


def write_answer(request: ClientRequest, answer: Answer) -> bytes:
    """An answer as it is sent, with its length."""
    schema = load_response_schema(request.api, request.version)
    header: Any = schema.__header_schema__
    out = io.BytesIO()
    out.write(_SIZE.pack(0))
    entity_writer(header)(out, header(correlation_id=request.correlation))
    entity_writer(schema)(out, _entity(schema, {"throttle_time": timedelta(), **answer}))
    out.seek(0)
    out.write(_SIZE.pack(len(out.getbuffer()) - _SIZE.size))
    return out.getvalue()


def _entity(schema: Any, values: Answer) -> Any:
    made = {name: make(values[name]) for name, make in _fields(schema) if name in values}
    return schema(**made)


@cache
def _fields(schema: Any) -> list[tuple[str, Callable[[Any], Any]]]:
    """The fields of a schema, with what makes each of them from a plain value."""
    return [(each.name, _maker(each.type, each.metadata)) for each in fields(schema)]


def _maker(kind: Any, metadata: Mapping[str, str]) -> Callable[[Any], Any]:
    if metadata.get("kafka_type") == "error_code":
        return ErrorCode
    nested = _nested(kind)
    if nested is None:
        return lambda value: value
    return lambda values: tuple(_entity(nested, each) for each in values)


def _nested(kind: Any) -> Any:
    """The schema of the items of a list; None for anything else."""
    found = [kind, *get_args(kind), *(deep for each in get_args(kind) for deep in get_args(each))]
    return next((each for each in found if hasattr(each, "__type__")), None)
