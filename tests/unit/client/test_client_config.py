"""What ``MirrorClient`` accepts as its properties."""

from __future__ import annotations

import pytest

from mm2.client import ClientConfig, MirrorClient
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.policy import IdentityReplicationPolicy
from mm2.errors import ConfigErrors

SERVERS = {"bootstrap.servers": "h:1"}


def test_a_client_without_servers_is_refused() -> None:
    """C034, C455."""
    with pytest.raises(ConfigErrors, match="Missing required configuration"):
        MirrorClient({})
    with pytest.raises(ConfigErrors, match="must not be empty"):
        MirrorClient({"bootstrap.servers": ""})


def test_all_mistakes_are_told_at_once() -> None:
    """C008."""
    with pytest.raises(ConfigErrors) as told:
        ClientConfig.of({"security.protocol": "plaintxt", "ssl.engine.factory.class": "no.Such"})
    keys = {problem.key for problem in told.value.problems}
    assert keys == {"bootstrap.servers", "security.protocol", "ssl.engine.factory.class"}


def test_settings_of_a_kind_of_client_reach_that_kind_only() -> None:
    """C438: unlike Java's, which drops all but connection and security (C033)."""
    config = ClientConfig.of(
        {
            **SERVERS,
            "request.timeout.ms": "7",
            "consumer.client.id": "reader",
            "consumer.request.timeout.ms": "9",
            "admin.security.protocol": "SSL",
            "emit.heartbeats.enabled": "true",
        }
    )
    assert config.client("consumer") == {
        **SERVERS,
        "request.timeout.ms": "9",
        "client.id": "reader",
    }
    assert config.client("admin") == {
        **SERVERS,
        "request.timeout.ms": "7",
        "security.protocol": "SSL",
    }
    assert config.alias == "h:1"


def test_the_replication_policy_is_the_users() -> None:
    client = MirrorClient(
        {
            **SERVERS,
            "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
            "replication.policy.separator": "_",
        }
    )
    assert isinstance(client.replication_policy, IdentityReplicationPolicy)
    assert client.replication_policy.checkpoints_topic("A") == "A_checkpoints_internal"  # type: ignore[arg-type]  # as users write


def test_a_cluster_of_a_mirroring_file_is_enough() -> None:
    """C026."""
    raw = {
        "clusters": "A, B",
        "A.bootstrap.servers": "a:1",
        "B.bootstrap.servers": "b:1",
        "replication.policy.separator": "-",
        "security.protocol": "SSL",
    }
    maker = MirrorMakerConfig(raw=raw, environment={})
    config = ClientConfig.of_cluster(maker, "B")
    assert (config.alias, config.client("admin")["bootstrap.servers"]) == ("B", "b:1")
    assert config.client("admin")["security.protocol"] == "SSL"
    policy = MirrorClient.of_cluster(maker, "B").replication_policy
    assert policy.checkpoints_topic("A") == "A-checkpoints-internal"  # type: ignore[arg-type]  # as users write
