"""How clients are to connect, as a file says."""

from __future__ import annotations

import pytest

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.errors import ConfigErrors

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
