"""Settings that change the result are obeyed or refused; harmless ones are told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mm2.config.checks.findings import Finding, Severity, findings
from mm2.config.keys.definition import Key, Support
from mm2.config.keys.key_table import PREFIXES, TABLE
from mm2.config.keys.keys_clients import CLIENT_ROWS
from mm2.config.text.properties import parse
from mm2.driver.flows_of_file import load_flows
from mm2.errors import ConfigErrors
from tests.support.configs import TWO_CLUSTERS_TEXT

_BASE = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
"""
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_SECURITY = "org.apache.kafka.common.security"
_REFUSED = (
    "A->B.transforms = mask",
    "transforms = mask",
    "A->B.predicates = isSecret",
    f"A->B.value.converter = {_JSON}",
    f"value.converter = {_JSON}",
    f"B.key.converter = {_JSON}",
    f"A->B.header.converter = {_JSON}",
    "A->B.forwarding.admin.class = com.acme.Admin",
    "forwarding.admin.class = com.acme.Admin",
    "A.forwarding.admin.class = com.acme.Admin",
    "A.consumer.interceptor.classes = com.acme.Mask",
    "A->B.source.consumer.interceptor.classes = com.acme.Mask",
    "A->B.producer.override.interceptor.classes = com.acme.Mask",
    "B.producer.value.serializer = com.acme.Encrypting",
    f"sasl.login.callback.handler.class = {_SECURITY}.auth.AuthenticateCallbackHandler",
    f"B.sasl.login.class = {_SECURITY}.kerberos.KerberosLogin",
    f"A.ssl.engine.factory.class = {_SECURITY}.ssl.CommonNameLoggingSslEngineFactory",
    "A.admin.bootstrap.controllers = a:2",
)
_TOLD = (
    "metric.reporters = com.acme.Reporter",
    "A->B.metric.reporters = com.acme.Reporter",
    "B.metric.reporters = com.acme.Reporter",
    "A.consumer.metric.reporters = com.acme.Reporter",
    "dedicated.mode.enable.internal.rest = true",
    "B.producer.acks = 1",
    "A.producer.acks = 1",
    "A->B.producer.override.linger.ms = 5",
    "A->B.source.consumer.max.poll.records = 5",
    "A->B.consumer.poll.timeout.ms = 5000",
    "A->B.config.action.reload = none",
    "A->B.topic.creation.default.partitions = 3",
    "A->B.transforms.mask.type = com.acme.Mask",
    "B.offset.flush.timeout.ms = 1",
    "B.metadata.recovery.strategy = none",
    "A.sasl.kerberos.service.name = kafka",
    "ssl.provider = BC",
    "B.plugin.path = /x",
)
_SAID_ANYWAY = f"""\
value.converter = {_BYTES}
B.key.converter = ByteArrayConverter
A->B.header.converter = {_BYTES}
B.header.converter = org.apache.kafka.connect.storage.SimpleHeaderConverter
B.value.converter.schemas.enable = false
transforms =
A->B.predicates =
forwarding.admin.class = org.apache.kafka.clients.admin.ForwardingAdmin
metric.reporters = org.apache.kafka.common.metrics.JmxReporter
A.producer.metric.reporters =
A->B.consumer.poll.timeout.ms = 1000
config.action.reload = restart
dedicated.mode.enable.internal.rest = false
B.producer.acks = -1
B.producer.enable.idempotence = true
A.consumer.enable.auto.commit = false
A.consumer.interceptor.classes =
ssl.trustmanager.algorithm = PKIX
sasl.login.class = {_SECURITY}.authenticator.DefaultLogin
"""


def _found(text: str) -> list[Finding]:
    return findings(parse((_BASE + text).encode()), {})


@pytest.mark.parametrize("line", _REFUSED)
def test_what_would_change_the_result_is_an_error_at_validation_and_at_start(
    line: str, tmp_path: Path
) -> None:
    key, value = line.split(" = ")
    (found,) = _found(line)
    assert (found.severity, found.problem.key, found.problem.line) == (Severity.ERROR, key, 5)
    assert str(found.problem).startswith(f"line 5: {key} = {value}: ")
    file = tmp_path / "mm2.properties"
    file.write_text(_BASE + line)
    with pytest.raises(ConfigErrors) as raised:
        load_flows(file, None)
    assert [str(each) for each in raised.value.problems] == [str(found.problem)]


@pytest.mark.parametrize("line", _TOLD)
def test_what_is_harmless_is_a_warning_of_validation_and_of_the_start(
    line: str, tmp_path: Path
) -> None:
    key, value = line.split(" = ")
    (found,) = _found(line)
    assert (found.severity, found.problem.key, found.problem.line) == (Severity.WARNING, key, 5)
    assert str(found.problem).startswith(f"line 5: {key} = {value}: no effect: ")
    file = tmp_path / "mm2.properties"
    file.write_text(_BASE + line)
    told = {warning for flow in load_flows(file, None) for warning in flow.warnings}
    assert told == {str(found.problem)}


def test_what_asks_for_nothing_is_taken_without_a_word() -> None:
    assert _found(_SAID_ANYWAY) == []


def test_a_flow_s_converter_wins_over_its_worker_s() -> None:
    assert _found(f"B.value.converter = {_JSON}\nA->B.value.converter = {_BYTES}") == []
    assert _found(f"B.value.converter = {_JSON}\nvalue.converter = {_BYTES}") == []
    assert len(_found(f"B.value.converter = {_BYTES}\nA->B.value.converter = {_JSON}")) == 1


def test_all_that_is_refused_is_told_at_once() -> None:
    found = _found("A->B.transforms = mask\nB.producer.interceptor.classes = com.acme.X\n")
    assert [each.problem.line for each in found] == [5, 6]


def test_secrets_in_what_is_not_obeyed_are_not_shown() -> None:
    (found,) = _found("A.sasl.oauthbearer.client.credentials.client.secret = geheim")
    assert "geheim" not in str(found.problem)
    assert found.problem.value == "[hidden]"


def test_whatever_is_not_obeyed_says_why() -> None:
    rows: list[Key] = [*TABLE.values(), *PREFIXES]
    rows += [row for each in CLIENT_ROWS.values() for row in each.values()]
    for row in rows:
        assert bool(row.reason) is (row.support is not Support.OBEYED), row.name
        assert not row.asks_in_vain(row.default or ""), row.name


@pytest.mark.slow
def test_the_process_does_not_start_and_names_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    unobeyed = "A->B.value.converter = x\nA.consumer.interceptor.classes = com.acme.X\n"
    file.write_text(_BASE + unobeyed + "B.security.protocol = SASL_SSL\n")
    command = [sys.executable, "-m", "mm2.cli.connect_mirror_maker", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2
    converter, interceptors, mechanism = ended.stderr.splitlines()
    assert converter.startswith(f"{file}: line 5: A->B.value.converter = x: records are copied")
    assert "line 6: A.consumer.interceptor.classes = com.acme.X" in interceptors
    assert "line 7: B.sasl.mechanism is missing" in mechanism, "found by what makes the clients"
    assert "Remove the key" in interceptors
