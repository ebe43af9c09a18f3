"""What ``mm2 status`` shows of a flow that Kafka's MirrorMaker runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.records import create_topic

pytestmark = [
    pytest.mark.broker,
    pytest.mark.reference,
    pytest.mark.thorough,
    pytest.mark.timeout(400),
]


def test_javas_connectors_and_tasks_are_shown(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source = f"S{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique, 2)
    text = properties(
        {source: cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {
            f"{source}->B.enabled": "true",
            "topics": unique,
            f"B->{source}.emit.heartbeats.enabled": "false",
        },
    )
    file = tmp_path / "mm2.properties"
    file.write_text(text)

    def rows(by: str) -> list[dict[str, Any]]:
        words = ["status", str(file), "--by", by, "--format", "json"]
        return list(json.loads(CliRunner().invoke(main, words).stdout))

    def states() -> dict[tuple[str, int | None], str]:
        return {(row["connector"], row["task"]): row["state"] for row in rows("task")}

    with Mirror(tmp_path, text, command=java_mirror) as java:
        wanted = {
            ("MirrorSourceConnector", None): "RUNNING",
            ("MirrorSourceConnector", 0): "RUNNING",
            ("MirrorSourceConnector", 1): "RUNNING",
            ("MirrorCheckpointConnector", None): "RUNNING",
            ("MirrorHeartbeatConnector", None): "RUNNING",
            ("MirrorHeartbeatConnector", 0): "RUNNING",
        }
        eventually(states, until=lambda found: found == wanted, timeout=200)
        (flow,) = rows("flow")
        assert flow["state"] == "RUNNING"
        assert "Kafka's MirrorMaker runs it" in flow["problems"]
        java.stop(180)
    eventually(lambda: rows("flow")[0]["state"], until=lambda state: state == "UNASSIGNED")
