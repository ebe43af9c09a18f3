"""``mm2 flows``: a flow is stopped and goes on, whoever runs it, also over restarts."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.demo.broker_settings import free_ports
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties, worker_pids
from tests.support.process import freeze
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = pytest.mark.broker


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

    def offsets(self, command: str, *words: str) -> str:
        result = CliRunner().invoke(main, ["offsets", command, str(self.file), *words])
        assert result.exit_code == 0, result.output
        return result.stdout

    def positions(self) -> list[int]:
        document = json.loads(self.offsets("list", "--format", "json"))
        return [each["offset"]["offset"] for each in document["offsets"]]

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


@pytest.mark.also_on_spark_cluster
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
        eventually(lambda: flow.shown()["running"] is True)
        assert mirror.stop() == 0


def test_a_flow_that_nobody_runs_can_be_stopped(flow: _Flow) -> None:
    flow.ok("stop")
    assert flow.shown()["wanted"] == "stopped"
    assert "stays stopped" in flow.run("pause").stderr
    flow.ok("resume", "--reason", "again")
    assert (flow.shown()["wanted"], flow.shown()["reason"]) == ("running", "again")


def test_a_task_that_there_is_not_is_not_restarted(flow: _Flow) -> None:
    flow.ok("stop")
    for connector, tasks in (("MirrorSourceConnector", "none"), ("MirrorHeartbeatConnector", "0")):
        result = flow.run("restart", "--connector", connector, "--task", "99")
        assert result.exit_code == 1
        assert f"{connector} has no task 99: it has {tasks}" in result.stderr


@pytest.mark.also_on_spark_cluster
def test_a_worker_that_is_frozen_while_its_flow_is_stopped_does_not_undo_a_reset(
    flow: _Flow, tmp_path: Path
) -> None:
    """It is silent, but has not said that it has ended: the flow is not stopped yet."""
    text = flow.file.read_text() + "T.offset.flush.interval.ms = 600000\n"
    remote, since_ms = f"{flow.alias}.{flow.topic}", time.time_ns() // 1_000_000
    flow.write(b"1")
    with Mirror(tmp_path, text) as mirror:
        consume(flow.target.bootstrap, remote, 1, timeout=70)
        eventually(lambda: flow.positions() == [0], timeout=60)
        flow.write(b"2")
        consume(flow.target.bootstrap, remote, 2, timeout=70)
        pids = eventually(lambda: worker_pids(flow.target.bootstrap, flow.alias, since_ms))
        frozen = [psutil.Process(pid) for pid in pids.values()]
        freeze(*pids.values())
        flow.ok("stop")
        flow.offsets("reset", "--all-topics", "--execute")
        for each in frozen:
            with suppress(psutil.NoSuchProcess):
                each.resume()
        assert mirror.stop() == 0
        mirror.wait_gone()
    assert flow.positions() == [], "the reset stands"


def test_a_target_that_is_away_is_said_soon(flow: _Flow) -> None:
    (port,) = free_ports(1)
    text = flow.file.read_text() + f"T.bootstrap.servers = 127.0.0.1:{port}\n"
    flow.file.write_text(text)
    result = flow.run("stop")
    assert result.exit_code == 3
    assert "cluster T" in result.stderr
