"""Transforms of the fields of a JSON object; with ``null`` in place of it, some do nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mm2.core.transforms.field_path import value_at
from mm2.core.transforms.java_numbers import parse_decimal_double, parse_long
from mm2.core.transforms.record_draft import Json, RecordDraft, Side, json_type
from mm2.errors import TransformError


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertField:
    """Adds what is known of the record, or a text; replaces fields of that name."""

    side: Side
    topic: str | None = None
    partition: str | None = None
    timestamp: str | None = None
    static: str | None = None
    static_value: str = ""

    def apply(self, draft: RecordDraft) -> bool:
        """
        Adds the fields.

        Raises:
            TransformError: the record has no fields.
        """
        payload = self.side(draft)
        fields = payload.fields()
        if fields is None:
            return True
        found = dict(fields)
        if self.topic is not None:
            found[self.topic] = draft.topic
        if self.partition is not None:
            found[self.partition] = draft.source.partition
        if self.timestamp is not None:
            found[self.timestamp] = draft.source.timestamp
        if self.static is not None:
            found[self.static] = self.static_value
        payload.set_json(found)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceField:
    """Leaves fields out and renames them; ``include`` names all that stay, unless it is empty."""

    side: Side
    exclude: frozenset[str]
    include: frozenset[str]
    renames: Mapping[str, str]

    def apply(self, draft: RecordDraft) -> bool:
        """
        Replaces the fields.

        Raises:
            TransformError: the record has no fields.
        """
        payload = self.side(draft)
        fields = payload.fields()
        if fields is not None:
            renames = self.renames
            payload.set_json({renames.get(k, k): v for k, v in fields.items() if self._stays(k)})
        return True

    def _stays(self, field: str) -> bool:
        return field not in self.exclude and (not self.include or field in self.include)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskField:
    """Puts zero, false or nothing, or the replacement, in place of what fields say."""

    side: Side
    fields: tuple[str, ...]
    replacement: str | None

    def apply(self, draft: RecordDraft) -> bool:
        """
        Masks the fields; one that is missing becomes null, as in Java.

        Raises:
            TransformError: the record has no fields, or the replacement does not fit one.
        """
        payload = self.side(draft)
        found = dict(payload.required_fields())
        for field in self.fields:
            found[field] = self._masked(field, found.get(field))
        payload.set_json(found)
        return True

    def _masked(self, field: str, value: Json) -> Json:
        if value is None:
            return None
        if self.replacement is None:
            return type(value)()
        if isinstance(value, str):
            return self.replacement
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TransformError(f"field {field} is {json_type(value)}: it takes no replacement")
        return _number(self.replacement, like=value)


@dataclass(frozen=True, slots=True)
class ValueToKey:
    """Makes the key from fields of the value; one that is missing is null."""

    fields: tuple[str, ...]

    def apply(self, draft: RecordDraft) -> bool:
        """
        Replaces the key.

        Raises:
            TransformError: the value has no fields.
        """
        fields = draft.value.required_fields()
        draft.key.set_json({name: fields.get(name) for name in self.fields})
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractField:
    """Puts one field in place of all."""

    side: Side
    path: tuple[str, ...]

    def apply(self, draft: RecordDraft) -> bool:
        """
        Replaces key or value; a field that is missing, or null, leaves none.

        Raises:
            TransformError: the record has no fields.
        """
        payload = self.side(draft)
        fields = payload.fields()
        payload.set_json(None if fields is None else value_at(fields, self.path))
        return True


def _number(text: str, *, like: float) -> Json:
    try:
        return parse_long(text) if isinstance(like, int) else parse_decimal_double(text)
    except ValueError:
        raise TransformError(f"replacement '{text}' is no number of the field's type") from None
