"""
Java's client properties as settings of clients, without a broker.
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from mm2.errors import ConfigError
from mm2.kafka.client_settings import (
    aiokafka_settings,
    bootstrap_servers,
    client_mistakes,
    connection_settings,
)
from mm2.kafka.security.keystores import normalised_pem
from mm2.kafka.security.tls import tls_context
from mm2.kafka.wire.node_channel import ConnectionSettings
from tests.support.certificates import PASSWORD, Certified

_BASE = {"bootstrap.servers": "h:1"}
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_numbers_and_names_reach_clients() -> None:
    properties = {
        **_BASE,
        "client.id": "A->B|c|admin",
        "request.timeout.ms": " 5000 ",
        "metadata.max.age.ms": "1000",
        "retry.backoff.ms": "7",
    }
    assert aiokafka_settings(properties) == {
        "bootstrap_servers": ["h:1"],
        "client_id": "A->B|c|admin",
        "security_protocol": "PLAINTEXT",
        "request_timeout_ms": 5000,
        "metadata_max_age_ms": 1000,
        "retry_backoff_ms": 7,
    }
    assert connection_settings(properties) == ConnectionSettings(retry_ms=7)


def test_settings_of_connections_reach_them_within_bounds() -> None:
    properties = {
        **_BASE,
        "reconnect.backoff.ms": "10",
        "reconnect.backoff.max.ms": str(2**40),
        "retry.backoff.max.ms": "0",
        "socket.connection.setup.timeout.ms": "5000",
        "send.buffer.bytes": "-1",
        "receive.buffer.bytes": "4096",
    }
    settings = connection_settings(properties)
    assert settings == ConnectionSettings(
        reconnect_ms=10,
        reconnect_most_ms=3_600_000,
        retry_most_ms=1,
        setup_ms=5_000,
        receive_buffer_bytes=4_096,
    )
    assert settings.socket_options == [(socket.SO_RCVBUF, 4_096)]


def test_a_number_that_is_none_names_its_key() -> None:
    with pytest.raises(ConfigError, match=r"retry.backoff.ms=soon") as refused:
        aiokafka_settings({**_BASE, "retry.backoff.ms": "soon"})
    assert refused.value.key == "retry.backoff.ms"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:1,b:2", ["a:1", "b:2"]),
        (" a:1 , ", ["a:1"]),
        ("PLAINTEXT://a:1", ["a:1"]),
        ("[::1]:9092", ["[::1]:9092"]),
    ],
)
def test_addresses_as_java_takes_them(text: str, expected: list[str]) -> None:
    assert bootstrap_servers({"bootstrap.servers": text}) == expected


@pytest.mark.parametrize(
    "text", ["", " , ", "host", "host:", "host:port", "a:1,b", "a:0", "a:99192", "a:9999999999"]
)
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"bootstrap.servers"):
        bootstrap_servers({"bootstrap.servers": text})


def test_the_protocol_is_read_in_any_case() -> None:
    """C010."""
    properties = {
        **_BASE,
        "security.protocol": "Sasl_Plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f"{_PLAIN} required username=u password=p;",
    }
    assert aiokafka_settings(properties)["security_protocol"] == "SASL_PLAINTEXT"
    assert aiokafka_settings(properties)["sasl_plain_username"] == "u"


def test_an_unknown_protocol_is_refused() -> None:
    """C009."""
    with pytest.raises(ConfigError, match=r"security.protocol=ABC"):
        aiokafka_settings({**_BASE, "security.protocol": "abc"})


@pytest.mark.parametrize("mechanism", ["GSSAPI", "OAUTHBEARER", None])
def test_mechanisms_that_we_lack_are_named(mechanism: str | None) -> None:
    properties = {**_BASE, "security.protocol": "SASL_SSL", "sasl.jaas.config": "M required;"}
    if mechanism:
        properties["sasl.mechanism"] = mechanism
    message = f"sasl.mechanism={mechanism}" if mechanism else "sasl.mechanism is missing.*GSSAPI"
    with pytest.raises(ConfigError, match=message):
        aiokafka_settings(properties)


@pytest.mark.parametrize("jaas", ["", "M required username=u;"])
def test_missing_credentials_are_told(jaas: str) -> None:
    properties = {
        **_BASE,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": jaas,
    }
    with pytest.raises(ConfigError, match=r"sasl.jaas.config"):
        aiokafka_settings(properties)


@pytest.mark.parametrize(
    ("mechanism", "module", "fits"),
    [
        ("PLAIN", _PLAIN, True),
        ("PLAIN", _SCRAM, True),
        ("SCRAM-SHA-256", _SCRAM, True),
        ("SCRAM-SHA-512", _PLAIN, False),
        ("PLAIN", "com.example.Login", False),
    ],
)
def test_a_login_module_must_do_the_mechanism(mechanism: str, module: str, *, fits: bool) -> None:
    """Java's client for PLAIN is the JVM's own; that for SCRAM comes with its module alone."""
    properties = {
        **_BASE,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{module} required username=u password=geheim;",
    }
    mistakes = [str(mistake) for mistake in client_mistakes(properties)]
    assert [module in mistake for mistake in mistakes] == ([] if fits else [True])
    assert "geheim" not in "".join(mistakes)


def test_all_mistakes_of_a_client_come_together() -> None:
    properties = {
        "bootstrap.servers": "kafka1, b:99192",
        "security.protocol": "SASL_SSL",
        "client.dns.lookup": "default",
        "retry.backoff.ms": "soon",
        "ssl.truststore.location": "no/such/file",
        "ssl.keystore.location": "nor/this",
        "ssl.endpoint.identification.algorithm": "http",
    }
    assert {mistake.key for mistake in client_mistakes(properties)} == {
        *properties.keys() - {"security.protocol"},
        "sasl.mechanism",
    }


def test_what_is_no_certificate_is_told() -> None:
    inline = "-----BEGIN CERTIFICATE-----AAAA-----END CERTIFICATE-----"
    properties = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": inline}
    (mistake,) = client_mistakes({**_BASE, **properties, "security.protocol": "SSL"})
    assert mistake.key == "ssl.truststore.certificates"


def test_an_empty_algorithm_switches_the_host_name_check_off() -> None:
    assert tls_context({}).check_hostname
    unchecked = {"ssl.endpoint.identification.algorithm": ""}
    context = tls_context(unchecked)
    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_enabled_protocols_bound_the_version() -> None:
    assert tls_context({"ssl.enabled.protocols": "TLSv1.3"}).minimum_version.name == "TLSv1_3"
    assert tls_context({"ssl.enabled.protocols": "TLSv1.2"}).maximum_version.name == "TLSv1_2"
    with pytest.raises(ConfigError, match=r"ssl.enabled.protocols=SSLv3"):
        tls_context({"ssl.enabled.protocols": "SSLv3"})


def test_pem_on_one_line_is_broken_into_lines() -> None:
    pem = Certified.authority("a").certificate_pem
    assert normalised_pem(pem.replace("\n", " "), "CERTIFICATE") == pem
    assert normalised_pem(pem.replace("\n", ""), "CERTIFICATE") == pem
    assert normalised_pem(pem, "PRIVATE KEY") == ""


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ({"ssl.truststore.location": "no/such/file"}, "ssl.truststore.location"),
        (
            {"ssl.truststore.type": "BKS", "ssl.truststore.location": __file__},
            "ssl.truststore.type",
        ),
        ({"ssl.truststore.certificates": "x"}, "ssl.truststore.type"),
        (
            {"ssl.truststore.certificates": "x", "ssl.truststore.type": "PEM"},
            "ssl.truststore.certificates",
        ),
        ({"ssl.truststore.certificates": "x", "ssl.truststore.location": "y"}, "ssl.truststore"),
        ({"ssl.keystore.key": "x", "ssl.keystore.type": "PEM"}, "ssl.keystore.certificate.chain"),
        ({"ssl.keystore.location": __file__, "ssl.keystore.type": "PEM"}, "ssl.keystore.location"),
    ],
)
def test_mistakes_about_stores_name_their_key(properties: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        tls_context(properties)
    assert refused.value.key == key


def test_a_wrong_store_password_is_told_without_it(tmp_path: Path) -> None:
    store = Certified.authority("a").truststore(tmp_path / "trust.p12")
    properties = {"ssl.truststore.location": str(store), "ssl.truststore.password": "not-it"}
    with pytest.raises(ConfigError, match=r"ssl.truststore.password") as refused:
        tls_context(properties)
    assert "not-it" not in str(refused.value)
    assert tls_context({**properties, "ssl.truststore.password": PASSWORD}).get_ca_certs()
