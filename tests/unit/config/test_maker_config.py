"""Flows, and the maps that Java computes (C006-C058); Java itself is asked in tests/reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mm2.config.layers import KeyIndex
from mm2.config.mirror_maker_config import MirrorMakerConfig, load_maker
from mm2.core.model import CONNECTORS, SOURCE_CONNECTOR, ClusterAlias, SourceAndTarget
from mm2.errors import ConfigErrors

_PROVIDER = {
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}


def _maker(clusters: str = "a, b", **extra: str) -> MirrorMakerConfig:
    return _of({"clusters": clusters, **extra})


def _of(values: Mapping[str, str]) -> MirrorMakerConfig:
    return MirrorMakerConfig(
        raw=values,
        lines={key: line for line, key in enumerate(values, start=1)},
        environment={"SECRET": "secret2", "YES": "true"},
    )


def _flow(source: str, target: str) -> SourceAndTarget:
    return SourceAndTarget(ClusterAlias(source), ClusterAlias(target))


def _names(maker: MirrorMakerConfig) -> set[str]:
    return {str(flow) for flow in maker.cluster_pairs()}


def test_clusters_are_distinct_and_in_their_order() -> None:
    """C006."""
    assert _maker("b , a,b").clusters == ("b", "a")


@pytest.mark.parametrize("clusters", ["a,", "a,,b", ","])
def test_an_empty_alias_is_rejected(clusters: str) -> None:
    """C006, C454."""
    with pytest.raises(ConfigErrors, match="clusters"):
        _maker(clusters)


def test_missing_clusters_are_rejected() -> None:
    """C006."""
    with pytest.raises(ConfigErrors, match='Missing required configuration "clusters"'):
        _of({})


def test_no_clusters_are_no_flows() -> None:
    """C006."""
    assert _maker("").cluster_pairs() == []


def test_all_mistakes_come_together_with_their_lines() -> None:
    """C007: security.protocol is checked at top level."""
    with pytest.raises(ConfigErrors) as caught:
        _maker(**{"security.protocol": "abc", "plugin.discovery": "x", "sasl.login.class": "y"})
    assert [(p.line, p.key) for p in caught.value.problems] == [
        (2, "security.protocol"),
        (3, "plugin.discovery"),
        (4, "sasl.login.class"),
    ]


def test_the_case_of_security_protocol_is_kept() -> None:
    """C010."""
    assert _maker(**{"security.protocol": "sasl_ssl"}).originals["security.protocol"] == "sasl_ssl"


def test_every_ordered_pair_is_a_flow_by_default() -> None:
    """C012."""
    assert _names(_maker("a, b, c")) == {"a->b", "a->c", "b->a", "b->c", "c->a", "c->b"}


def test_without_heartbeats_only_enabled_flows_exist() -> None:
    """C013, C015."""
    off = {"emit.heartbeats.enabled": "false"}
    assert _names(_maker("a, b, c", **off)) == set()
    switches = {"a->b.enabled": "true", "a->c.enabled": "TRUE", "b->a.enabled": "yes"}
    assert _names(_maker("a, b, c", **off, **switches)) == {"a->b", "a->c"}


def test_a_flow_s_heartbeats_can_be_switched_off_and_on() -> None:
    """C014, C016."""
    off = {"a->b.emit.heartbeats.enabled": "false", "a->c.emit.heartbeats.enabled": "false"}
    assert _names(_maker("a, b, c", **off)) == {"b->a", "b->c", "c->a", "c->b"}
    on = {"emit.heartbeats.enabled": "false", "c->a.emit.heartbeats.enabled": "true"}
    assert _names(_maker("a, b, c", **on)) == {"c->a"}


def test_switches_may_be_expressions() -> None:
    """C019."""
    settings = {"emit.heartbeats.enabled": "false", "a->b.enabled": "${env:YES}", **_PROVIDER}
    assert _names(_maker(**settings)) == {"a->b"}


def test_a_cluster_hands_its_client_names_down() -> None:
    """C021-C025."""
    props = _maker(
        **{
            "ssl.key.password": "top",
            "a.security.protocol": "SSL",
            "a.producer.security.protocol": "SASL_SSL",
            "a.xxx": "1",
            "a.": "no",
            "producer.acks": "no",
            "a->b.topics": "no",
            "security.protocol": "PLAINTEXT",
        }
    ).cluster_props("a")
    assert props == {
        "security.protocol": "SSL",
        "producer.security.protocol": "SASL_SSL",
        "consumer.security.protocol": "SSL",
        "admin.security.protocol": "SSL",
        "xxx": "1",
        "ssl.key.password": "top",
        "producer.ssl.key.password": "top",
        "consumer.ssl.key.password": "top",
        "admin.ssl.key.password": "top",
    }


def test_a_client_s_configuration_is_resolved_and_needs_servers() -> None:
    """C026, C031, C455."""
    maker = _maker(
        **{"a.bootstrap.servers": "h:1", "a.ssl.key.password": "${env:SECRET}", **_PROVIDER}
    )
    assert maker.client_config("a")["ssl.key.password"] == "secret2"
    with pytest.raises(ConfigErrors, match=r"cluster b: .*bootstrap\.servers"):
        maker.client_config("b")


def test_a_worker_has_its_target_s_keys_and_top_level_storage() -> None:
    """C035-C043."""
    worker = _maker(
        **{
            "offset.storage.replication.factor": "123",
            "b.offset.storage.replication.factor": "7",
            "b.status.storage.replication.factor": "456",
            "b.producer.client.id": "mine",
            "a.group.id": "not b's",
            "a->b.group.id": "not the worker's",
            "replication.policy.separator": "__",
            "ssl.key.password": "${env:SECRET}",
            **_PROVIDER,
        }
    ).worker_config(_flow("a", "b"))
    assert worker["offset.storage.replication.factor"] == "123"
    assert worker["status.storage.replication.factor"] == "456"
    assert worker["producer.client.id"] == "mine"
    assert worker["client.id"] == "a->b"
    assert worker["group.id"] == "a-mm2"
    assert worker["offset.storage.topic"] == "mm2-offsets.a.internal"
    assert worker["status.storage.topic"] == "mm2-status.a.internal"
    assert worker["config.storage.topic"] == "mm2-configs.a.internal"
    assert worker["replication.policy.separator"] == "__"
    assert worker["ssl.key.password"] == worker["producer.ssl.key.password"] == "secret2"
    assert worker["config.providers"] == "env"
    for name in ("key", "value", "header"):
        assert worker[f"{name}.converter"].endswith(".ByteArrayConverter")


def test_a_connector_knows_both_clusters_and_its_flow_wins() -> None:
    """C044-C053, C056."""
    maker = _maker(
        **{
            "a.bootstrap.servers": "a:1",
            "b.bootstrap.servers": "b:1",
            "a.consumerfoo": "1",
            "a.admin.timeout.ms": "2",
            "tasks.max": "1",
            "xxx": "no",
            "producer.acks": "no",
            "use.defaults.from": "no",
            "topics": "${env:SECRET}",
            "a->b.tasks.max": "123",
            "a->b.anything": "x",
            **_PROVIDER,
        }
    )
    for connector in CONNECTORS:
        config = maker.connector_base_config(_flow("a", "b"), connector)
        assert config["name"] == connector
        assert config["connector.class"] == f"org.apache.kafka.connect.mirror.{connector}"
        assert config["source.cluster.alias"] == "a"
        assert config["target.cluster.alias"] == "b"
        assert config["source.cluster.bootstrap.servers"] == "a:1"
        assert config["target.producer.bootstrap.servers"] == "b:1"
        assert config["source.consumerfoo"] == "1"
        assert config["source.admin.timeout.ms"] == "2"
        assert config["tasks.max"] == "123"
        assert config["anything"] == "x"
        assert config["topics"] == "${env:SECRET}"
        assert config["enabled"] == "false"
        assert (
            not {"xxx", "producer.acks", "use.defaults.from", "bootstrap.servers"} & config.keys()
        )


def test_enabled_at_top_level_enables_every_flow() -> None:
    """C050."""
    config = _maker(enabled="true").connector_base_config(_flow("a", "b"), SOURCE_CONNECTOR)
    assert config["enabled"] == "true"


def test_a_failing_provider_rejects_the_file() -> None:
    with pytest.raises(ConfigErrors, match=r"line 2: topics: Path is not supported"):
        _maker(topics="${env:/x:Y}", **_PROVIDER)


def test_a_provider_that_only_the_worker_sees_fails_there() -> None:
    """C062: after a comma and a blank, the automatic providers do not see it."""
    maker = _maker(**{"config.providers": "x, v", "config.providers.v.class": "Vault"})
    with pytest.raises(ConfigErrors, match="Vault"):
        maker.worker_config(_flow("a", "b"))


def test_a_file_is_loaded_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "mm2.properties"
    path.write_text("clusters = a, b\n", encoding="utf-8")
    assert load_maker(path).clusters == ("a", "b")
    with pytest.raises(ConfigErrors, match="cannot read"):
        load_maker(tmp_path / "none")


def test_keys_are_found_by_what_they_begin_with_in_the_order_of_the_file() -> None:
    raw = {"A->B.topics": "x", "A.b": "1", "A->B.": "odd", "A->B.enabled": "true", "A->Bc.x": "2"}

    index = KeyIndex(raw)

    assert index.keys_with_prefix("A->B.") == ["A->B.topics", "A->B.", "A->B.enabled"]
    assert list(index.below("A->B.", "flow")) == ["topics", "enabled"]
    assert index.keys_with_prefix("") == list(raw)
    assert index.keys_with_prefix("B") == []
