"""How the text of a key is read (C011, C018, C454)."""

from __future__ import annotations

import math

import pytest

from mm2.config.keys.key_table import TABLE, nearest
from mm2.config.keys.key_types import Value, lenient_boolean, split_list
from mm2.core.lists import parse_list
from mm2.errors import ConfigError


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("enabled", " TRUE ", True),
        ("enabled", "False", False),
        ("tasks.max", " +7 ", 7),
        ("offset.lag.max", "-9223372036854775808", -(2**63)),
        ("sasl.kerberos.ticket.renew.jitter", "1e-3d", 0.001),
        ("sasl.kerberos.ticket.renew.jitter", "-Infinity", -math.inf),
        ("sasl.kerberos.ticket.renew.jitter", "0x1.8p1", 3.0),
        ("topics", "a, b ,a", ("a", "b")),
        ("topics", "  ", ()),
        ("metric.names.formats", "new, legacy", ("new", "legacy")),
        ("security.protocol", " sasl_ssl ", "sasl_ssl"),
        ("replication.policy.class", "mine.policies:Mine", "mine.policies:Mine"),
        (
            "sasl.login.class",
            "org.apache.kafka.common.security.authenticator.DefaultLogin",
            "org.apache.kafka.common.security.authenticator.DefaultLogin",
        ),
        ("sasl.login.refresh.window.factor", "1", 1.0),
        ("response.http.headers.config", 'set A: b, "add C:d,e" x, add E:f:', None),
        ("response.http.headers.config", "", ""),
        ("listeners", "http://a:1", ("http://a:1",)),
    ],
)
def test_text_is_read_as_by_java(key: str, text: str, value: Value) -> None:
    """C011, C010, C454, C462."""
    assert TABLE[key].parse(text) == (text if value is None else value)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("enabled", "yes"),
        ("tasks.max", "1.0"),
        ("tasks.max", "0"),
        ("tasks.max", "automatic"),
        ("tasks.max", "2147483648"),
        ("offset-syncs.topic.replication.factor", "32768"),
        ("sasl.kerberos.ticket.renew.jitter", "much"),
        ("sasl.login.refresh.window.factor", "0.4"),
        ("sasl.login.refresh.window.factor", "1.01"),
        ("topics", "a,,b"),
        ("bootstrap.servers", ""),
        ("metric.names.formats", ""),
        ("metric.names.formats", "LEGACY"),
        ("security.protocol", "abc"),
        ("offset-syncs.topic.location", "something"),
        ("sasl.login.class", "com.example.Mine"),
        ("offset.storage.partitions", "0"),
        ("listeners", ""),
        ("response.http.headers.config", "set A"),
        ("response.http.headers.config", "put A:b"),
        ("response.http.headers.config", ", set A:b"),
    ],
)
def test_wrong_text_is_an_error_that_names_the_key(key: str, text: str) -> None:
    """C007, C011, C101, C454, C462."""
    with pytest.raises(ConfigError, match=f"configuration '{key}'") as caught:
        TABLE[key].parse(text)
    assert caught.value.key == key
    assert caught.value.value == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("TRUE", True), ("true ", False), ("yes", False), (None, False)],
)
def test_switches_of_flows_are_read_leniently(text: str | None, *, value: bool) -> None:
    """C018."""
    assert lenient_boolean(text) is value


def test_passwords_are_hidden_in_errors() -> None:
    key = TABLE["ssl.key.password"]
    failing = type(key)(
        name=key.name,
        type=key.type,
        default=None,
        importance="HIGH",
        doc="",
        definitions=key.definitions,
        check=lambda _: "never good",
    )
    with pytest.raises(ConfigError) as caught:
        failing.parse("geheim")
    assert "geheim" not in str(caught.value)
    assert caught.value.value == "[hidden]"


def test_every_default_can_be_read() -> None:
    for key in TABLE.values():
        value = key.default_value
        assert (value is None) == (key.default is None)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("topic", "topics"),
        ("refresh.topic.interval.seconds", "refresh.topics.interval.seconds"),
        ("Tasks.Max", "tasks.max"),
        ("completely.else", None),
    ],
)
def test_the_nearest_key_is_found(written: str, meant: str | None) -> None:
    assert nearest(written, TABLE) == meant


def test_the_longest_lists_are_read_in_one_pass() -> None:
    """If it took longer than their length, this would not end."""
    text = f"a{' ' * 600_000}b"
    assert split_list(text) == parse_list("topics", text) == (text,)


@pytest.mark.parametrize("text", ["1" * 600_000 + "x", "0x" + "1" * 600_000 + "z"])
def test_the_longest_numbers_are_refused_in_one_pass(text: str) -> None:
    for key in ("sasl.login.refresh.window.factor", "tasks.max"):
        with pytest.raises(ConfigError):
            TABLE[key].parse(text)
