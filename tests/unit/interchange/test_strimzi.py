"""Strimzi's resources as properties, and properties as Strimzi's resources."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.config.checks.findings import findings
from mm2.config.text.properties import parse
from mm2.errors import ConfigError
from mm2.interchange.properties_text import property_line
from mm2.interchange.strimzi_export import StrimziExport
from mm2.interchange.strimzi_import import Imported, read_strimzi
from tests.support.configs import maker_of

_NEW = """
apiVersion: kafka.strimzi.io/v1
kind: KafkaMirrorMaker2
metadata: {name: mirror}
spec:
  replicas: 2
  target:
    alias: east
    bootstrapServers: east-kafka-bootstrap:9093
    groupId: mirror
    tls: {trustedCertificates: [{secretName: east-ca, certificate: ca.crt}]}
    authentication:
      type: tls
      certificateAndKey: {secretName: east-user, certificate: user.crt, key: user.key}
    config: {config.storage.replication.factor: -1}
  mirrors:
    - source:
        alias: west
        bootstrapServers: west-kafka-bootstrap:9092
        authentication:
          type: scram-sha-512
          username: mirror
          passwordSecret: {secretName: west-user, password: pass}
      sourceConnector:
        tasksMax: 4
        config: {replication.factor: -1, sync.topic.acls.enabled: false}
      checkpointConnector:
        config: {sync.group.offsets.enabled: true}
      topicsPattern: "orders|payments-.*"
      groupsExcludePattern: "test-.*"
"""
_OLD = """
apiVersion: v1
kind: Secret
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata: {name: mirror}
spec:
  connectCluster: east
  clusters:
    - {alias: west, bootstrapServers: "west:9092", config: {consumer.client.rack: "r"}}
    - {alias: east, bootstrapServers: "east:9092"}
  mirrors:
    - sourceCluster: west
      targetCluster: east
      sourceConnector: {tasksMax: 2, state: paused, autoRestart: {enabled: true}}
      heartbeatConnector: {}
      checkpointConnector: {tasksMax: 1}
      topicsBlacklistPattern: "secret"
