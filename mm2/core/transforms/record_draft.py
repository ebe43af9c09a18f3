"""A record on its way through a chain of transforms."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeAlias

from mm2.core.handled_records import Headers, SourceRecord
from mm2.core.json_text import read_json
from mm2.errors import TransformError

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

_UNREAD: Final = object()
_encode: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
).encode


class DraftPayload:
    """
    A key or a value: its bytes, and the JSON in them if somebody asks.

    JSON ``null``, no bytes, and those of an empty text are None, as for Connect's JsonConverter.
    What no transform replaces keeps its bytes.
    """

    __slots__ = ("_data", "_is_changed", "_name", "_parsed")

    def __init__(self, name: str, data: bytes | None) -> None:
        self._name = name
        self._data = data
        self._parsed: object = _UNREAD
        self._is_changed = False

    @property
    def is_null(self) -> bool:
        """Whether there are no bytes."""
        return self._parsed is None if self._is_changed else self._data is None

    @property
    def json(self) -> Json:
        """
        What it says.

        Raises:
            TransformError: it is no JSON.
        """
        if self._parsed is _UNREAD:
            self._parsed = self._read(self._data) if self._data else None
        return self._parsed  # type: ignore[return-value]  # what JSON can say

    def fields(self) -> dict[str, Json] | None:
        """
        The fields of a JSON object; None of null.

        Raises:
            TransformError: it is anything else.
        """
        found = self.json
        if found is None or isinstance(found, dict):
            return found
        raise TransformError(f"the {self._name} is no JSON object, but {json_type(found)}")

    def required_fields(self) -> dict[str, Json]:
        """
        The fields of a JSON object.

        Raises:
            TransformError: it is anything else, or null.
        """
        found = self.fields()
        if found is None:
            what = "null" if self._is_changed or self._data != b"" else "empty"
            raise TransformError(f"the {self._name} is {what}, and has no fields")
        return found

    def set_json(self, value: Json) -> None:
        """Replaces what it says."""
        self._parsed = value
        self._is_changed = True

    def data(self) -> bytes | None:
        """The bytes to send: those that were read, if nobody has replaced what they say."""
        if not self._is_changed:
            return self._data
        return None if self._parsed is None else _encode(self._parsed).encode()

    def _read(self, data: bytes) -> object:
        try:
            return read_json(data)
        except ValueError as problem:
            raise TransformError(f"the {self._name} is no JSON: {problem}") from None


class RecordDraft:
    """
    A record that transforms change in place; only what they ask for is read.

    Attributes:
        source: the record as it came.
    """

    __slots__ = ("_key", "_value", "headers", "source", "topic")

    def __init__(self, source: SourceRecord) -> None:
        self.source = source
        self.topic = source.topic
        self.headers: Headers = source.headers
        self._key: DraftPayload | None = None
        self._value: DraftPayload | None = None

    @property
    def key(self) -> DraftPayload:
        """Its key."""
        if self._key is None:
            self._key = DraftPayload("key", self.source.key)
        return self._key

    @property
    def value(self) -> DraftPayload:
        """Its value."""
        if self._value is None:
            self._value = DraftPayload("value", self.source.value)
        return self._value

    @property
    def is_tombstone(self) -> bool:
        """Whether it has no value."""
        return self.source.value is None if self._value is None else self._value.is_null

    def finished(self) -> SourceRecord:
        """The record as it is now; the same object if it is as it came."""
        source = self.source
        key = source.key if self._key is None else self._key.data()
        value = source.value if self._value is None else self._value.data()
        if (
            self.topic is source.topic
            and self.headers is source.headers
            and key is source.key
            and value is source.value
        ):
            return source
        return SourceRecord(
            topic=self.topic,
            partition=source.partition,
            offset=source.offset,
            timestamp=source.timestamp,
            key=key,
            value=value,
            headers=self.headers,
        )


Side: TypeAlias = Callable[[RecordDraft], DraftPayload]
"""Which part of a record a transform of fields works on."""


def key_of(draft: RecordDraft) -> DraftPayload:
    """``X$Key`` works on it."""
    return draft.key


def value_of(draft: RecordDraft) -> DraftPayload:
    """``X$Value`` works on it."""
    return draft.value


def json_text(value: Json) -> str:
    """The shortest JSON of a value, with the characters as they are."""
    return _encode(value)


def json_type(value: Json) -> str:
    """What JSON calls the type of a value."""
    kinds = {bool: "a boolean", str: "a string", list: "an array", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), "a number")
