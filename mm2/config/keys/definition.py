"""
What it means to define a key: type, default, importance, the values allowed, and how text is read.

Text is read as Kafka's ``ConfigDef.parseType`` reads it, validators of ``ConfigDef`` included,
because a file that Java rejects must be rejected here, and one that it takes must be taken.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from mm2.config.keys.java_classes import JAVA_CLASSES
from mm2.config.text.redact import HIDDEN
from mm2.errors import ConfigError

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None
Check: TypeAlias = Callable[[Value], str | None]
"""Says what is wrong with a value, or None."""


class Type(enum.Enum):
    """How the text of a key is read; the names are those of Kafka's ``ConfigDef.Type``."""

    BOOLEAN = "boolean"
    STRING = "string"
    INT = "int"
    SHORT = "short"
    LONG = "long"
    DOUBLE = "double"
    LIST = "list"
    CLASS = "class"
    PASSWORD = "password"  # noqa: S105 - the name of a type


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


class Support(enum.Enum):
    """What becomes of a key that the user sets; the value says it in the reference."""

    OBEYED = ""
    NO_EFFECT = "No effect"
    REFUSED = "Refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """
    One row of the table of keys.

    Attributes:
        name: as written in the file, without prefixes.
        type: how its text is read.
        default: the text that counts when the key is absent; None is Java's null.
        importance: HIGH, MEDIUM or LOW, as in Java.
        doc: one sentence for the user.
        definitions: who defines it.
        required: absence is a mistake.
        check: what else a value must satisfy.
        own_class: the class may also be one of ours by its simple name, or the user's own in
            Python,
            written package.module:Class.
        support: whether it is obeyed. What is harmless has no effect, and a warning says so; what
            would change the result is refused.
        reason: why it is not obeyed, and what to do.
        accepted: texts beside the default that ask for nothing which is not done anyway.
    """

    name: str
    type: Type
    default: str | None
    importance: str
    doc: str
    definitions: frozenset[Definition]
    required: bool = False
    check: Check | None = None
    own_class: bool = False
    support: Support = Support.OBEYED
    reason: str = ""
    accepted: frozenset[str] = frozenset()

    def asks_in_vain(self, text: str) -> bool:
        """Whether the text asks for something, and it is not done."""
        if self.support is Support.OBEYED or java_trim(text).lower() in self._asks_nothing():
            return False
        try:
            return self.parse(text) != self.default_value()
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
        try:
            value = self._read(text)
            complaint = self.check(value) if self.check else None
        except ValueError as error:
            complaint = str(error)
        if complaint is None:
            return value
        shown = HIDDEN if self.type is Type.PASSWORD else text
        message = f"Invalid value '{shown}' for configuration '{self.name}': {complaint}"
        raise ConfigError(message, key=self.name, value=shown)

    def default_value(self) -> Value:
        """The value that counts when the key is absent."""
        return None if self.default is None else self._read(self.default)

    def _read(self, text: str) -> Value:
        return java_trim(text) if self.own_class else PARSERS[self.type](text)


def harmless(key: Key, reason: str, *accepted: str) -> Key:
    """The key as one that has no effect here, and need not have one."""
    return replace(key, support=Support.NO_EFFECT, reason=reason, accepted=frozenset(accepted))


def refused(key: Key, reason: str, *accepted: str) -> Key:
    """The key as one that would change the result, and cannot here."""
    return replace(key, support=Support.REFUSED, reason=reason, accepted=frozenset(accepted))


def java_trim(text: str) -> str:
    """Does what ``String.trim`` does: drops every leading and trailing character up to U+0020."""
    return text.strip(_TRIMMED)


def lenient_boolean(text: str | None) -> bool:
    """Whether the text is "true", in any case, without blanks (``Boolean.parseBoolean``, C018)."""
    return text is not None and text.lower() == "true"


def split_list(text: str) -> tuple[str, ...]:
    """Splits at commas, without the blanks around them; empty items stay, blank text has none."""
    trimmed = java_trim(text)
    return tuple(item.strip(_BLANKS) for item in trimmed.split(",")) if trimmed else ()


def one_of(*allowed: str) -> Check:
    """Accepts exactly these words (``ConfigDef.ValidString``)."""
    return lambda value: None if value in allowed else f"must be one of {', '.join(allowed)}"


def one_of_any_case(*allowed: str) -> Check:
    """Accepts these words in any case (``ConfigDef.CaseInsensitiveValidString``)."""
    upper = {word.upper() for word in allowed}
    words = ", ".join(allowed)
    return lambda value: (
        None if str(value).upper() in upper else f"must be one of {words} (any case)"
    )


def between(low: float, high: float | None = None) -> Check:
    """Accepts numbers from ``low`` to ``high``, and what is no number (``ConfigDef.Range``)."""

    def check(value: Value) -> str | None:
        if not isinstance(value, int | float) or value < low:
            return f"must be at least {low}"
        return f"must be at most {high}" if high is not None and value > high else None

    return check


def items(*, empty_allowed: bool = True, allowed: tuple[str, ...] = ()) -> Check:
    """Accepts lists without empty items (C454, ``ConfigDef.ValidList``, KIP-1161)."""

    def check(value: Value) -> str | None:
        assert isinstance(value, tuple)  # noqa: S101 - only list keys carry this check
        if not value and not empty_allowed:
            return "the list must not be empty"
        if "" in value:
            return "the list has an empty item; remove the comma too many"
        wrong = [item for item in value if allowed and item not in allowed]
        return f"'{wrong[0]}' is none of {', '.join(allowed)}" if wrong else None

    return check


_TRIMMED: Final = "".join(map(chr, range(0x21)))
_BLANKS: Final = " \t\n\x0b\f\r"
_INTEGER: Final = re.compile(r"[+-]?\d+")
_FLOAT: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII
)
_HEX_FLOAT: Final = re.compile(
    r"([+-]?)0[xX]((?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII
)


def _boolean(text: str) -> bool:
    word = java_trim(text).lower()
    if word not in ("true", "false"):
        raise ValueError("must be true or false")
    return word == "true"


def _integer(bits: int) -> Callable[[str], int]:
    limit = 1 << (bits - 1)

    def parse(text: str) -> int:
        trimmed = java_trim(text)
        number = int(trimmed) if _INTEGER.fullmatch(trimmed) else limit
        if not -limit <= number < limit:
            raise ValueError(f"must be a whole number of {bits} bits")
        return number

    return parse


def _double(text: str) -> float:
    trimmed = java_trim(text)
    if _FLOAT.fullmatch(trimmed):
        return float(trimmed.rstrip("fFdD") if "N" not in trimmed else trimmed)
    if hexadecimal := _HEX_FLOAT.fullmatch(trimmed):
        return float.fromhex(f"{hexadecimal[1]}0x{hexadecimal[2]}")
    raise ValueError("must be a number")


def _list(text: str) -> tuple[str, ...]:
    """Duplicates collapse into the first of them, as since 4.3 (C454)."""
    return tuple(dict.fromkeys(split_list(text)))


def _class(text: str) -> str:
    """
    Accepts the classes of Kafka's own that can stand here.

    Java loads the class, and rejects the file if it cannot. We can load none, and act only for
    Kafka's own; a class of the user's would be passed over, which must not happen in silence.
    """
    trimmed = java_trim(text)
    if trimmed not in JAVA_CLASSES:
        raise ValueError("no such class in Kafka; classes of your own in Java cannot be loaded")
    return trimmed


PARSERS: Final[dict[Type, Callable[[str], Value]]] = {
    Type.BOOLEAN: _boolean,
    Type.STRING: java_trim,
    Type.PASSWORD: java_trim,
    Type.INT: _integer(32),
    Type.SHORT: _integer(16),
    Type.LONG: _integer(64),
    Type.DOUBLE: _double,
    Type.LIST: _list,
    Type.CLASS: _class,
}


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


def _value(key: Key, properties: Mapping[str, str]) -> Value:
    if key.name in properties:
        return key.parse(properties[key.name])
    if key.required:
        message = f'Missing required configuration "{key.name}" which has no default value.'
        raise ConfigError(message, key=key.name)
    return key.default_value()


def by_line(mistake: ConfigError) -> tuple[int, str, str]:
    """Sorts mistakes by the line of their key; those without a line come first."""
    return (mistake.line or 0, mistake.key or "", mistake.message)