"""


def _validated(imported: Imported) -> list[str]:
    text = "".join(f"{property_line(*each)}\n" for each in imported.properties.items())
    return [str(each.problem) for each in findings(parse(text.encode("latin-1")))]


def test_a_resource_of_v1(tmp_path: Path) -> None:
    for secret in ("east-ca/ca.crt", "east-user/user.crt", "east-user/user.key", "west-user/pass"):
        (tmp_path / secret).parent.mkdir(exist_ok=True)
        (tmp_path / secret).write_text("x")
    imported = read_strimzi(_NEW, str(tmp_path))
    properties = imported.properties
    assert properties["clusters"] == "west, east"
    assert properties["west->east.enabled"] == "true"
    assert properties["west->east.topics"] == "orders|payments-.*"
    assert properties["west->east.groups.exclude"] == "test-.*"
    assert properties["west->east.tasks.max"] == "4"
    assert properties["west->east.sync.topic.acls.enabled"] == "false"
    assert properties["west->east.emit.heartbeats.enabled"] == "false"
    assert properties["east->west.emit.heartbeats.enabled"] == "false"
    assert properties["west.security.protocol"] == "SASL_PLAINTEXT"
    password = f"${{directory:{tmp_path}/west-user:pass}}"
    assert f'password="{password}"' in properties["west.sasl.jaas.config"]
    assert properties["east.security.protocol"] == "SSL"
    assert properties["east.ssl.keystore.key"] == f"${{directory:{tmp_path}/east-user:user.key}}"
    assert properties["east.config.storage.replication.factor"] == "-1"
    assert _validated(imported) == []


def test_a_resource_of_v1beta2() -> None:
    imported = read_strimzi(_OLD)
    properties = imported.properties
    assert properties["west->east.topics.exclude"] == "secret"
    assert properties["west->east.emit.heartbeats.enabled"] == "true"
    assert properties["west->east.emit.checkpoints.enabled"] == "true"
    notes = " ".join(imported.notes)
    assert "state: paused" in notes
    assert "autoRestart" in notes
    assert "tasks.max = 1" in notes
    assert "config.providers" not in properties
    assert _validated(imported) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "this is no YAML"),
        ("kind: Kafka", "there must be one KafkaMirrorMaker2 in the file, and there are 0"),
        (_OLD + "---" + _NEW, "there are 2"),
        (_NEW.replace("/v1", "/v9"), "apiVersion kafka.strimzi.io/v9 is not known"),
        (_OLD.replace("connectCluster: east", "connectCluster: x"), "connectCluster x is none of"),
        (_NEW.partition("  mirrors:")[0] + "  mirrors: 3", "mirrors must be a list"),
        (
            _NEW.replace("bootstrapServers: west-kafka-bootstrap:9092", "x: y"),
            "no bootstrapServers",
        ),
    ],
)
def test_what_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_strimzi(text)


def test_hostile_names_stay_in_their_line(tmp_path: Path) -> None:
    file = tmp_path / "strimzi.yaml"
    evil = '"x\\nclusters = evil"'
    file.write_text(
        _NEW.replace("orders|payments-.*", "a\\\\.b").replace("name: mirror}", f"name: {evil}}}")
    )
    ran = CliRunner().invoke(main, ["import", "strimzi", str(file)])
    assert ran.exit_code == 0, ran.output
    read = parse(ran.stdout.encode("latin-1"))
    assert read.values["clusters"] == "west, east"
    assert read.values["west->east.topics"] == "a\\.b"


def test_a_number_of_tasks_that_follows_the_lag_has_no_place_in_a_resource() -> None:
    export = StrimziExport(maker_of({"A->B.enabled": "true", "tasks.max": "auto"}))
    (resource,) = yaml.safe_load_all(export.text())
    (mirror,) = resource["spec"]["mirrors"]
    assert mirror["sourceConnector"]["tasksMax"] == 1
    assert any("tasks.max is auto" in note for note in export.notes)


@pytest.mark.parametrize(
    ("settings", "flows"),
    [
        ({}, ["A->B", "B->A"]),
        ({"B->A.emit.heartbeats.enabled": "false"}, ["A->B"]),
        ({"emit.heartbeats.enabled": "false"}, []),
    ],
)
def test_heartbeats_that_have_no_place_in_a_resource_are_told(
    settings: dict[str, str], flows: list[str]
) -> None:
    export = StrimziExport(maker_of({"A->B.enabled": "true", **settings}))
    export.text()
    told = [note.partition(": ")[0] for note in export.notes if "heartbeat" in note]
    assert told == ([", ".join(flows)] if flows else [])


def test_a_file_becomes_a_resource_that_becomes_the_file_again() -> None:
    file = {
        "A->B.enabled": "true",
        "A->B.tasks.max": "3",
        "topics": "orders, payments",
        "A->B.groups": "readers",
        "A->B.sync.group.offsets.enabled": "true",
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "A.security.protocol": "SASL_SSL",
        "A.sasl.mechanism": "SCRAM-SHA-512",
        "A.sasl.jaas.config": 'x.ScramLoginModule required username="u" password="hunter2-x";',
    }
    export = StrimziExport(maker_of(file))
    text = export.text()
    assert "hunter2" not in text
    (resource,) = yaml.safe_load_all(text)
    (mirror,) = resource["spec"]["mirrors"]
    assert mirror["topicsPattern"] == "orders,payments"
    assert mirror["source"]["authentication"]["username"] == "u"
    assert "replication.policy.class" in mirror["checkpointConnector"]["config"]
    assert any("password" in note for note in export.notes)
    again = read_strimzi(text).properties
    assert again["A->B.tasks.max"] == "3"
    assert again["A->B.sync.group.offsets.enabled"] == "true"
    assert again["A.security.protocol"] == "SASL_SSL"
