"""The permissions in docs/how-to/run.md are those that a mirror needs, and they suffice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from mm2.core.topics.acls import AclOperation as AclRight
from tests.support.cluster import KafkaCluster
from tests.support.eventually import eventually
from tests.support.groups import group_offsets
from tests.support.layout import Security
from tests.support.mirror import ROOT, Mirror, properties
from tests.support.records import Sample, commit_group, consume, create_topic, produce
from tests.support.secured import of_cluster
from tests.support.taskless import alices_rule
from tests.support.topics import allow, topic_acls

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_EXACTLY_ONCE = "exactly.once.source.support"
_OPERATIONS = {
    "Alter": AclOperation.ALTER,
    "AlterConfigs": AclOperation.ALTER_CONFIGS,
    "Create": AclOperation.CREATE,
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
    "Read": AclOperation.READ,
    "Write": AclOperation.WRITE,
}
_GROUP = "readers"
_TOPIC = "orders"


def _documented() -> Iterator[tuple[str, str, list[str], str]]:
    """The rows of the page: cluster, resources, operations, and what they are needed for."""
    page = (ROOT / "docs" / "how-to" / "run.md").read_text()
    section = page.partition("## Permissions")[2].partition("\n## ")[0]
    for line in section.splitlines():
        if line.startswith(("| source |", "| target |")):
            cluster, resources, operations = (cell.strip() for cell in line.strip("|").split("|"))
            words, _, purpose = operations.partition("(")
            yield cluster, resources, [word.strip() for word in words.split(",")], purpose


def _resources(words: str) -> Iterator[tuple[ResourceType, str, ResourcePatternType]]:
    """The resources that a cell of the page names, for the flow A->B of this test."""
    kinds = {
        "mirrored topics": (ResourceType.TOPIC, [_TOPIC]),
        "remote topics": (ResourceType.TOPIC, ["A.*"]),
        "consumer groups": (ResourceType.GROUP, [_GROUP]),
        "transactional ids": (ResourceType.TRANSACTIONAL_ID, []),
        "topics": (ResourceType.TOPIC, []),
        "group": (ResourceType.GROUP, []),
        "cluster": (ResourceType.BROKER, ["kafka-cluster"]),
    }
    kind, implied = kinds["topics"]
    for part in re.split(r" and |, ", words):
        names = re.findall(r"`([^`]+)`", part)
        if label := re.sub(r"`[^`]+`", "", part).strip():
            kind, implied = kinds[label]
        for name in names or implied:
            yield kind, *_pattern(name.replace("<source>", "A").replace("<target>", "B"))


def _pattern(name: str) -> tuple[str, ResourcePatternType]:
    if name.endswith("*"):
        return name.removesuffix("*"), ResourcePatternType.PREFIXED
    return name, ResourcePatternType.LITERAL


def _grant(cluster: KafkaCluster, side: str, *, exactly_once: bool) -> None:
    """Grants what the page has for one side, and waits until brokers know it."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    rules = {
        AclBinding(*resource, _principal(cluster), "*", _OPERATIONS[word], AclPermissionType.ALLOW)
        for where, words, operations, purpose in _documented()
        if where == side and (_EXACTLY_ONCE in purpose) is exactly_once
        for resource in _resources(words)
        for word in operations
    }
    assert rules
    for granted in admin.create_acls(list(rules)).values():
        granted.result(60)
    every = AclBindingFilter(
        ResourceType.ANY,
        None,  # type: ignore[arg-type]  # any, says the client's documentation
        ResourcePatternType.ANY,
        _principal(cluster),
        None,  # type: ignore[arg-type]  # any, says the client's documentation
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    eventually(
        lambda: admin.describe_acls(every).result(60),
        until=lambda known: rules <= set(known),
    )


def _principal(cluster: KafkaCluster) -> str:
    """Another one in each cluster: what the source allows must not be copied to the same user."""
    return f"User:mirror-{cluster.name}"


def _client(cluster: KafkaCluster) -> dict[str, str]:
    user = f"mirror-{cluster.name}"
    return {
        "bootstrap.servers": cluster.listeners("SASL_PLAINTEXT"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{_SCRAM} required username="{user}" password="secret";',
    }


def test_the_documented_permissions_suffice(tmp_path: Path) -> None:
    security = Security(users={"mirror-A": "secret", "mirror-B": "secret"})
    strict = {"allow.everyone.if.no.acl.found": "false"}
    with (
        KafkaCluster("A", security=security, properties=strict) as source,
        KafkaCluster("B", security=security, properties=strict) as target,
    ):
        for topic in (_TOPIC, "heartbeats"):
            create_topic(source.bootstrap, topic)
        allow(source, alices_rule(_TOPIC, AclRight.READ))
        _grant(source, "source", exactly_once=False)
        _grant(target, "target", exactly_once=False)
        settings = {
            "A->B.enabled": "true",
            "B->A.emit.heartbeats.enabled": "false",
            "topics": _TOPIC,
            "groups": _GROUP,
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
            "sync.topic.acls.enabled": "true",
            "sync.topic.acls.interval.seconds": "1",
            **of_cluster("A", _client(source)),
            **of_cluster("B", _client(target)),
        }
        _mirrors(tmp_path, source, target, settings, upto=1)
        _grant(target, "target", exactly_once=True)
        settings["B.exactly.once.source.support"] = "enabled"
        _mirrors(tmp_path, source, target, settings, upto=2)


def _mirrors(
    folder: Path,
    source: KafkaCluster,
    target: KafkaCluster,
    settings: dict[str, str],
    *,
    upto: int,
) -> None:
    """Runs a mirror until it has done all that it does, and nothing was refused."""
    clusters = {"A": source.bootstrap, "B": target.bootstrap}
    with Mirror(folder, properties(clusters, settings)) as mirror:
        for topic in (_TOPIC, "heartbeats"):
            produce(source.bootstrap, topic, [Sample(value=b"x")])
            assert len(consume(target.bootstrap, f"A.{topic}", upto)) == upto
        commit_group(source.bootstrap, _GROUP, {(_TOPIC, 0): upto})
        eventually(
            lambda: group_offsets(target.bootstrap, _GROUP),
            until=lambda offsets: offsets == {(f"A.{_TOPIC}", 0): upto},
        )
        eventually(lambda: alices_rule(f"A.{_TOPIC}", AclRight.READ) in topic_acls(target))
        assert mirror.stop() == 0
        refused = [line for line in mirror.text().splitlines() if "uthoriz" in line]
        assert refused == []
