"""The classes of transforms and predicates that a configuration may name, and their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

from mm2.config.keys.definition import Check, Definition, Key
from mm2.config.keys.key_types import Type, Value
from mm2.config.keys.value_checks import items, one_of, one_of_any_case
from mm2.config.transforms.transform_options import (
    Options,
    cast,
    extract_field,
    header_from,
    insert_field,
    mask_field,
    nothing_inserted,
    regex_router,
    replace_field,
    unequal,
    wrong_path,
    wrong_replacement,
    wrong_topic_format,
)
from mm2.core.java_regex import JavaPattern
from mm2.core.transforms.cast import CAST_TYPES
from mm2.core.transforms.date_format import DateFormat
from mm2.core.transforms.headers import DropHeaders, InsertHeader, literal_value
from mm2.core.transforms.json_fields import (
    ValueToKey,
)
from mm2.core.transforms.predicates import HasHeaderKey, RecordIsTombstone, TopicNameMatches
from mm2.core.transforms.record_draft import Side, key_of, value_of
from mm2.core.transforms.routers import Filter, TimestampRouter
from mm2.core.transforms.transform_chain import RecordPredicate, Transform
from mm2.errors import ConfigError

TRANSFORMS_PACKAGE: Final = "org.apache.kafka.connect.transforms."
PREDICATES_PACKAGE: Final = f"{TRANSFORMS_PACKAGE}predicates."
_SIDES: Final[Mapping[str, Side]] = {"Key": key_of, "Value": value_of}


Wrong: TypeAlias = Callable[[Options], "tuple[str, str] | None"]
"""Says which option does not go with others, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformKind:
    """
    A class of transforms.

    Attributes:
        name: as Java names it, without its package; with ``$Key`` or ``$Value`` if it has sides.
        make: may raise what ``parse_all`` does not find.
        wrong: which option does not fit others, and why.
        of_json: reads JSON, where Java's MirrorMaker fails.
    """

    name: str
    doc: str
    options: tuple[Key, ...]
    make: Callable[[Options], Transform]
    wrong: Wrong = field(default=lambda _: None)
    of_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateKind:
    """A class of predicates."""

    name: str
    doc: str
    options: tuple[Key, ...]
    make: Callable[[Options], RecordPredicate]


_option: Final = partial(Key, definitions=frozenset({Definition.TRANSFORM}))
_names: Final = partial(_option, type=Type.LIST, check=items(empty_allowed=False), required=True)


def _readable(read: Callable[[str], object], *, empty_allowed: bool = True) -> Check:
    """Accepts texts that can be read so."""

    def check(value: Value) -> str | None:
        if not empty_allowed and (told := _not_empty(value)):
            return told
        try:
            read(str(value))
        except ConfigError as problem:
            return problem.message
        return None

    return check


def _not_empty(value: Value) -> str | None:
    return "must not be empty" if value == "" else None


def _pairs_of(value: Value) -> str | None:
    """Accepts names and what they become, with a colon between (Java: ``parseRenameMappings``)."""
    for item in value if isinstance(value, tuple) else ():
        if len(item.split(":")) != 2 or not all(item.split(":")):  # noqa: PLR2004
            return f"'{item}' is not written old:new"
    return None


def _types_of(value: Value) -> str | None:
    """Accepts ``field:type`` any number of times, or one type by itself."""
    casts = value if isinstance(value, tuple) else ()
    if not casts:
        return "the list must not be empty"
    for item in casts:
        # As in Java, there is no second colon (``Cast.parseFieldTypes``).
        *names, kind = item.split(":", 1)
        if kind.strip().lower() not in CAST_TYPES or not all(map(str.strip, names)):
            return f"'{item}' is not written field:type; types are {', '.join(CAST_TYPES)}"
        if not names and len(casts) > 1:
            return f"'{item}' casts the whole, and stands by itself"
    return None


def _no_offset(value: Value) -> str | None:
    return None if value is None else "only sink connectors have it; remove the key"


_REPLACES_NULL: Final = _option(
    "replace.null.with.default", Type.BOOLEAN, "true",
    "JSON without a schema has no defaults: either value does the same.",
)  # fmt: skip
_FIELDS: Final = _names("fields", default=None, doc="Names of fields.")
_SYNTAX: Final = _option(
    "field.syntax.version", Type.STRING, "V1",
    "V2 reads `a.b` as the path to a field within a field (KIP-821).",
    check=one_of_any_case("V1", "V2"),
)  # fmt: skip


def _of_side(
    name: str,
    doc: str,
    options: tuple[Key, ...],
    make: Callable[[Side, Options], Transform],
    wrong: Wrong = lambda _: None,
) -> list[TransformKind]:
    return [
        TransformKind(
            name=f"{name}${side}",
            doc=doc,
            options=(*options, _REPLACES_NULL),
            make=partial(make, part),
            wrong=wrong,
            of_json=True,
        )
        for side, part in _SIDES.items()
    ]


