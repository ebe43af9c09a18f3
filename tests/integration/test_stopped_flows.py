"""``mm2 flows``: a flow is stopped and goes on, whoever runs it, also over restarts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.layout import free_ports
from tests.support.mirror import Mirror, properties
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.timeout(180)]


@dataclass(frozen=True)
class _Flow:
    """A flow of one topic that nobody runs yet."""

    file: Path
    source: Cluster
    target: Cluster
    alias: str
    topic: str

    def run(self, command: str, *words: str) -> Result:
        return CliRunner().invoke(main, ["flows", command, str(self.file), *words])

    def ok(self, command: str, *words: str) -> str:
        result = self.run(command, *words)
        assert result.exit_code == 0, result.output
        return result.stdout

    def shown(self) -> dict[str, object]:
        (row,) = json.loads(self.ok("show", "--format", "json"))
        return dict(row)

    def write(self, *values: bytes) -> None:
        produce(self.source.bootstrap, self.topic, [Sample(value=value) for value in values])

    def copied(self) -> list[bytes | None]:
        log = log_of(self.target.bootstrap, f"{self.alias}.{self.topic}")
        return [record.value for record in records_in(log)]


@pytest.fixture
def flow(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> _Flow:
    alias = f"S{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique)
    file = tmp_path / "mm2.properties"
    settings = {
        f"{alias}->T.enabled": "true",
        "topics": unique,
        "emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
    }
    file.write_text(properties({alias: cluster_a.bootstrap, "T": cluster_b.bootstrap}, settings))
    return _Flow(file, cluster_a, cluster_b, alias, unique)


def test_a_stopped_flow_copies_nothing_until_it_is_resumed(flow: _Flow, tmp_path: Path) -> None:
    flow.write(b"1")
    remote = f"{flow.alias}.{flow.topic}"
    with Mirror(tmp_path, flow.file.read_text()) as mirror:
        consume(flow.target.bootstrap, remote, 1, timeout=70)
        assert flow.shown()["wanted"] == "running"
        flow.ok("stop", "--reason", "a try")
        shown = flow.shown()
        assert (shown["wanted"], shown["reason"]) == ("stopped", "a try")
        assert shown["running"] is False
        flow.write(b"2")
        assert mirror.stop() == 0, "a driver that waits ends at once"
    with Mirror(tmp_path, flow.file.read_text()) as mirror:
        eventually(lambda: "flow.held" in mirror.text(), timeout=60)
        assert flow.copied() == [b"1"]
        flow.ok("resume")
        consume(flow.target.bootstrap, remote, 2, timeout=70)
        flow.write(b"3")
        consume(flow.target.bootstrap, remote, 3, timeout=70)
        assert flow.copied() == [b"1", b"2", b"3"], "each once, where it had stopped"
        assert flow.shown()["running"] is True
        assert mirror.stop() == 0


def test_a_flow_that_nobody_runs_can_be_stopped(flow: _Flow) -> None:
    flow.ok("stop")
    assert flow.shown()["wanted"] == "stopped"
    flow.ok("resume", "--reason", "again")
    assert (flow.shown()["wanted"], flow.shown()["reason"]) == ("running", "again")


def test_a_target_that_is_away_is_said_soon(flow: _Flow) -> None:
    (port,) = free_ports(1)
    text = flow.file.read_text() + f"T.bootstrap.servers = 127.0.0.1:{port}\n"
    flow.file.write_text(text)
    result = flow.run("stop")
    assert result.exit_code == 3
    assert "cluster T" in result.stderr
