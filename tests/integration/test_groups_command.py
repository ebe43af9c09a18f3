"""``mm2 groups``, ``checkpoints`` and ``translate``, and every command of the page about them."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.demo.broker_settings import free_ports
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.layout import ROOT
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, commit_group, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(240)]

_PAGE = ROOT / "docs" / "how-to" / "watch-groups.md"


@dataclass(frozen=True)
class _Flow:
    """A flow with one topic, and what the names of the page are here."""

    file: Path
    source: str
    target: str
    topic: str
    group: str

    @property
    def remote(self) -> str:
        return f"{self.source}.{self.topic}"

    def run(self, command: str, *words: str) -> Result:
        flow = f"{self.source}->{self.target}"
        return CliRunner().invoke(main, [command, str(self.file), "--flow", flow, *words])

    def rows(self, command: str, *words: str) -> list[dict[str, Any]]:
        result = self.run(command, *words, "--format", "json")
        assert result.exit_code == 0, result.output
        found: list[dict[str, Any]] = json.loads(result.stdout)
        return found

    def page(self) -> list[list[str]]:
        """The commands of the page, with the names that things have here."""
        lines = [each[4:] for each in _PAGE.read_text().splitlines() if each.startswith("    mm2 ")]
        names = {
            "mm2.properties": str(self.file),
            "A.orders": self.remote,
            "orders": self.topic,
            "billing": self.group,
            "A->B": f"{self.source}->{self.target}",
        }
        commands = []
        for line in lines:
            # One look is enough here; that it can be watched has a test of its own.
            words = shlex.split(line.partition(" --watch")[0])[1:]
            for name, here in names.items():
                words = [
                    word.replace(name, here) if word.partition(":")[0] == name else word
                    for word in words
                ]
            commands.append(words)
        return commands


@pytest.fixture
def flow(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> _Flow:
    source, target = f"s{unique[-8:]}", f"t{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"%d" % n) for n in range(20)])
    commit_group(cluster_a.bootstrap, f"{unique}-g", {(unique, 0): 7})
    file = tmp_path / "mm2.properties"
    settings = {
        f"{source}->{target}.enabled": "true",
        "topics": unique,
        "groups": f"{unique}-.*",
        "emit.heartbeats.interval.seconds": "1",
        "emit.checkpoints.interval.seconds": "1",
    }
    clusters = {source: cluster_a.bootstrap, target: cluster_b.bootstrap}
    file.write_text(properties(clusters, settings))
    return _Flow(file, source, target, unique, f"{unique}-g")


def test_groups_are_followed_from_both_clusters_and_from_the_target_alone(
    flow: _Flow, cluster_a: Cluster, cluster_b: Cluster, tmp_path: Path
) -> None:
    with Mirror(tmp_path, flow.file.read_text()) as mirror:
        consume(cluster_b.bootstrap, flow.remote, 20, timeout=90)
        commit_group(cluster_b.bootstrap, flow.group, {(flow.remote, 0): 3})

        def standing() -> dict[str, Any]:
            (row,) = flow.rows("groups", "--group", flow.group)
            assert row["checkpoint_age_ms"] is not None
            assert row["mirror_lag"] == 0
            assert row["accuracy"] == "exact"
            # Without the source, the last checkpoint is all that there is.
            (checkpoint,) = flow.rows("checkpoints", "--group", flow.group)
            assert checkpoint["accuracy"] == "exact"
            return row

        row = eventually(standing)
        assert row.pop("checkpoint_age_ms") < 60_000
        assert row == {
            "group": flow.group,
            "topic": flow.topic,
            "partition": 0,
            "offset": 7,
            "lag": 13,
            "mirror_lag": 0,
            "remote_topic": flow.remote,
            "translated": 7,
            "accuracy": "exact",
            "target_state": "EMPTY",
            "target_offset": 3,
        }
        _look_at_heartbeats(flow)
        for words in flow.page():
            told = eventually(
                lambda words=words: CliRunner().invoke(main, words),  # type: ignore[misc]
                until=lambda told: told.exit_code == 0,
            )
            assert told.stdout, words
        assert mirror.stop() == 0
    produce(cluster_a.bootstrap, flow.topic, [Sample(value=b"more")] * 5)
    (late,) = flow.rows("groups", "--pattern", f"{flow.topic}.*")
    assert (late["lag"], late["mirror_lag"]) == (18, 5)
    (there,) = flow.rows("translate", "--pattern", f"{flow.topic}.*")
    assert (there["group"], there["offset"], there["translated"]) == (flow.group, 7, 7)
    (back,) = flow.rows("translate", "--group", flow.group, "--reverse")
    assert (back["other_topic"], back["translated"]) == (flow.topic, 3)
    _look_without_the_source(flow)


def _look_at_heartbeats(flow: _Flow) -> None:
    """C318: those that the way back writes on the source are copied, and prove that data are."""
    written = f"{flow.target}->{flow.source}"

    def copied() -> dict[str, Any]:
        rows = flow.rows("heartbeats")
        (row,) = (row for row in rows if (row["flow"], row["hops"]) == (written, 1))
        assert row["alive"]
        return row

    row = eventually(copied)
    assert row["way"] == f"{flow.source}->{flow.target}"


def _look_without_the_source(flow: _Flow) -> None:
    (port,) = free_ports(1)
    gone = f"{flow.file.read_text()}{flow.source}.bootstrap.servers = 127.0.0.1:{port}\n"
    flow.file.write_text(gone)
    result = flow.run("groups", "--group", flow.group, "--format", "json")
    assert f"cluster {flow.source}: no answer" in result.stderr
    (row,) = json.loads(result.stdout)
    assert (row["topic"], row["offset"], row["translated"]) == (flow.topic, 7, 7)
    assert (row["accuracy"], row["lag"], row["mirror_lag"]) == ("exact", None, None)
    (checkpoint,) = flow.rows("checkpoints", "--group", flow.group)
    assert (checkpoint["upstream"], checkpoint["downstream"]) == (7, 7)
    assert checkpoint["accuracy"] == "exact"
    (translated,) = flow.rows("translate", "--group", flow.group)
    assert (translated["translated"], translated["accuracy"]) == (7, "exact")
    needs_source = flow.run("translate", "--topic", f"{flow.topic}:0", "--offset", "7")
    assert needs_source.exit_code == 3
    assert "offset syncs" in needs_source.stderr


def test_a_group_that_nobody_knows_is_told(flow: _Flow) -> None:
    """Of a flow that has never run; what its group has committed is known, and nothing else."""
    (row,) = flow.rows("groups")
    assert (row["group"], row["offset"], row["lag"]) == (flow.group, 7, 13)
    assert (row["accuracy"], row["translated"], row["mirror_lag"]) == ("unknown", None, None)
    for command in ("groups", "checkpoints", "translate"):
        result = flow.run(command, "--group", "nobody")
        assert (result.exit_code, "group nobody: nothing is known of it" in result.stderr) == (
            1,
            True,
        )
    assert flow.run("translate", "--group", flow.group).exit_code == 1
    assert flow.run("translate", "--topic", f"{flow.topic}:0", "--offset", "1").exit_code == 1
