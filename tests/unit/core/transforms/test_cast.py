"""Values are cast as Java casts them."""

from __future__ import annotations

import pytest

from mm2.core.transforms.cast import CAST_TYPES, cast_to
from mm2.core.transforms.java_numbers import double_text
from mm2.core.transforms.record_draft import Json
from mm2.errors import TransformError
from tests.support.transform_chains import one, value_after


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("int8", 300, 44),
        ("int8", -129, 127),
        ("int8", 1e10, -1),
        ("int16", 40000, -25536),
        ("int32", 1e10, 2147483647),
        ("int32", -1.9, -1),
        ("int64", 1e30, 9223372036854775807),
        ("int64", 12345678901, 12345678901),
        ("int64", True, 1),
        ("int64", "+12", 12),
        ("float32", 1.1, 1.1),
        ("float32", 3.14159265358979, 3.1415927),
        ("float64", " 1.5 ", 1.5),
        ("float64", "2d", 2.0),
        ("float64", False, 0.0),
        ("boolean", 0.9, False),
        ("boolean", 2, True),
        ("boolean", "TRUE", True),
        ("boolean", "yes", False),
        ("string", True, "true"),
        ("string", 12, "12"),
        ("string", 1e10, "1.0E10"),
        ("string", 0.5, "0.5"),
        ("string", "x", "x"),
    ],
)
def test_a_value_is_cast(kind: str, value: Json, found: Json) -> None:
    cast = cast_to(kind, value)
    assert (cast, type(cast)) == (found, type(found))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int8", "128"),
        ("int32", "1.5"),
        ("int32", " 1"),
        ("int64", ""),
        ("float64", "x"),
        ("float64", "NaN"),
        ("float64", "1e400"),
        ("float64", 10**400),
        ("float32", "1e400"),
        ("float32", 1e39),
        ("string", [1]),
        ("boolean", {}),
    ],
)
def test_what_cannot_be_cast_is_an_error(kind: str, value: Json) -> None:
    with pytest.raises(TransformError):
        cast_to(kind, value)


@pytest.mark.parametrize("kind", CAST_TYPES)
def test_null_stays_null(kind: str) -> None:
    assert cast_to(kind, None) is None


def test_fields_are_cast_and_missing_ones_become_null() -> None:
    chain = one("Cast$Value", spec="a:string, b : INT8 ,none:boolean")
    assert value_after(chain, b'{"a":1,"b":"7","c":2}') == b'{"a":"1","b":7,"c":2,"none":null}'


def test_the_whole_is_cast() -> None:
    assert value_after(one("Cast$Value", spec="string"), b"12") == b'"12"'
    assert value_after(one("Cast$Value", spec="int32"), b'"12"') == b"12"
    assert value_after(one("Cast$Value", spec="int32"), None) is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (9999999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (-123456789.25, "-1.2345678925E8"),
    ],
)
def test_a_number_is_written_as_java_writes_it(number: float, text: str) -> None:
    assert double_text(number) == text
