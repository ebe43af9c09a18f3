"""Flows as connectors of Kafka Connect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from mm2.cli.mm2 import main
from mm2.config.text.properties import parse
from mm2.interchange.properties_text import property_line
from mm2.interchange.secret_references import ENVIRONMENT_PROVIDER, variable_of
from tests.support.configs import TWO_CLUSTERS_TEXT


def _exported(folder: Path, more: str, *words: str) -> Result:
    file = folder / "mm2.properties"
    file.write_text(TWO_CLUSTERS_TEXT + more)
    return CliRunner().invoke(main, ["export", str(file), *words])


def test_a_flow_is_three_connectors_whose_secrets_are_variables(tmp_path: Path) -> None:
    ran = _exported(
        tmp_path,
        "A->B.enabled = true\nA->B.topics = orders\nB->A.emit.heartbeats.enabled = false\n"
        "A.ssl.key.password = hunter2\nB.ssl.key.password = ${env:B_PW}\n"
        f"config.providers = env\nconfig.providers.env.class = {ENVIRONMENT_PROVIDER}\n",
    )
    assert ran.exit_code == 0, ran.output
    connectors = {each["name"]: each["config"] for each in json.loads(ran.stdout)}
    assert [*connectors] == [
        "A->B.MirrorSourceConnector",
        "A->B.MirrorCheckpointConnector",
        "A->B.MirrorHeartbeatConnector",
    ]
    source = connectors["A->B.MirrorSourceConnector"]
    assert source["name"] == "A->B.MirrorSourceConnector"
    assert source["topics"] == "orders"
    assert source["source.cluster.bootstrap.servers"] == "a:1"
    assert "hunter2" not in ran.output
    assert source["target.cluster.ssl.key.password"] == "${env:B_PW}"
    name = variable_of("A.ssl.key.password")
    assert source["source.cluster.ssl.key.password"] == f"${{env:{name}}}"
    assert name in ran.stderr


def test_clusters_with_logins_of_their_own_have_variables_of_their_own(tmp_path: Path) -> None:
    """One worker of B runs the connectors of all flows to B, and has one environment."""
    secret = "ssl.key.password = hunter2"
    ran = _exported(
        tmp_path,
        "clusters = A, C.1, C-1, B\nC.1.bootstrap.servers = c:1\nC-1.bootstrap.servers = d:1\n"
        + "".join(f"{each}->B.enabled = true\n" for each in ("A", "C.1", "C-1"))
        + "".join(f"{each}.{secret}\n" for each in ("A", "C.1", "C-1"))
        + "A->B.producer.override.ssl.key.password = hunter3\n",
    )
    assert ran.exit_code == 0, ran.output
    assert "hunter" not in ran.output
    configs = [
        each["config"]
        for each in json.loads(ran.stdout)
        if each["name"].endswith("SourceConnector")
    ]
    assert [config["source.cluster.ssl.key.password"] for config in configs] == [
        "${env:MM2_A_SSL_KEY_PASSWORD}",
        "${env:MM2_C_1_SSL_KEY_PASSWORD}",
        "${env:MM2_C_1_SSL_KEY_PASSWORD_2}",
    ]
    assert configs[0]["source.consumer.ssl.key.password"] == "${env:MM2_A_SSL_KEY_PASSWORD}"
    named = "${env:MM2_A_B_PRODUCER_OVERRIDE_SSL_KEY_PASSWORD}"
    assert configs[0]["producer.override.ssl.key.password"] == named
    assert "MM2_C_1_SSL_KEY_PASSWORD_2" in ran.stderr


def test_settings_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    settings = [
        *("tasks.max", "topics", "refresh.topics.interval.seconds", "groups"),
        *("sync.topic.acls.enabled", "replication.factor", "offset-syncs.topic.replication.factor"),
    ]
    values = ["2", "a", "60", "g", "false", "1", "1"]
    lines = "".join(f"{key} = {value}\n" for key, value in zip(settings, values, strict=True))
    ran = _exported(tmp_path, f"A->B.enabled = true\n{lines}")
    assert ran.exit_code == 0, ran.output
    source = json.loads(ran.stdout)[0]["config"]
    assert [key for key in source if key in settings] == settings


_HALF_HIDDEN = (
    "A->B.enabled = true\nA.security.protocol = SASL_PLAINTEXT\nA.sasl.mechanism = PLAIN\n"
    "A.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' username="${env:USER_A}" password="hunter2";\n'
    "A->B.metrics.address = http://user:hunter3@host/\n"
    f"config.providers = env\nconfig.providers.env.class = {ENVIRONMENT_PROVIDER}\n"
)


@pytest.mark.parametrize(
    "command", [["export"], ["export", "--as", "strimzi"], ["render", "compose"]], ids=" ".join
)
def test_a_value_that_is_an_expression_in_part_is_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("USER_A", "alice")
    file = tmp_path / "mm2.properties"
    file.write_text(TWO_CLUSTERS_TEXT + _HALF_HIDDEN)
    ran = CliRunner().invoke(main, [command[0], *command[1:], str(file)])
    assert ran.exit_code == 0, ran.output
    assert "PlainLoginModule" not in ran.output
    assert "hunter" not in ran.output


def test_a_flow_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    ran = _exported(tmp_path, "A->B.enabled = true\n", "--flow", "A->X")
    assert ran.exit_code == 2
    assert "There is no flow A->X" in ran.output


@given(key=st.text("ab=: #!\\é\n\t>.", min_size=1), value=st.text("ab=: #!\\é\n\t\x7f€"))
def test_a_property_is_read_as_it_was_written(key: str, value: str) -> None:
    line = property_line(key, value)
    assert "\n" not in line
    assert parse(f"{line}\n".encode("latin-1")).values == {key: value}
