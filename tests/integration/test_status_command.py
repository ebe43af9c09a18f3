"""``mm2 status``: a flow as anybody sees it through Kafka, while it runs and when it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.core.connect.status_records import RunState, Status
from mm2.core.connect.status_table import StatusTable
from mm2.core.model import SOURCE_CONNECTOR
from mm2.demo.broker_settings import free_ports
from tests.support.cluster import Cluster
from tests.support.connect import statuses_of
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, create_topic, produce
from tests.support.watched import watched

pytestmark = [pytest.mark.broker, pytest.mark.timeout(240)]

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class _Flow:
    """A flow of two topics; the copy of the second takes small records only."""

    file: Path
    source: Cluster
    target: Cluster
    alias: str
    good: str
    picky: str

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(main, ["status", str(self.file), *words])

    def seen(self, *words: str, status: int) -> Rows:
        """What is shown, once the command ends with a status."""
        result = self.run(*words, "--format", "json")
        assert result.exit_code == status, result.output
        return [dict(row) for row in json.loads(result.stdout)]

    def flow(self, *, status: int) -> dict[str, Any]:
        rows = {row["flow"]: row for row in self.seen(status=status)}
        return rows[f"{self.alias}->T"]

    def statuses(self) -> StatusTable:
        """What the status topic says."""
        return statuses_of(self.target, f"mm2-status.{self.alias}.internal")

    def states(self, *, status: int) -> dict[tuple[str, int | None], str]:
        rows = self.seen("--flow", f"{self.alias}->T", "--by", "task", status=status)
        return {(row["connector"], row["task"]): row["state"] for row in rows}


@pytest.fixture
def flow(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> _Flow:
    alias = f"S{unique[-8:]}"
    found = _Flow(
        file=tmp_path / "mm2.properties",
        source=cluster_a,
        target=cluster_b,
        alias=alias,
        good=f"{unique}-good",
        picky=f"{unique}-picky",
    )
    create_topic(cluster_a.bootstrap, found.good, 2)
    create_topic(cluster_a.bootstrap, found.picky)
    create_topic(
        cluster_b.bootstrap, f"{alias}.{found.picky}", configs={"max.message.bytes": "4000"}
    )
    settings = {
        f"{alias}->T.enabled": "true",
        f"{alias}->T.topics": f"{unique}.*",
        f"{alias}->T.sync.topic.configs.enabled": "false",
        f"T->{alias}.emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
    }
    found.file.write_text(
        properties({alias: cluster_a.bootstrap, "T": cluster_b.bootstrap}, settings)
    )
    return found


def test_a_flow_is_seen_as_it_is(flow: _Flow, tmp_path: Path) -> None:
    before = flow.flow(status=1)
    assert (before["state"], before["leader"]) == ("UNASSIGNED", None)
    assert before["problems"] == "nobody has ever led it"
    for topic in (flow.good, flow.picky):
        produce(flow.source.bootstrap, topic, [Sample(value=b"1")] * 5)
    with Mirror(tmp_path, flow.file.read_text()) as mirror:
        runs = eventually(lambda: flow.flow(status=0), until=lambda row: row["partitions"] == 3)
        assert (runs["state"], runs["running"], runs["problems"]) == (
            "RUNNING",
            runs["tasks"],
            None,
        )
        eventually(lambda: flow.flow(status=0), until=lambda row: row["lag"] == 0)
        partitions = eventually(lambda: flow.seen("--by", "partition", status=0))
        assert {(row["topic"], row["partition"]): row["position"] for row in partitions} == {
            (flow.good, 0): 4,
            (flow.good, 1): None,
            (flow.picky, 0): 4,
        }
        _fails(flow)
        eventually(lambda: flow.statuses().tasks(SOURCE_CONNECTOR), until=_one_has_failed)
        assert mirror.process.poll() is None
        mirror.kill()
        gone = eventually(
            lambda: flow.flow(status=1), until=lambda row: row["state"] == "UNASSIGNED"
        )
        assert gone["leader"] is None
        assert gone["problems"].startswith("nobody leads it; ")
        assert set(flow.states(status=1).values()) == {"UNASSIGNED"}
        _paused(flow)


def _paused(flow: _Flow) -> None:
    """Of nodes that are all gone nobody could say so in the status topic, until somebody comes."""
    assert RunState.RUNNING in {each.state for each in flow.statuses().statuses.values()}
    paused = CliRunner().invoke(main, ["flows", "pause", str(flow.file)])
    assert paused.exit_code == 0, paused.output
    said = flow.statuses().statuses
    failed = {key for key, each in said.items() if each.state is RunState.FAILED}
    assert {each.state for key, each in said.items() if key not in failed} == {RunState.UNASSIGNED}
    assert len(failed) == 1, "a task that had failed before"
    # Tasks that were killed said nothing: they count as running until they are silent for long.
    eventually(
        lambda: flow.states(status=1)[SOURCE_CONNECTOR, None], until=lambda state: state == "PAUSED"
    )


def _one_has_failed(tasks: Mapping[int, Status]) -> bool:
    failed = [task for task in tasks.values() if task.state is RunState.FAILED]
    return len(failed) == 1 and "MESSAGE_TOO_LARGE" in (failed[0].trace or "")


def _fails(flow: _Flow) -> None:
    """One partition stands, and the others go on."""
    produce(flow.source.bootstrap, flow.picky, [Sample(value=b"x" * 6000)])
    failed = eventually(lambda: flow.flow(status=1), until=lambda row: row["state"] == "FAILED")
    assert "MESSAGE_TOO_LARGE" in failed["problems"]
    produce(flow.source.bootstrap, flow.good, [Sample(value=b"2")] * 5)
    rows = eventually(
        lambda: flow.seen("--by", "partition", status=1),
        until=lambda rows: (flow.good, 9) in {(row["topic"], row["position"]) for row in rows},
    )
    (stands,) = (row for row in rows if row["error"])
    assert (stands["topic"], stands["position"]) == (flow.picky, 4)
    eventually(lambda: list(flow.states(status=1).values()).count("FAILED") == 1)


def test_a_flow_is_watched_until_somebody_has_seen_enough(flow: _Flow, tmp_path: Path) -> None:
    output = tmp_path / "seen.tsv"
    words = ["status", str(flow.file), "--format", "tsv"]
    assert watched(words, "nobody has ever led it", output) == 1
    assert "Traceback" not in output.read_text()


def test_a_target_that_is_away_is_named(flow: _Flow) -> None:
    (port,) = free_ports(1)
    text = flow.file.read_text() + f"T.bootstrap.servers = 127.0.0.1:{port}\n"
    flow.file.write_text(text)
    row = flow.flow(status=3)
    assert row["state"] is None
    assert "cluster T" in row["problems"]


@pytest.mark.thorough
def test_a_source_that_is_away_fails_the_connectors_that_need_it(
    flow: _Flow, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    text = flow.file.read_text() + f"{flow.alias}.bootstrap.servers = 127.0.0.1:{port}\n"
    flow.file.write_text(text)
    with Mirror(tmp_path, text):
        row = eventually(lambda: flow.flow(status=1), until=lambda row: row["state"] == "FAILED")
        assert f"cluster {flow.alias}: no answer" in row["problems"]
        states = flow.states(status=1)
        assert states["MirrorSourceConnector", None] == "FAILED"
        assert states["MirrorCheckpointConnector", None] == "FAILED"
        assert states["MirrorHeartbeatConnector", None] == "RUNNING"
