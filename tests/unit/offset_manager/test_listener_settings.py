"""How clients are to connect, as a file says."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from structlog.testing import capture_logs

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.errors import ConfigError, ConfigErrors
from mm2.offset_manager.serve import serve

SERVERS = {"bootstrap.servers": "kafka:9092"}


def test_keys_of_the_listener_are_none_of_the_clusters_clients() -> None:
    found = OffsetManagerSettings.of(
        {
            **SERVERS,
            "ssl.keystore.location": "client.p12",
            "listeners.security.protocol": "SSL",
            "listeners.ssl.keystore.location": "server.p12",
        }
    )
    assert found.tls == {"ssl.keystore.location": "server.p12"}
    assert found.properties == {**SERVERS, "ssl.keystore.location": "client.p12"}
    assert found.has_tls
    assert not found.has_login


def test_without_keys_of_its_own_the_listener_has_those_of_the_file() -> None:
    stores = {"ssl.keystore.location": "node.p12", "ssl.truststore.location": "trust.p12"}
    assert OffsetManagerSettings.of({**SERVERS, **stores}).tls == stores


def test_clients_can_log_in_only_where_the_cluster_can_check_them() -> None:
    asked = {**SERVERS, "listeners.security.protocol": "SASL_SSL"}
    with pytest.raises(ConfigErrors) as refused:
        OffsetManagerSettings.of({**asked, "security.protocol": "SSL"})
    (problem,) = refused.value.problems
    assert problem.key == "listeners.security.protocol"
    assert OffsetManagerSettings.of({**asked, "security.protocol": "SASL_SSL"}).has_login


@pytest.mark.parametrize("protocol", [None, "PLAINTEXT", "SSL"])
@pytest.mark.parametrize(
    "asked",
    [
        {"listeners.sasl.enabled.mechanisms": "PLAIN"},
        {
            "listeners.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listeners.sasl.jaas.config": "passwords",
        },
    ],
)
def test_a_listener_for_which_log_ins_are_set_is_not_open(
    asked: dict[str, str], protocol: str | None
) -> None:
    named = {} if protocol is None else {"listeners.security.protocol": protocol}
    with pytest.raises(ConfigErrors) as refused:
        OffsetManagerSettings.of({**SERVERS, **named, **asked})
    assert {each.key for each in refused.value.problems} == set(asked)
    for each in refused.value.problems:
        said = f"{each.key} has no effect: listeners.security.protocol is {protocol or 'PLAINTEXT'}"
        assert each.message.startswith(said)
        assert "Set that to SASL_SSL or SASL_PLAINTEXT" in each.message
        assert "passwords" not in str(each)


def test_a_protocol_that_nobody_knows_is_the_only_mistake_told_of_it() -> None:
    asked = {"listeners.security.protocol": "SASL", "listeners.sasl.enabled.mechanisms": "PLAIN"}
    with pytest.raises(ConfigErrors) as refused:
        OffsetManagerSettings.of({**SERVERS, **asked})
    assert [each.key for each in refused.value.problems] == ["listeners.security.protocol"]


def test_all_mistakes_are_told_together() -> None:
    with pytest.raises(ConfigErrors) as refused:
        OffsetManagerSettings.of(
            {
                **SERVERS,
                "listeners.security.protocol": "TLS",
                "listeners.ssl.client.auth": "maybe",
                "offsets.topic.num.partitions": "0",
            }
        )
    assert {each.key for each in refused.value.problems} == {
        "listeners.security.protocol",
        "listeners.ssl.client.auth",
        "offsets.topic.num.partitions",
    }


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("offsets.topic.nam", "offsets.topic.name"),
        ("offsets.retention.minute", "offsets.retention.minutes"),
        ("listeners.ssl.keystore.locaton", "listeners.ssl.keystore.location"),
        ("listeners.sasl.mechanism", "listeners.sasl.enabled.mechanisms"),
        ("listeners.security.providers.of.the.jvm", None),
    ],
)
def test_a_key_of_the_offset_manager_that_nobody_knows_is_refused(
    key: str, meant: str | None
) -> None:
    with pytest.raises(ConfigErrors) as refused:
        OffsetManagerSettings.of({**SERVERS, key: "x"}, {key: 7})
    (problem,) = refused.value.problems
    assert (problem.key, problem.line, problem.suggestion) == (key, 7, meant)


def test_another_key_that_nobody_knows_has_no_effect_and_warns() -> None:
    asked = {
        **SERVERS,
        "sesion.timeout.ms": "1",
        "request.timeout.ms": "9000",
        "max.conections": "",
    }
    found = OffsetManagerSettings.of(asked, {"sesion.timeout.ms": 4, "max.conections": 2})
    first, second = found.warnings
    assert first.startswith("line 2: max.conections is no key")
    assert first.endswith("Did you mean 'max.connections'?")
    assert second.startswith("line 4: sesion.timeout.ms is no key")
    assert second.endswith("Did you mean 'session.timeout.ms'?")


def test_what_clients_and_the_listener_can_be_set_to_brings_no_warning() -> None:
    asked = {
        "client.id": "offsets",
        "session.timeout.ms": "9000",
        "sasl.jaas.config": "x",
        "listeners.ssl.truststore.password": "x",
        "offset.metadata.max.bytes": "9",
    }
    assert OffsetManagerSettings.of({**SERVERS, **asked}).warnings == ()


async def test_warnings_are_logged_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mm2.offset_manager.serve.raise_open_files", lambda: None)
    settings = OffsetManagerSettings.of({**SERVERS, "x": "", "security.protocol": "plain"})
    at = "127.0.0.1", 1
    with capture_logs() as events, pytest.raises(ConfigError, match=r"security\.protocol"):
        await serve(settings, at, at, lambda *_: None, lambda _: nullcontext())
    assert [(each["event"], each["message"]) for each in events] == [
        ("config.spelling", *settings.warnings)
    ]