# A row each, so that the table can be read as one.
# fmt: off
_KINDS: Final = (
    TransformKind(name="Filter", doc="Drops the record; nearly always with a predicate.",
        options=(), make=lambda _: Filter()),
    TransformKind(name="InsertHeader", doc="Adds a header.", options=(
        _option("header", Type.STRING, None, "Name of the header.", required=True),
        _option("value.literal", Type.STRING, None, "Its value; numbers are written as Java does.",
            required=True)),
        make=lambda options: InsertHeader(
            options.text("header"), literal_value(options.text("value.literal")))),
    TransformKind(name="DropHeaders", doc="Takes headers away.", options=(
        _names("headers", default=None, doc="Names of headers."),),
        make=lambda options: DropHeaders(frozenset(options.names("headers")))),
    TransformKind(name="RegexRouter", doc="Renames topics.", options=(
        _option("regex", Type.STRING, None, "Pattern of whole names.", required=True,
            check=_readable(JavaPattern)),
        _option("replacement", Type.STRING, None, "What its first match becomes; `$1` is a group.",
            required=True)),
        make=regex_router, wrong=wrong_replacement),
    TransformKind(name="TimestampRouter", doc="Names topics by timestamps.", options=(
        _option("topic.format", Type.STRING, "${topic}-${timestamp}", "Name of the topic."),
        _option("timestamp.format", Type.STRING, "yyyyMMdd",
            "Letters of SimpleDateFormat, without `w`, `W` and `Y`; in UTC, and in English.",
            check=_readable(DateFormat))),
        make=lambda options: TimestampRouter(
            options.text("topic.format"), DateFormat(options.text("timestamp.format"))),
        wrong=wrong_topic_format),
    *_of_side("HeaderFrom", "Copies or moves fields to headers.", (
        _names("fields", default=None, doc="Names of fields.", repeats=True),
        _names("headers", default=None, doc="Names of headers, as many.", repeats=True),
        _option("operation", Type.STRING, None, "`copy` or `move`.", required=True,
            check=one_of("move", "copy"))),
        header_from, unequal),
    *_of_side("Cast", "Turns values into another type.", (
        _option("spec", Type.LIST, None,
            f"`field:type`, or one type for the whole: {', '.join(CAST_TYPES)}.", required=True,
            check=_types_of),),
        cast),
    *_of_side("InsertField", "Adds fields.", (
        _option("topic.field", Type.STRING, None, "Field for the name of the remote topic."),
        _option("partition.field", Type.STRING, None, "Field for the partition."),
        _option("timestamp.field", Type.STRING, None, "Field for the timestamp, in ms."),
        _option("static.field", Type.STRING, None, "Field for a text."),
        _option("static.value", Type.STRING, None, "The text."),
        _option("offset.field", Type.STRING, None, "Refused, as in every source connector.",
            check=_no_offset)),
        insert_field, nothing_inserted),
    *_of_side("ReplaceField", "Leaves fields out, and renames them.", (
        _option("exclude", Type.LIST, "", "Fields to leave out.", check=items()),
        _option("include", Type.LIST, "", "Fields that stay; empty: all.", check=items()),
        _option("renames", Type.LIST, "", "`old:new` for each.", check=_pairs_of)),
        replace_field),
    *_of_side("MaskField", "Replaces what fields say.", (
        _FIELDS,
        _option("replacement", Type.STRING, None, "For texts and numbers; left out: empty or 0.",
            check=_not_empty)),
        mask_field),
    TransformKind(name="ValueToKey", doc="Makes the key from fields of the value.", options=(
        _FIELDS, _REPLACES_NULL), of_json=True,
        make=lambda options: ValueToKey(options.names("fields"))),
    *_of_side("ExtractField", "Puts one field in place of all.", (
        _option("field", Type.STRING, None, "Name of the field.", required=True), _SYNTAX),
        extract_field, wrong_path),
)
_PREDICATES: Final = (
    PredicateKind(name="TopicNameMatches", doc="The remote topic's whole name matches.", options=(
        _option("pattern", Type.STRING, None, "Regular expression of Java.", required=True,
            check=_readable(JavaPattern, empty_allowed=False)),),
        make=lambda options: TopicNameMatches(JavaPattern(options.text("pattern")))),
    PredicateKind(name="HasHeaderKey", doc="The record has a header of that name.", options=(
        _option("name", Type.STRING, None, "Name of the header.", required=True,
            check=_not_empty),),
        make=lambda options: HasHeaderKey(options.text("name"))),
    PredicateKind(name="RecordIsTombstone", doc="The record has no value.", options=(),
        make=lambda _: RecordIsTombstone()),
)
# fmt: on
TRANSFORM_KINDS: Final = {kind.name: kind for kind in _KINDS}
PREDICATE_KINDS: Final = {kind.name: kind for kind in _PREDICATES}
