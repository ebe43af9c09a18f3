"""What it means to define a key, and to read the keys of a definition."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

from mm2.config.keys.effects import Effects
from mm2.config.keys.key_types import (
    PARSERS,
    Type,
    Value,
    duration_ms,
    duration_s,
    java_trim,
    split_list,
)
from mm2.config.text.redact import HIDDEN, shown
from mm2.errors import ConfigError

Check: TypeAlias = Callable[[Value], str | None]
"""Says what is wrong with a value, or None."""

Fields: TypeAlias = dict[str, Any]  # type: ignore[explicit-any]
"""By names; that rows and settings agree on types is tested."""


class Definition(enum.Enum):
    """The places that define keys: those of Java, and ours."""

    MAKER = "top level"
    SOURCE = "source"
    CHECKPOINT = "checkpoint"
    HEARTBEAT = "heartbeat"
    CLIENT = "client"
    WORKER = "worker"
    POLICY = "policies of the worker"
    DATA = "clients of mirrored records"
    OWN = "mm2 only"
    CONNECT = "Connect's source connectors"
    TRANSFORM = "transforms"


class Support(enum.Enum):
    """What becomes of a key that the user sets; the value says it in the reference."""

    OBEYED = ""
    NO_EFFECT = "No effect"
    REFUSED = "Refused"


@dataclass(frozen=True, slots=True)
class Key:
    """
    The one row of a key: settings, reading, live changes, reference and lint follow from it.

    Attributes:
        name: as written in the file, without prefixes.
        default: the text that counts when the key is absent; None is Java's null.
        importance: HIGH, MEDIUM or LOW, as in Java.
        own_class: the class may also be one of ours by its simple name, or the user's own in
            Python, written package.module:Class.
        repeats: the list keeps what stands in it twice, as with validators other than ValidList.
        ignored: why it has no effect, which is harmless: a warning says so.
        refused: why a file that asks for it is refused: obeyed, it would change the result.
        accepted: texts beside the default that ask for nothing which is not done anyway.
        word: what may be written in place of a value of the type; it is read as None.
        mm2_default: what counts here, where it differs from Java's default.
        field: the field of the settings that it fills; empty if it is read by its name.
        convert: makes the field's value; durations are made by the unit that ends the name.
        effects: what a change does to a running flow. None: the whole flow starts anew, as for
            keys of plug-ins; or nothing, if the key is not obeyed.
    """

    name: str
    type: Type
    default: str | None
    doc: str
    _: KW_ONLY
    importance: str = "LOW"
    definitions: frozenset[Definition]
    required: bool = False
    check: Check | None = None
    own_class: bool = False
    repeats: bool = False
    ignored: str = ""
    refused: str = ""
    accepted: tuple[str, ...] = ()
    word: str = ""
    mm2_default: str | None = None
    field: str = ""
    convert: Callable[[Value], object] | None = None
    effects: Effects | None = None
    default_value: Value = dataclasses.field(init=False, repr=False, compare=False)
    """The value that counts when the key is absent."""

    def __post_init__(self) -> None:
        value = None if self.default is None else self._read(self.default)
        object.__setattr__(self, "default_value", value)

    @property
    def support(self) -> Support:
        """Whether it is obeyed."""
        if self.refused:
            return Support.REFUSED
        return Support.NO_EFFECT if self.ignored else Support.OBEYED

    @property
    def reason(self) -> str:
        """Why it is not obeyed, and what to do."""
        return self.refused or self.ignored

    def field_value(self, value: Value) -> object:
        """What the field of the settings is filled with."""
        if self.convert is not None:
            return self.convert(value)
        if self.name.endswith(".ms") and isinstance(value, int):
            return duration_ms(value)
        return duration_s(value) if self.name.endswith(".interval.seconds") else value

    def asks_in_vain(self, text: str) -> bool:
        """Whether the text asks for something, and it is not done."""
        if self.support is Support.OBEYED or java_trim(text).lower() in self._asks_nothing():
            return False
        try:
            return self.parse(text) != self.default_value
        except ConfigError:
            return True

    def _asks_nothing(self) -> set[str]:
        return {"", *(word.lower() for word in self.accepted)}

    def parse(self, text: str) -> Value:
        """
        Reads the text of this key.

        Raises:
            ConfigError: the text is not of the key's type, or fails its check.
        """
        if self.word and java_trim(text) == self.word:
            return None
        try:
            value = self._read(text)
            complaint = self.check(value) if self.check else None
        except ValueError as error:
            complaint = str(error)
        if complaint is None:
            return value
        value = HIDDEN if self.type is Type.PASSWORD else shown(self.name, text)
        message = f"Invalid value '{value}' for configuration '{self.name}': {complaint}"
        raise ConfigError(message, key=self.name, value=value)

    def _read(self, text: str) -> Value:
        if self.repeats:
            return split_list(text)
        return java_trim(text) if self.own_class else PARSERS[self.type](text)


def parse_all(
    keys: Mapping[str, Key], properties: Mapping[str, str]
) -> tuple[dict[str, Value], list[ConfigError]]:
    """Reads every key of a definition; returns the values, and all mistakes."""
    values: dict[str, Value] = {}
    mistakes: list[ConfigError] = []
    for name, key in keys.items():
        try:
            values[name] = _value(key, properties)
        except ConfigError as error:
            mistakes.append(error)
    return values, mistakes


def field_values(keys: Mapping[str, Key], values: Mapping[str, Value]) -> Fields:
    """
    What the fields of settings are filled with.

    The interval of a job that its key ``enabled`` switches off is None.
    """
    return {
        key.field: None if _is_switched_off(name, values) else key.field_value(values[name])
        for name, key in keys.items()
        if key.field
    }


def _is_switched_off(name: str, values: Mapping[str, Value]) -> bool:
    job = name.removesuffix(".interval.seconds")
    return job != name and values.get(f"{job}.enabled") is False


def _value(key: Key, properties: Mapping[str, str]) -> Value:
    if key.name in properties:
        return key.parse(properties[key.name])
    if key.required:
        message = f'Missing required configuration "{key.name}" which has no default value.'
        raise ConfigError(message, key=key.name)
    return key.default_value


def by_line(mistake: ConfigError) -> tuple[int, str, str]:
    """Sorts mistakes by the line of their key; those without a line come first."""
    return (mistake.line or 0, mistake.key or "", mistake.message)
