"""
Java's login module text.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.errors import ConfigError
from mm2.kafka.security.jaas import parse_jaas

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}


def test_the_usual_text_is_read() -> None:
    module = parse_jaas(f'{_PLAIN} required username="alice" password="secret";')
    assert module.name == _PLAIN
    assert module.options == {"username": "alice", "password": "secret"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('"a;b=c"', "a;b=c"),
        ("'single'", "single"),
        ("bare", "bare"),
        (r'"a\"b\\c"', 'a"b\\c'),
        (r'"\101\n"', "A\n"),
        ('""', ""),
    ],
)
def test_values_are_quoted_or_not(value: str, expected: str) -> None:
    assert parse_jaas(f"M REQUIRED k={value};").options == {"k": expected}


def test_comments_and_line_breaks_are_blanks() -> None:
    text = "M /* a; */ required\n  // b\n  k = v ;"
    assert parse_jaas(text).options == {"k": "v"}


@given(st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"])))
def test_every_password_survives_quoting(password: str) -> None:
    quoted = "".join(_ESCAPES.get(sign, sign) for sign in password)
    assert parse_jaas(f'M required password="{quoted}";').options["password"] == password


@pytest.mark.parametrize(
    "text",
    [
        "",
        "M required",
        "M;",
        "M perhaps k=v;",
        'M required password="hidden;',
        "M required password hidden;",
        "M required password=;",
        "M required; N required;",
    ],
)
def test_other_text_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(ConfigError, match=r"sasl.jaas.config") as refused:
        parse_jaas(text)
    assert "hidden" not in str(refused.value)


def test_options_are_not_printed() -> None:
    assert "hidden" not in repr(parse_jaas("M required password=hidden;"))
