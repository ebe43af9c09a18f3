"""Our transforms and predicates beside Java's own classes."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mm2.config.transforms.chain_reading import read_transforms
from mm2.core.handled_records import SourceRecord
from mm2.errors import TransformError
from tests.reference.core_java import Java, many, running_java
from tests.support.transform_chains import chain_of, record

pytestmark = pytest.mark.reference

_LARGEST_FLOAT = 3.4028234e38
_HEADERS = (("a", b"1"), ("b", b""), ("a", None))
_FORMATS = (
    "y yy yyy yyyyy M MM MMM MMMM L LLL d D DDD F",
    "E EEEE u uu a H HH k K h m s S SSS SSSSS z zzzz Z X XX XXX G",
    "'o''clock' '' yyyy-MM-dd'T'HH:mm:ss.SSS''''",
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    # Java writes the shortest digits of others since version 19 only.
    | st.integers(-(1 << 30), 1 << 30).map(lambda number: number / 8)
    | st.sampled_from([1e30, 1.1, -1e-5, 1.7e308])
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5)
    | st.sampled_from(["true", "12", "-7", "1.5", "300", " 1", "1e3", "x"])
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    ),
    max_leaves=4,
)
_CASTS = ("int8", "int16", "int32", "int64", "float64", "boolean", "string")
_VALUES = st.none() | st.dictionaries(st.sampled_from("abcd"), _JSON, max_size=4) | _JSON


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    with running_java() as found:
        yield found


def _ours(kind: str, options: Mapping[str, str], before: SourceRecord) -> object:
    below = {f"transforms.x.{name}": text for name, text in options.items()}
    chain = chain_of({"transforms": "x", "transforms.x.type": kind, **below})
    try:
        after = chain.apply(before)
    except TransformError:
        return "error"
    if after is None:
        return {"dropped": True}
    headers = [[name, _hex(value)] for name, value in after.headers]
    data = (_hex(after.key), _hex(after.value))
    return [after.topic, after.partition, after.timestamp, *data, headers]


def _java(
    java: Java, kind: str, options: Mapping[str, str], before: SourceRecord, *, of_json: bool
) -> object:
    asked = {"type": kind, "options": options, "json": of_json, **_question(before)}
    answer = java.ask("transform", asked)
    return "error" if isinstance(answer, dict) and "error" in answer else answer


def _question(before: SourceRecord) -> dict[str, object]:
    return {
        "topic": before.topic,
        "partition": before.partition,
        "timestamp": before.timestamp,
        "key": _hex(before.key),
        "value": _hex(before.value),
        "headers": [[name, _hex(value)] for name, value in before.headers],
    }


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("Filter", {}),
        ("InsertHeader", {"header": "a", "value.literal": "x"}),
        ("DropHeaders", {"headers": "a, z"}),
        ("RegexRouter", {"regex": r"(\w+)\.(.*)", "replacement": r"$2-\$-${1"}),
        ("RegexRouter", {"regex": r"(\w+)\.(.*)", "replacement": "$2-$1"}),
        ("RegexRouter", {"regex": "A|A.t", "replacement": "$0x"}),
        ("RegexRouter", {"regex": "(?<n>A)(z)?.t", "replacement": "${n}$12$3"}),
        ("RegexRouter", {"regex": "(?<n>A)(z)?.t", "replacement": "${n}$12"}),
        ("RegexRouter", {"regex": "B.*", "replacement": "x"}),
        *(("TimestampRouter", {"timestamp.format": text}) for text in _FORMATS),
    ],
)
def test_records_of_bytes_become_what_java_makes_of_them(
    java: Java, kind: str, options: dict[str, str]
) -> None:
    before = record(headers=_HEADERS)
    below = {f"transforms.x.{name}": text for name, text in options.items()}
    mistakes = read_transforms({"transforms": "x", "transforms.x.type": kind, **below})[1]
    ours = "error" if mistakes else _ours(kind, options, before)
    assert ours == _java(java, kind, options, before, of_json=False)


@given(at=st.integers(-12_000_000_000_000, 200_000_000_000_000))
@example(at=-1)
@many(200)
def test_any_time_is_written_as_java_writes_it(java: Java, at: int) -> None:
    options = {"timestamp.format": " ".join(_FORMATS[:2])}
    before = record(timestamp=at)
    ours = _ours("TimestampRouter", options, before)
    assert ours == _java(java, "TimestampRouter", options, before, of_json=False)


@given(
    literal=st.from_regex(r"[+-]?[0-9]{1,22}(\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)
    | st.sampled_from(["null", "true", "False", "x", "12 apples", "-", "0x10", "1f"])
    | st.sampled_from(["1e309", "-1.50e400", "1e-401", "0e401", "1e9999999999"])
)
@many(300)
def test_a_literal_becomes_the_header_that_java_writes(java: Java, literal: str) -> None:
    options = {"header": "h", "value.literal": literal}
    ours = _ours("InsertHeader", options, record())
    javas = _java(java, "InsertHeader", options, record(), of_json=False)
    assert _header_of(ours) == _header_of(javas)


@given(
    value=_VALUES,
    case=st.sampled_from(
        [
            ("InsertField$Value", {"topic.field": "a", "partition.field": "p?"}),
            (
                "InsertField$Value",
                {"timestamp.field": "t!", "static.field": "b", "static.value": "x"},
            ),
            ("ReplaceField$Value", {"exclude": "a", "renames": "b:z"}),
            ("ReplaceField$Value", {"include": "a,b", "renames": "a:q,c:d"}),
            ("MaskField$Value", {"fields": "a,b"}),
            ("MaskField$Value", {"fields": "a", "replacement": "12"}),
            *(
                ("MaskField$Value", {"fields": "b", "replacement": text})
                for text in ("***", "1.5", "-.5", "1e3", "1_0", "1f", "99999999999999999999")
            ),
            ("ValueToKey", {"fields": "a,b"}),
            ("ExtractField$Value", {"field": "a"}),
            ("ExtractField$Value", {"field": "a.b", "field.syntax.version": "V2"}),
            *(("Cast$Value", {"spec": f"a:{kind}"}) for kind in _CASTS),
            *(("Cast$Value", {"spec": kind}) for kind in _CASTS),
        ]
    ),
)
@many(1000)
def test_json_without_schemas_becomes_what_java_makes_of_it(
    java: Java, value: object, case: tuple[str, dict[str, str]]
) -> None:
    kind, options = case
    data = None if value is None else json.dumps(value).encode()
    before = record(key=b'{"k":1}', value=data)
    ours = _parsed(_ours(kind, options, before))
    javas = _parsed(_java(java, kind, options, before, of_json=True))
    assert ours == javas


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("InsertField$Value", {"topic.field": "a"}),
        ("ReplaceField$Value", {"exclude": "a"}),
        ("ExtractField$Value", {"field": "a"}),
        ("Cast$Value", {"spec": "a:int8"}),
        ("Cast$Value", {"spec": "string"}),
        ("MaskField$Value", {"fields": "a"}),
        ("ValueToKey", {"fields": "a"}),
        ("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "copy"}),
    ],
)
def test_what_is_empty_passes_where_it_does_in_java(
    java: Java, kind: str, options: dict[str, str]
) -> None:
    """Java makes null of it; ours leaves it empty where nothing replaces it."""
    before = record(key=None, value=b"")
    ours, javas = (
        _ours(kind, options, before),
        _java(java, kind, options, before, of_json=True),
    )
    if isinstance(ours, list):
        ours[4] = ours[4] or None
    assert ours == javas


@pytest.mark.parametrize("value", [0.5, 1.1, 3.14159265358979, 12, "1.5", True, "x", 1e30, None])
def test_a_number_is_cast_to_32_bits_as_java_casts_it(java: Java, value: object) -> None:
    kind, options = "Cast$Value", {"spec": "a:float32"}
    before = record(key=None, value=json.dumps({"a": value}).encode())
    ours = _parsed(_ours(kind, options, before))
    assert ours == _parsed(_java(java, kind, options, before, of_json=True))


@given(
    value=st.dictionaries(st.sampled_from("abc"), _SCALARS), how=st.sampled_from(["copy", "move"])
)
@many(200)
def test_fields_become_the_headers_that_java_writes(
    java: Java, value: dict[str, object], how: str
) -> None:
    kind, options = "HeaderFrom$Value", {"fields": "a,b,a", "headers": "x,y,y", "operation": how}
    before = record(key=None, value=json.dumps(value).encode(), headers=_HEADERS)
    ours = _parsed(_ours(kind, options, before))
    assert ours == _parsed(_java(java, kind, options, before, of_json=True))


def _header_of(answer: object) -> object:
    """The only header; a small number with a fraction as the 32 bits that Java has of it."""
    assert isinstance(answer, list)
    ((_, value),) = answer[5]
    text = None if value is None else bytes.fromhex(value).decode()
    if text is None or "." not in text or abs(float(text)) > _LARGEST_FLOAT:
        return text
    return struct.pack("<f", float(text))


def _parsed(answer: object) -> object:
    """What key and value say; Java keeps no order of fields."""
    if not isinstance(answer, list):
        return answer
    data = [None if text is None else json.loads(bytes.fromhex(text)) for text in answer[3:5]]
    return [*answer[:3], *map(_comparable, data), answer[5]]


def _comparable(value: object) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("topic", ["A.t", "A.tt", "", "t"])
@pytest.mark.parametrize("value", [None, b""])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("TopicNameMatches", {"pattern": r"A\.t"}),
        ("TopicNameMatches", {"pattern": "t"}),
        ("HasHeaderKey", {"name": "a"}),
        ("HasHeaderKey", {"name": "A"}),
        ("RecordIsTombstone", {}),
    ],
)
def test_predicates_answer_as_javas(
    java: Java, kind: str, options: dict[str, str], topic: str, value: bytes | None
) -> None:
    below = {f"predicates.p.{name}": text for name, text in options.items()}
    chain = chain_of(
        {
            "transforms": "x",
            "transforms.x.type": "Filter",
            "transforms.x.predicate": "p",
            "predicates": "p",
            "predicates.p.type": kind,
            **below,
        }
    )
    before = record(topic=topic, value=value, headers=_HEADERS)
    asked = {"type": kind, "options": options, **_question(before)}
    assert (chain.apply(before) is None) is java.ask("predicate", asked)
