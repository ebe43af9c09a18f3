"""What ``mm2 config validate`` finds in a file, down to what the run could never make."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mm2.config.checks.findings import Severity
from mm2.config.text.properties import parse
from mm2.connect.worker_config import WorkerConfig
from mm2.driver.file_validation import validate, worker_mistakes
from tests.support.certificates import PASSWORD, Certified
from tests.support.configs import TWO_CLUSTERS_TEXT

_BASE = f"{TWO_CLUSTERS_TEXT}A->B.enabled = true\n"
_SSL = f"{_BASE}B.security.protocol = SSL\n"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_ENV = (
    "config.providers = env\nconfig.providers.env.class ="
    " org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
)
_FILES = _ENV.replace("env", "file").replace("EnvVar", "File")
_IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


def _found(text: str) -> list[tuple[Severity, str]]:
    return [(each.severity, str(each.problem)) for each in validate(parse(text.encode()))]


def _sasl(mechanism: str, jaas: str) -> str:
    return (
        f"A.security.protocol = SASL_PLAINTEXT\nA.sasl.mechanism = {mechanism}\n"
        f"A.sasl.jaas.config = {jaas}\n"
    )


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (f"{_BASE}A.security.protocol = SASL_SSL", 5, "A.sasl.mechanism is missing"),
        (_BASE + _sasl("PLAIN", f'{_PLAIN} required username="u" password="geheim"'), 7, "semicol"),
        (
            _BASE + _sasl("SCRAM-SHA-512", f"{_PLAIN} required username=u password=geheim;"),
            7,
            f"A.sasl.jaas.config names the login module {_PLAIN}.*write {_SCRAM}",
        ),
        (
            f"{_BASE}A.security.protocol = SSL\nA.ssl.truststore.location = /no/such.jks",
            6,
            "A.ssl.truststore.location=/no/such.jks cannot be read",
        ),
        (
            f"{_SSL}B.ssl.keystore.type = JKSS\nB.ssl.keystore.location = {os.devnull}",
            6,
            "B.ssl.keystore.type=JKSS",
        ),
        (_BASE.replace("a:1", "kafka1"), 2, "A.bootstrap.servers: kafka1 is not host:port"),
        (_BASE.replace("b:1", "b:99192"), 3, "B.bootstrap.servers: the port of b:99192"),
        (
            f"{_BASE}security.protocol = SSL\nssl.endpoint.identification.algorithm = http",
            6,
            "ssl.endpoint.identification.algorithm=http",
        ),
        (f"{_BASE}A.admin.client.dns.lookup = default", 5, "A.admin.client.dns.lookup=default"),
        (f"{_BASE}A->B.source.consumer.retry.backoff.ms = x", 5, r"A->B.source.consumer.retry"),
        (f"{_BASE}replication.factor = 0", 5, "replication.factor = 0: must be at least 1"),
        (f"{_BASE}A->B.offset-syncs.topic.replication.factor = -2", 5, "A->B.offset-syncs.topic"),
        (f"{_BASE}A->B.consumer.poll.timeout.ms = -1", 5, "must not be negative"),
        (f"{_BASE}refresh.topics.interval.seconds = 0", 5, "must not be 0"),
        (f"{_BASE}{_ENV}A.ssl.key.password = ${{env:NOPE_}}", 7, r"\${env:NOPE_}"),
        (f"{_BASE}{_FILES}A.ssl.key.password = ${{file:/no/such:x}}", 7, "/no/such"),
        (f"{_BASE}rest.basic.auth.file = /no/such", 5, "/no/such cannot be used"),
        (f"{_BASE}listeners = http://h", 5, "is not protocol://host:port"),
        (f"{_BASE}topic.filter.class = nope:X", 5, "topic.filter.class: it cannot be imported"),
        (f"{_BASE}message.handler = no:Such", 5, "for message.handler: no:Such cannot be loaded"),
        (f"{_BASE}A->B.message.handler = os:sep", 5, "os:sep is neither a class nor a function"),
        (f"{_BASE}message.handler = json:JSONEncoder", 5, "JSONEncoder has no method handle"),
        (f"{_BASE}arrow.function = json:JSONEncoder", 5, "'handle'"),
        (f"{_BASE}A->B.replication.policy.class = Nope", 5, "for A->B.replication.policy.class"),
        (f"{_BASE}A->B.tasks.max = many", 5, "configuration 'A->B.tasks.max'"),
        (f"{_BASE}B.exactly.once.source.support = no", 5, "'B.exactly.once.source.support'"),
        (f"{_BASE}spark.master = locl[2]", 5, r"spark.master=locl\[2\] .*write local\[2\]"),
        (f"{_BASE}spark.master = local[0]", 5, r"spark.master=local\[0\]"),
        (f"{_BASE}spark.master = mesos://host:5050", 5, "spark.master=mesos://host:5050"),
        (f"{_BASE}spark.driver.memory = 1gigs", 5, "spark.driver.memory=1gigs .*as in 512m"),
        (f"{_BASE}spark.driver.memory = 1gb", 5, "spark.driver.memory=1gb"),
        (f"{_BASE}spark.executor.memory = 1.5g", 5, "spark.executor.memory=1.5g"),
        (f"{_BASE}topics = a.*, b[", 5, r"topics: Invalid pattern 'b\['"),
        (f"{_BASE}A->A.enabled = true", 5, "from one cluster to another, not from A to itself"),
        (_BASE.replace("A, B", "A, B  # mine"), 1, "'B  # mine' is no alias"),
    ],
)
def test_what_can_never_work_is_an_error(text: str, line: int, told: str) -> None:
    """Each is told once, with its line and the key as it is written, and no secret."""
    errors = [message for severity, message in _found(text) if severity is Severity.ERROR]
    (error,) = errors
    assert error.startswith(f"line {line}: ")
    assert re.search(told, error)
    assert "geheim" not in error


@pytest.mark.parametrize(
    "line",
    [
        "spark.master = local",
        "spark.master = local[*,3]",
        "spark.master = local-cluster[2,1,512]",
        "spark.master = spark://h:7077,i:7077",
        "spark.master = k8s://https://h:443",
        "spark.master = yarn",
        "spark.driver.memory = 2G",
        "spark.executor.memory = 512mb",
        "spark.executor.memoryOverhead = 384",
    ],
)
def test_what_spark_takes_is_no_error(line: str) -> None:
    assert _found(_BASE + line) == []


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (f"{_BASE}tasks.max = 2\ntasks.max = 3", 6, "tasks.max is given again, after line 5"),
        (_BASE.replace("b:1", "A:1,b:2"), 3, "A and B are the same cluster"),
        (
            f"{_BASE}B->A.enabled = true\nreplication.policy.class = {_IDENTITY}",
            6,
            "A->B and B->A both keep topics' names",
        ),
        (f"{_BASE}refresh.topics.interval.seconds = -5", 5, "refresh.topics.enabled = false"),
        (f"{_BASE}spark.mster = local[2]", 5, "Did you mean 'spark.master'"),
        (f"{_BASE}topics = orders  # mine", 5, "all after # is part of the value"),
        (f"{_BASE}topic = orders", 5, "without topics, all topics are mirrored"),
        (f"{_BASE}A -> B.tasks.max = 2", 5, "Did you mean 'A->B.tasks.max = 2'"),
        (f"{TWO_CLUSTERS_TEXT}A->B.enabled = false", 1, "no flow is enabled"),
        (f"\ufeffold = x\n{_BASE}", 1, "begins with a byte order mark"),
    ],
)
def test_what_java_runs_all_the_same_is_a_warning(text: str, line: int, told: str) -> None:
    ((severity, message),) = _found(text)
    assert severity is Severity.WARNING
    assert message.startswith(f"line {line}: ")
    assert told in message


def test_a_store_with_another_password_is_an_error(tmp_path: Path) -> None:
    store = Certified.authority("mm2").truststore(tmp_path / "trust.p12")
    secured = f"{_BASE}A.security.protocol = SSL\nA.ssl.truststore.location = {store}\n"
    assert _found(f"{secured}A.ssl.truststore.password = {PASSWORD}") == []
    ((severity, message),) = _found(f"{secured}A.ssl.truststore.password = geheim")
    assert severity is Severity.ERROR
    assert "A.ssl.truststore.location" in message
    assert "A.ssl.truststore.password" in message
    assert "geheim" not in message


def test_a_byte_order_mark_before_clusters_brings_no_other_warnings() -> None:
    found = _found(f"\ufeff{_BASE}")
    assert [severity for severity, _ in found] == [Severity.ERROR, Severity.WARNING]
    assert "Did you mean 'clusters'?" in found[1][1]


def test_all_that_is_wrong_is_told_at_once() -> None:
    jaas = f"{_PLAIN} required username=u password=geheim"
    text = _BASE.replace("a:1", "kafka1") + _sasl("PLAIN", jaas) + "A->B.tasks.max = 2\n"
    text += "B.security.protocol = SSL\nB.ssl.truststore.location = /no/such\ngroups = ("
    lines = [message.split(":")[0] for _, message in _found(text.replace("max = 2", "max = 1"))]
    assert lines == ["line 2", "line 7", "line 10", "line 11"]


def test_a_cluster_that_no_flow_connects_to_is_not_looked_at() -> None:
    """B->A is there for its heartbeats alone, which are written to A."""
    heartbeats = "B->A.emit.heartbeats.enabled = true\nA->B.emit.heartbeats.enabled = false\n"
    text = f"{TWO_CLUSTERS_TEXT}{heartbeats}"
    found = _found(f"{text}B.security.protocol = SASL_SSL")
    assert [severity for severity, _ in found] == [Severity.WARNING]


def test_what_a_connect_worker_could_never_begin_with_is_told_at_once() -> None:
    text = "bootstrap.servers = kafka1\nsecurity.protocol = SASL_SSL\n"
    text += "rest.basic.auth.file = /no/such\nspark.master = locl[2]"
    config = WorkerConfig.of(parse(text.encode()), is_distributed=False)
    told = [str(mistake) for mistake in worker_mistakes(config)]
    assert told[0].startswith("line 1: bootstrap.servers: kafka1")
    assert "sasl.mechanism is missing" in told[1]
    assert told[2].startswith("line 3: rest.basic.auth.file")
    assert told[3].startswith("line 4: spark.master=locl[2]")
    assert len(told) == 4
