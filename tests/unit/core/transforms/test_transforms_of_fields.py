"""Fields of JSON objects are added, left out, masked, cast and extracted."""

from __future__ import annotations

import pytest

from mm2.errors import TransformError
from tests.support.transform_chains import chain_of, one, record, value_after

_ALL_KINDS = (
    ("InsertField$Value", {"static_field": "f", "static_value": "x"}),
    ("ReplaceField$Value", {"exclude": "f"}),
    ("MaskField$Value", {"fields": "f"}),
    ("ValueToKey", {"fields": "f"}),
    ("ExtractField$Value", {"field": "f"}),
    ("Cast$Value", {"spec": "f:string"}),
)
_REFUSES_NULL = ("MaskField$Value", "ValueToKey")


def test_what_is_known_of_a_record_is_inserted() -> None:
    chain = one(
        "InsertField$Value",
        topic_field="topic",
        partition_field="partition!",
        timestamp_field="at?",
        static_field="old",
        static_value="new",
    )
    found = value_after(chain, b'{"old":1,"big":12345678901234567890123}')
    assert found == (
        b'{"old":"new","big":12345678901234567890123,"topic":"A.t","partition":3,'
        b'"at":1700000000123}'
    )


def test_fields_are_left_out_and_renamed() -> None:
    chain = one("ReplaceField$Value", exclude="b", include="a,b,c", renames="a:z,d:y")
    assert value_after(chain, b'{"a":1,"b":2,"c":3,"d":4}') == b'{"z":1,"c":3}'


def test_without_a_list_of_those_that_stay_all_fields_stay() -> None:
    chain = one("ReplaceField$Key", renames="a:z")
    assert chain.apply(record(key='{"a":"\u00e9"}'.encode())) == record(
        key='{"z":"\u00e9"}'.encode()
    )


def test_masked_fields_say_nothing_and_keep_their_type() -> None:
    chain = one("MaskField$Value", fields="s,n,f,b,l,o,z,none")
    value = b'{"s":"x","n":5,"f":1.5,"b":true,"l":[1],"o":{"a":1},"z":null,"free":9}'
    assert value_after(chain, value) == (
        b'{"s":"","n":0,"f":0.0,"b":false,"l":[],"o":{},"z":null,"free":9,"none":null}'
    )


def test_a_replacement_stands_in_place_of_texts_and_numbers() -> None:
    chain = one("MaskField$Value", fields="s,n,f", replacement="77")
    assert value_after(chain, b'{"s":"x","n":5,"f":1.5}') == b'{"s":"77","n":77,"f":77.0}'


@pytest.mark.parametrize(
    ("replacement", "found"),
    [
        ("1.5", b'{"n":1,"f":1.5}'),
        ("1e3", b'{"n":1000,"f":1000.0}'),
        ("-.9", b'{"n":0,"f":-0.9}'),
        ("99999999999999999999", b'{"n":7766279631452241919,"f":1e+20}'),
    ],
)
def test_a_replacement_is_read_as_java_s_big_decimal(replacement: str, found: bytes) -> None:
    chain = one("MaskField$Value", fields="n,f", replacement=replacement)
    assert value_after(chain, b'{"n":5,"f":2.5}') == found


@pytest.mark.parametrize("replacement", ["1_0", "1f", "0x10", "1e999", "NaN"])
@pytest.mark.parametrize("value", [b'{"f":5}', b'{"f":2.5}'])
def test_a_replacement_that_is_no_decimal_is_an_error(replacement: str, value: bytes) -> None:
    with pytest.raises(TransformError, match="is no number of the field's type"):
        value_after(one("MaskField$Value", fields="f", replacement=replacement), value)


@pytest.mark.parametrize("value", [b'{"f":true}', b'{"f":[1]}', b'{"f":{}}', b'{"f":5}'])
def test_a_replacement_that_does_not_fit_is_an_error(value: bytes) -> None:
    with pytest.raises(TransformError, match="MaskField"):
        value_after(one("MaskField$Value", fields="f", replacement="***"), value)


def test_the_key_is_made_from_fields_of_the_value() -> None:
    found = one("ValueToKey", fields="b,none").apply(record(key=b"", value=b'{"a": 1, "b": "x"}'))
    assert found == record(key=b'{"b":"x","none":null}', value=b'{"a": 1, "b": "x"}')


def test_key_and_field_are_extracted_in_a_chain() -> None:
    chain = chain_of(
        {
            "transforms": "make,take",
            "transforms.make.type": "org.apache.kafka.connect.transforms.ValueToKey",
            "transforms.make.fields": "id",
            "transforms.take.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
            "transforms.take.field": "id",
        }
    )
    assert chain.apply(record(value=b'{"id":42}')) == record(key=b"42", value=b'{"id":42}')


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("a", b'{"a":{"b":1}}', b'{"b":1}'),
        ("a.b", b'{"a":{"b":1},"a.b":"dotted"}', b'"dotted"'),
        ("none", b'{"a":1}', None),
        ("a", b'{"a":null}', None),
        ("a", b"null", None),
        ("a", None, None),
    ],
)
def test_a_field_takes_the_place_of_all(
    field: str, value: bytes | None, found: bytes | None
) -> None:
    assert value_after(one("ExtractField$Value", field=field), value) == found


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b", b"1"),
        ("`a.b`.c", b"2"),
        ("a.none.x", None),
        ("a.`b`", b"1"),
        ("`x\\`.y`", b"3"),
        ("q`q", b"4"),
        ("e.", b"5"),
    ],
)
def test_a_path_leads_to_a_field_within_a_field(path: str, found: bytes | None) -> None:
    value = b'{"a":{"b":1},"a.b":{"c":2},"x`.y":3,"q`q":4,"e":{"":5}}'
    chain = one("ExtractField$Value", field=path, field_syntax_version="v2")
    assert value_after(chain, value) == found


def test_a_path_through_a_number_is_an_error() -> None:
    chain = one("ExtractField$Value", field="a.b", field_syntax_version="V2")
    with pytest.raises(TransformError, match="field b is no object, but a number"):
        value_after(chain, b'{"a":1}')


@pytest.mark.parametrize(("kind", "options"), _ALL_KINDS)
@pytest.mark.parametrize("value", [b"text", b'"text"', b"[{}]", b"\xff\xfe", b"{", b" ", b"NaN"])
def test_what_has_no_fields_is_an_error_that_names_the_transform(
    kind: str, options: dict[str, str], value: bytes
) -> None:
    with pytest.raises(TransformError, match="transform x ") as raised:
        value_after(one(kind, **options), value)
    assert raised.value.kind == f"org.apache.kafka.connect.transforms.{kind}"
    assert b"\xff" not in str(raised.value).encode()


@pytest.mark.parametrize(("kind", "options"), _ALL_KINDS)
@pytest.mark.parametrize("value", [None, b"null", b""])
def test_tombstones_and_what_is_empty_pass_where_java_lets_them_pass(
    kind: str, options: dict[str, str], value: bytes | None
) -> None:
    chain = one(kind, **options)
    if kind in _REFUSES_NULL:
        with pytest.raises(TransformError, match=r"the value is (null|empty), and has no fields"):
            value_after(chain, value)
    else:
        assert value_after(chain, value) in {value, None}


@pytest.mark.parametrize("value", [b"null", b""])
def test_what_is_not_changed_keeps_its_bytes(value: bytes) -> None:
    before = record(value=value)
    assert one("InsertField$Value", topic_field="t").apply(before) is before
