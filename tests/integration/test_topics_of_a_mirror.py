"""The topics that a mirror makes on both sides, and keeps as they should be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewPartitions

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way, properties
from tests.support.records import Sample, consume, create_topic, numbered, produce
from tests.support.topics import partition_counts, settings_of

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_internal_topics_have_javas_names_partitions_and_policies(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source, target = f"S-{unique[-4:]}", f"T-{unique[-4:]}"
    text = properties(
        {source: cluster_a.bootstrap, target: cluster_b.bootstrap},
        {
            f"{source}->{target}.enabled": "true",
            "topics": unique,
            "offset.storage.partitions": "7",
            "emit.heartbeats.enabled": "true",
            "checkpoints.topic.retention.ms": "86400001",
            "offset.syncs.topic.retention.ms": "86400002",
        },
    )
    expected = {
        "heartbeats": 1,
        f"{source}.checkpoints.internal": 1,
        f"mm2-configs.{source}.internal": 1,
        f"mm2-offsets.{source}.internal": 7,
        f"mm2-status.{source}.internal": 5,
    }
    with Mirror(tmp_path, text):
        eventually(lambda: expected.items() <= partition_counts(cluster_b).items())
        syncs = f"mm2-offset-syncs.{target}.internal"
        eventually(lambda: partition_counts(cluster_a).get(syncs) == 1)
        for topic in expected:
            assert "compact" in settings_of(cluster_b, topic)["cleanup.policy"].split(",")
        assert "compact" in settings_of(cluster_a, syncs)["cleanup.policy"].split(",")
        checkpoints = settings_of(cluster_b, f"{source}.checkpoints.internal")
        assert checkpoints["retention.ms"] == "86400001"
        assert settings_of(cluster_a, syncs)["retention.ms"] == "86400002"


def test_new_topics_and_partitions_are_picked_up_while_it_runs(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, f"{unique}-1", 1)
    text = one_way(cluster_a, cluster_b, f"{unique}.*")
    with Mirror(tmp_path, text):
        produce(cluster_a.bootstrap, f"{unique}-1", numbered(0, 1))
        consume(cluster_b.bootstrap, f"A.{unique}-1", 1)
        create_topic(cluster_a.bootstrap, f"{unique}-2", 2)
        produce(cluster_a.bootstrap, f"{unique}-2", numbered(0, 2, 2))
        consume(cluster_b.bootstrap, f"A.{unique}-2", 2)
        admin = AdminClient({"bootstrap.servers": cluster_a.bootstrap})
        admin.create_partitions([NewPartitions(f"{unique}-1", 3)])[f"{unique}-1"].result(60)
        eventually(lambda: partition_counts(cluster_b).get(f"A.{unique}-1") == 3)
        produce(cluster_a.bootstrap, f"{unique}-1", [Sample(value=b"new", partition=2)])
        copied = consume(cluster_b.bootstrap, f"A.{unique}-1", 2)
        assert Counter(sample.partition for sample in copied) == {0: 1, 2: 1}


def test_settings_and_acls_of_topics_are_followed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """C175, C180, C186-C189, C397, C399, C412."""
    create_topic(cluster_a.bootstrap, unique, 1, {"retention.bytes": "1000"})
    remote = f"A.{unique}"
    for operation in (AclOperation.ALL, AclOperation.WRITE, AclOperation.DESCRIBE):
        _allow(cluster_a, unique, operation)
    text = one_way(
        cluster_a,
        cluster_b,
        unique,
        {
            "sync.topic.acls.enabled": "true",
            "sync.topic.acls.interval.seconds": "1",
        },
    )
    with Mirror(tmp_path, text):
        eventually(lambda: remote in partition_counts(cluster_b))
        assert settings_of(cluster_b, remote)["retention.bytes"] == "1000"
        allowed = eventually(lambda: _allowed(cluster_b, remote), until=lambda a: len(a) == 2)
        assert allowed == {"READ", "DESCRIBE"}
        _alter(cluster_a, unique, "retention.bytes", "2000")
        eventually(lambda: settings_of(cluster_b, remote)["retention.bytes"] == "2000")
        _alter(cluster_a, unique, "retention.bytes", None)
        eventually(lambda: settings_of(cluster_b, remote)["retention.bytes"] == "-1")


def _alter(cluster: Cluster, topic: str, name: str, value: str | None) -> None:
    kind = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(name, value or "", incremental_operation=kind)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (future,) = admin.incremental_alter_configs([resource]).values()
    future.result(60)


def _acl(topic: str, operation: AclOperation) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:dummy",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )


def _allow(cluster: Cluster, topic: str, operation: AclOperation) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    (future,) = admin.create_acls([_acl(topic, operation)]).values()
    future.result(60)


def _allowed(cluster: Cluster, topic: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    wanted = AclBindingFilter(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:dummy",
        "*",
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    return {binding.operation.name for binding in admin.describe_acls(wanted).result(60)}
