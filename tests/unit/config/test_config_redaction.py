"""Secrets are not shown (C067)."""

from __future__ import annotations

import pytest

from mm2.config.checks.findings import findings
from mm2.config.keys.key_table import TABLE
from mm2.config.keys.key_types import Type
from mm2.config.text.properties import parse
from mm2.config.text.redact import PASSWORD_KEYS, is_secret, redacted, shown


def test_every_key_that_java_types_as_password_is_secret() -> None:
    assert {key.name for key in TABLE.values() if key.type is Type.PASSWORD} == PASSWORD_KEYS


@pytest.mark.parametrize(
    "key",
    [
        "A.sasl.jaas.config",
        "A->B.source.consumer.ssl.key.password",
        "config.providers.vault.param.token",
        "config.providers.vault.param.client-secret",
        "spark.ssl.keyPassword",
        "basic.auth.credentials",
        "A.some.api.key",
        "listener.name.x.scram.jaas.config",
    ],
)
def test_secrets_are_known_by_name_under_any_prefix(key: str) -> None:
    assert is_secret(key)
    assert shown(key, "geheim") == "[hidden]"


@pytest.mark.parametrize(
    "key",
    [
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.client.credentials.client.id",
        "topics",
        "ssl.keystore.location",
        "config.providers.env.param.allowlist.pattern",
        "key.converter",
        "A->B.tasks.max",
    ],
)
def test_other_values_are_shown(key: str) -> None:
    assert shown(key, "value") == "value"


def test_an_expression_is_no_secret() -> None:
    assert shown("ssl.key.password", "${env:PASSWORD}") == "${env:PASSWORD}"
    assert shown("ssl.key.password", "x${env:PASSWORD}") == "[hidden]"


def test_passwords_in_addresses_are_hidden() -> None:
    assert shown("proxy", "http://me:geheim@host:1/x") == "http://me:[hidden]@host:1/x"


def test_a_whole_map_is_redacted() -> None:
    assert redacted({"a": "1", "B.ssl.key.password": "2"}) == {
        "a": "1",
        "B.ssl.key.password": "[hidden]",
    }


def test_the_longest_names_are_judged_in_one_pass() -> None:
    for name in ("_" * 500_000, "a." * 250_000, "password" * 60_000):
        assert not is_secret(f"{name}x")
    assert shown("ssl.key.password", "${" + ":" * 500_000) == "[hidden]"


@pytest.mark.parametrize(
    "line",
    [
        'A -> B.source.consumer.sasl.jaas.config = password="geheim"',
        "A ->B.sasl.jaas.config: geheim",
        "A -> B.ssl.key.password geheim",
        "metrics.otlp.endpoint = https://me:geheim@host # a comment",
        "metrics.otlp.endpoint = grpc://me:geheim@host",
    ],
)
def test_slips_of_typing_are_told_without_secrets(line: str) -> None:
    """A blank ends a key, so that the rest of it stands in the value of another."""
    text = f"clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\n{line}\n"
    found = [str(each.problem) for each in findings(parse(text.encode()))]
    assert any("[hidden]" in each for each in found)
    assert "geheim" not in "".join(found)
