"""Headers are added, dropped, and made from fields."""

from __future__ import annotations

import pytest

from mm2.errors import TransformError
from tests.support.transform_chains import one, record

_HEADERS = (("a", b"1"), ("b", None), ("a", b"2"))


def test_a_header_is_added_behind_those_that_are_there() -> None:
    chain = one("InsertHeader", header="a", value_literal="new")
    found = chain.apply(record(headers=_HEADERS))
    assert found == record(headers=(*_HEADERS, ("a", b"new")))


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("text", b"text"),
        ("gr\u00fcn", "gr\u00fcn".encode()),
        ("", b""),
        ("null", None),
        ("true", b"true"),
        ("007", b"7"),
        ("+5", b"5"),
        ("-0", b"0"),
        ("1.0", b"1"),
        ("1e3", b"1000"),
        ("1.10", b"1.1"),
        ("3.14159265358979", b"3.1415927"),
        ("0.00001", b"1.0E-5"),
        ("12345678.5", b"1.2345678E7"),
        ("99999999999999999999", b"99999999999999999999"),
        ("1e50", b"1.0E50"),
        ("1e309", b"1E+309"),
        ("-1.50e400", b"-1.50E+400"),
        ("1e-401", b"0.0"),
        ("0e401", b"0"),
        ("1e9999999999", b"1e9999999999"),
        ("12 apples", b"12 apples"),
        ("10:30", b"10:30"),
        ("[1, 2]", b"[1, 2]"),
    ],
)
def test_a_literal_is_written_as_java_writes_its_type(literal: str, value: bytes | None) -> None:
    found = one("InsertHeader", header="h", value_literal=literal).apply(record())
    assert found is not None
    assert found.headers == (("h", value),)


def test_all_headers_of_a_name_are_dropped_and_the_rest_keeps_its_order() -> None:
    chain = one("DropHeaders", headers="a,z")
    assert chain.apply(record(headers=_HEADERS)) == record(headers=(("b", None),))


def test_a_record_without_such_headers_passes_as_it_is() -> None:
    before = record(headers=_HEADERS)
    assert one("DropHeaders", headers="z").apply(before) is before


def test_fields_are_copied_to_headers_in_the_order_of_both_lists() -> None:
    chain = one("HeaderFrom$Value", fields="n,s,none,o", headers="N,S,X,O", operation="copy")
    before = record(value=b'{"s": "x", "n": 1.50, "o": {"k": [1, null]}}', headers=_HEADERS)
    found = chain.apply(before)
    assert found is not None
    added = (("N", b"1.5"), ("S", b"x"), ("X", None), ("O", b'{"k":[1,null]}'))
    assert found.headers == (*_HEADERS, *added)
    assert found.value is before.value, "what is copied stays byte by byte"


def test_a_header_may_have_several_fields_and_a_field_several_headers() -> None:
    chain = one("HeaderFrom$Value", fields="a,b,a", headers="h,h,i", operation="move")
    found = chain.apply(record(value=b'{"a":1,"b":2}'))
    assert found == record(value=b"{}", headers=(("h", b"1"), ("h", b"2"), ("i", b"1")))


def test_fields_are_moved_to_headers() -> None:
    chain = one("HeaderFrom$Key", fields="s", headers="S", operation="move")
    found = chain.apply(record(key=b'{"s": true, "n": 1}'))
    assert found == record(key=b'{"n":1}', headers=(("S", b"true"),))


@pytest.mark.parametrize("value", [None, b"null", b"[1]", b"\xff", b"{", b""])
def test_headers_from_what_has_no_fields_are_an_error(value: bytes | None) -> None:
    chain = one("HeaderFrom$Value", fields="s", headers="S", operation="copy")
    with pytest.raises(TransformError, match=r"transform x \(.*HeaderFrom\$Value\): the value is"):
        chain.apply(record(value=value))
