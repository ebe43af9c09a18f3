"""Makes transforms of their options, and says which options do not go together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mm2.config.keys.key_types import Value
from mm2.core.java_regex import JavaPattern, Replacement
from mm2.core.topics.own_topics import OwnTopics
from mm2.core.transforms.cast import Cast
from mm2.core.transforms.field_path import nested_path
from mm2.core.transforms.headers import HeaderFrom
from mm2.core.transforms.json_fields import (
    ExtractField,
    InsertField,
    MaskField,
    ReplaceField,
)
from mm2.core.transforms.record_draft import Side, value_of
from mm2.core.transforms.routers import RegexRouter
from mm2.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Options:
    """Values of the options of one transform or predicate, by their names."""

    values: Mapping[str, Value]

    def text(self, name: str) -> str:
        """A text; empty if there is none."""
        return self.given(name) or ""

    def given(self, name: str) -> str | None:
        """A text; None if there is none."""
        value = self.values[name]
        return None if value is None else str(value)

    def names(self, name: str) -> tuple[str, ...]:
        """The items of a list."""
        value = self.values[name]
        return value if isinstance(value, tuple) else ()


def regex_router(options: Options) -> RegexRouter:
    """A router with that pattern and replacement."""
    pattern = JavaPattern(options.text("regex"))
    return RegexRouter(pattern, Replacement(pattern, options.text("replacement")))


def wrong_replacement(options: Options) -> tuple[str, str] | None:
    """What the replacement says of groups that the pattern does not have, or where it leads."""
    try:
        router = regex_router(options)
    except ConfigError as problem:
        return "replacement", problem.message
    return _no_way(router.replacement.constant or "", "replacement")


def wrong_topic_format(options: Options) -> tuple[str, str] | None:
    """Where a name without placeholders leads."""
    return _no_way(options.text("topic.format"), "topic.format")


def _no_way(topic: str, option: str) -> tuple[str, str] | None:
    if not OwnTopics().holds(topic):
        return None
    return option, "records may not go to internal topics of mm2, Connect and Kafka: name another"


def header_from(side: Side, options: Options) -> HeaderFrom:
    """Fields to headers."""
    return HeaderFrom(
        side=side,
        fields=options.names("fields"),
        headers=options.names("headers"),
        moves=options.text("operation") == "move",
    )


def unequal(options: Options) -> tuple[str, str] | None:
    """Whether fields and headers are as many."""
    fields, headers = options.names("fields"), options.names("headers")
    if len(fields) == len(headers):
        return None
    return "headers", f"{len(headers)} headers stand for {len(fields)} fields: name one for each"


def insert_field(side: Side, options: Options) -> InsertField:
    """What is inserted."""
    return InsertField(
        side=side,
        topic=_field_name(options, "topic.field"),
        partition=_field_name(options, "partition.field"),
        timestamp=_field_name(options, "timestamp.field"),
        static=_field_name(options, "static.field"),
        static_value=options.text("static.value"),
    )


def _field_name(options: Options, option: str) -> str | None:
    """Without the mark that makes a field of a schema required or optional."""
    name = options.given(option)
    return name[:-1] if name is not None and name.endswith(("?", "!")) else name


def nothing_inserted(options: Options) -> tuple[str, str] | None:
    """Whether anything is inserted."""
    what = ("topic.field", "partition.field", "timestamp.field", "static.field")
    if all(options.given(name) is None for name in what):
        return "", f"nothing is inserted: give one of {', '.join(what)}"
    if options.given("static.field") is not None and options.given("static.value") is None:
        return "static.field", "static.value is missing"
    return None


def replace_field(side: Side, options: Options) -> ReplaceField:
    """What stays, and its names."""
    return ReplaceField(
        side=side,
        exclude=frozenset(options.names("exclude")),
        include=frozenset(options.names("include")),
        renames={old: new for old, _, new in map(_at_colon, options.names("renames"))},
    )


def _at_colon(item: str) -> tuple[str, str, str]:
    return item.rpartition(":")


def mask_field(side: Side, options: Options) -> MaskField:
    """What is masked."""
    replacement = options.given("replacement")
    return MaskField(side=side, fields=options.names("fields"), replacement=replacement)


def extract_field(side: Side, options: Options) -> ExtractField:
    """What is extracted."""
    name = options.text("field")
    nested = options.text("field.syntax.version").upper() == "V2"
    return ExtractField(side=side, path=nested_path(name) if nested else (name,))


def wrong_path(options: Options) -> tuple[str, str] | None:
    """What is wrong with a path."""
    try:
        extract_field(value_of, options)
    except ConfigError as problem:
        return "field", problem.message
    return None


def cast(side: Side, options: Options) -> Cast:
    """What is cast."""
    casts = [(name.strip(), kind) for name, _, kind in map(_at_colon, options.names("spec"))]
    types = {name: kind.strip().lower() for name, kind in casts}
    return Cast(side=side, types=types, whole=types.get(""))
