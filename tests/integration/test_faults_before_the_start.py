"""Faults that are planted in a file or its clusters are found and explained before the start."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.core.preflight.acl_commands import shell
from mm2.demo.broker_settings import free_ports
from tests.support.certificates import PASSWORD, Certified
from tests.support.cluster import KafkaCluster, running
from tests.support.eventually import eventually
from tests.support.layout import Security
from tests.support.mirror import properties
from tests.support.process import java_command
from tests.support.records import Sample, commit_group, create_topic, produce
from tests.support.secured import of_cluster
from tests.support.topics import delete_topic, partition_counts, settings_of

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_LARGE = "5000000"
_MINUTE = "60000"

Result = dict[str, Any]


@dataclass(frozen=True)
class _Bench:
    """Two clusters with topics, and files for mirrors between them."""

    source: KafkaCluster
    target: KafkaCluster
    folder: Path

    def file(self, settings: Mapping[str, str]) -> Path:
        """A file of a flow of one topic that nothing is wrong with, but for some settings."""
        flow = {"A->B.enabled": "true", "B->A.emit.heartbeats.enabled": "false"}
        clusters = {"A": self.source.bootstrap, "B": self.target.bootstrap}
        file = self.folder / "mm2.properties"
        file.write_text(properties(clusters, {**flow, "topics": "orders", **settings}))
        return file

    def failed(
        self, command: str, settings: Mapping[str, str], *words: str, status: int
    ) -> list[Result]:
        """What has failed, once the command ends with a status."""
        file = str(self.file(settings))
        ran = CliRunner().invoke(main, [command, file, *words, "--format", "json"])
        assert ran.exit_code == status, (ran.output, ran.exception)
        rows: list[Result] = json.loads(ran.stdout)
        return [row for row in rows if "error" in row.values() or "warning" in row.values()]

    def login(self, user: str) -> dict[str, str]:
        return {
            "bootstrap.servers": self.source.listeners("SASL_PLAINTEXT"),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{_SCRAM} required username="{user}" password="secret";',
        }


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Bench]:
    folder = tmp_path_factory.mktemp("faults")
    authority = Certified.authority("authority")
    security = Security(
        users={"mirror": "secret", "admin": "secret"},
        keystore=authority.issue("broker").keystore(folder / "broker.p12", authority),
        keystore_password=PASSWORD,
    )
    strict = {
        "allow.everyone.if.no.acl.found": "false",
        "super.users": "User:ANONYMOUS;User:admin",
        # What is short-lived by its settings stays for as long as these tests take.
        "log.retention.check.interval.ms": "86400000",
    }
    source = KafkaCluster("A", security=security, properties=strict)
    target = KafkaCluster("B")
    with running(source, target):
        create_topic(source.bootstrap, "orders", 2)
        create_topic(source.bootstrap, "large", configs={"max.message.bytes": _LARGE})
        create_topic(source.bootstrap, "shortlived", configs={"retention.ms": _MINUTE})
        produce(source.bootstrap, "shortlived", [Sample(value=b"x" * 1000)] * 100)
        yield _Bench(source, target, folder)


@pytest.mark.parametrize("command", ["plan", "doctor"])
def test_nothing_is_found_where_nothing_is_wrong(bench: _Bench, command: str) -> None:
    assert bench.failed(command, {}, status=0) == []


def test_a_flow_that_was_run_before_may_read_its_group(bench: _Bench) -> None:
    create_topic(bench.target.bootstrap, "elsewhere")
    commit_group(bench.target.bootstrap, "A-mm2", {("elsewhere", 0): 0})
    assert bench.failed("doctor", {}, status=0) == []


def test_a_plan_tells_all_and_changes_nothing(bench: _Bench) -> None:
    before = _known(bench)
    file = str(bench.file({"topics": "orders, large, shortlived"}))
    ran = CliRunner().invoke(main, ["plan", file, "--format", "json"])
    assert ran.exit_code == 0, ran.output
    rows = json.loads(ran.stdout)
    assert {(r["action"], r["name"]) for r in rows} >= {
        ("create-topic", "A.orders"),
        ("create-internal-topic", "mm2-control.A.internal"),
        ("create-internal-topic", "mm2-offset-syncs.B.internal"),
        ("copy", "shortlived"),
    }
    (copied,) = [r for r in rows if (r["action"], r["name"]) == ("copy", "shortlived")]
    assert copied["records"] == 100
    assert copied["bytes"] > 100_000
    (made,) = [r for r in rows if r["name"] == "A.large"]
    assert f"max.message.bytes={_LARGE}" in made["detail"]
    assert _known(bench) == before


def test_a_pattern_that_matches_nothing(bench: _Bench) -> None:
    (found,) = bench.failed("plan", {"topics": "oders.*"}, status=1)
    assert found["name"] == "topic-patterns"
    assert "oders.* matches no topic of A. Did you mean orders?" in found["detail"]
    assert "A->B.topics" in found["remedy"]


def test_a_pattern_that_is_none(bench: _Bench) -> None:
    found = bench.failed("doctor", {"topics": "orders["}, status=1)
    assert any("topics" in each["message"] and "orders[" in each["message"] for each in found)


def test_missing_permissions_are_granted_by_the_commands_that_are_shown(bench: _Bench) -> None:
    settings = of_cluster("A", bench.login("mirror"))
    found = bench.failed("doctor", settings, status=1)
    lacking = [each for each in found if each["check"] == "permissions"]
    assert any(
        "does not allow" in each["message"] and "orders" in each["message"] for each in lacking
    )
    admin = bench.login("admin")
    (bench.folder / "admin.properties").write_text("".join(f"{k}={v}\n" for k, v in admin.items()))
    for line in [line for each in lacking for line in each["remedy"].splitlines()]:
        _run_acl_command(line, bench.folder)
    eventually(
        lambda: bench.failed("doctor", settings, status=0), until=lambda failed: failed == []
    )


def test_messages_too_large_for_the_target(bench: _Bench) -> None:
    settings = {"topics": "large", "config.properties.exclude": r"max\.message\.bytes"}
    (found,) = bench.failed("plan", settings, status=1)
    assert found["name"] == "message-size"
    assert _LARGE in found["detail"]
    assert f"--entity-name A.large --add-config max.message.bytes={_LARGE}" in found["remedy"]


@pytest.mark.parametrize("both", [True, False], ids=["both", "one-side"])
def test_policies_that_copy_without_end(bench: _Bench, *, both: bool) -> None:
    policy = "replication.policy.class"
    key = policy if both else f"B->A.{policy}"
    settings = {
        key: "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "topics": ".*orders",
        "B->A.enabled": "true",
        "B->A.topics": ".*orders",
    }
    found = bench.failed("plan", settings, status=1)
    (endless,) = [each for each in found if each["name"] == "endless-copies"]
    assert "A:orders -> B:" in endless["detail"]
    assert policy in endless["remedy"]


def test_more_replicas_than_brokers(bench: _Bench) -> None:
    settings = {"replication.factor": "3", "offset.storage.replication.factor": "3"}
    found = bench.failed("plan", settings, status=1)
    assert {each["name"] for each in found} == {"replication-factor"}
    remedies = " ".join(each["remedy"] for each in found)
    assert "Set replication.factor to the number of brokers of B" in remedies
    assert "Set offset.storage.replication.factor to" in remedies


def test_a_bootstrap_server_that_is_not_there(bench: _Bench) -> None:
    (port,) = free_ports(1)
    servers = f"127.0.0.1:{port}"
    (found,) = bench.failed("doctor", {"B.bootstrap.servers": servers}, status=3)
    assert (found["check"], found["about"]) == ("connection", "B")
    assert "B.bootstrap.servers" in found["remedy"]
    assert f"kafka-broker-api-versions.sh --bootstrap-server {servers}" in found["remedy"]


def test_a_truststore_of_another_authority(bench: _Bench) -> None:
    store = Certified.authority("other").truststore(bench.folder / "other.p12")
    tls = {
        "bootstrap.servers": bench.source.listeners("SSL"),
        "security.protocol": "SSL",
        "ssl.truststore.location": str(store),
        "ssl.truststore.password": PASSWORD,
    }
    (found,) = bench.failed("doctor", of_cluster("A", tls), status=3)
    assert (found["check"], found["about"]) == ("tls", "A")
    assert "ssl.truststore.location" in found["message"]


def test_a_truststore_that_cannot_be_opened(bench: _Bench) -> None:
    tls = {"security.protocol": "SSL", "ssl.truststore.location": str(bench.folder / "none.p12")}
    found = bench.failed("doctor", of_cluster("A", tls), status=1)
    assert any("ssl.truststore.location" in each["message"] for each in found)


def test_records_that_go_before_they_are_copied(bench: _Bench) -> None:
    (found,) = bench.failed("plan", {"topics": "shortlived"}, "--rate", "10", status=1)
    assert found["name"] == "retention"
    assert "retention.ms = 60000" in found["detail"]
    assert "Raise retention.ms" in found["remedy"]


def test_a_key_that_nobody_knows(bench: _Bench) -> None:
    (found,) = bench.failed("doctor", {"A->B.topics.exlude": "x"}, status=1)
    assert found["check"] == "configuration"
    assert "A->B.topics.exlude: unknown key" in found["message"]
    assert "A->B.topics.exclude" in found["remedy"]


def test_a_topic_that_looks_like_a_copy(bench: _Bench) -> None:
    with _topic(bench.source, "B.payments"):
        (found,) = bench.failed("plan", {"topics": "orders, B.*"}, status=1)
    assert found["name"] == "seeming-copies"
    assert "B.payments on A looks like a copy from B" in found["detail"]


def test_topics_of_a_schema_registry(bench: _Bench) -> None:
    with _topic(bench.source, "_schemas"):
        (found,) = bench.failed("plan", {"topics": "orders, _s.*"}, status=1)
    assert found["name"] == "service-topics"
    assert "Schema Registry" in found["detail"]


def test_a_first_file_is_right_for_its_clusters(bench: _Bench) -> None:
    file = bench.folder / "first.properties"
    ends = ["--source", f"A={bench.source.bootstrap}", "--target", f"B={bench.target.bootstrap}"]
    ran = CliRunner().invoke(main, ["init", str(file), *ends, "--topics", "orders"])
    assert ran.exit_code == 0, ran.output
    assert "\nreplication.factor = 1\n" in file.read_text()
    examined = CliRunner().invoke(main, ["doctor", str(file)])
    assert examined.exit_code == 0, examined.output


@contextmanager
def _topic(cluster: KafkaCluster, name: str) -> Iterator[None]:
    create_topic(cluster.bootstrap, name)
    yield
    delete_topic(cluster, name)


def _known(bench: _Bench) -> object:
    counts = [partition_counts(each) for each in (bench.source, bench.target)]
    return counts, settings_of(bench.source, "orders")


def _run_acl_command(line: str, folder: Path) -> None:
    """Runs a line as a shell would take it apart."""
    split = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True
    )
    name, *words = split.stdout.rstrip("\0").split("\0")
    assert name == "kafka-acls.sh"
    assert shell(*shlex.split(line)) == line
    command = java_command("org.apache.kafka.tools.AclCommand", *words)
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
