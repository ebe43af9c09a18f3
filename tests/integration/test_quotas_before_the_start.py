"""What ``mm2 plan`` and ``mm2 doctor`` make of quotas and of times to begin at."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import properties
from tests.support.process import java_command
from tests.support.quotas import set_quota
from tests.support.records import Sample, create_topic, produce

pytestmark = pytest.mark.broker

_KIND = "consumer_byte_rate"


def test_a_quota_of_ours_is_told_and_raised_as_the_remedy_says(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    file = _file(tmp_path, cluster_a, cluster_b, unique, topic_name)
    client = f"{unique}->B|MirrorSourceConnector-0|replication-consumer"
    set_quota(cluster_a, f"{unique}-other", _KIND, 1)
    set_quota(cluster_a, client, _KIND, 1_000)

    def told() -> dict[str, Any]:
        rows = _rows("doctor", file)
        (row,) = [r for r in rows if (r["check"], r["about"]) == ("quotas", unique)]
        return row

    row = eventually(told, until=lambda row: f"{client}: {_KIND} = 1000" in row["message"])
    assert f"{unique}-other" not in row["message"]
    (command,) = [line for line in row["remedy"].splitlines() if client in line]
    tool, *words = shlex.split(command)
    assert tool == "kafka-configs.sh"
    tried = java_command("kafka.admin.ConfigCommand", *words)
    subprocess.run(tried, check=True, capture_output=True, timeout=120)
    eventually(told, until=lambda row: f"{client}: {_KIND} = 2000" in row["message"])


@pytest.mark.parametrize(
    ("begin", "behind"),
    [("2125-11-21T09:30:00Z", 0), ("1971-11-21T09:30:00Z", 5), ("by_duration:PT24H", 5)],
)
def test_a_plan_counts_what_came_since_the_time_to_begin_at(  # noqa: PLR0917 - fixtures
    begin: str,
    behind: int,
    cluster_a: Cluster,
    cluster_b: Cluster,
    topic_name: str,
    unique: str,
    tmp_path: Path,
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    produce(cluster_a.bootstrap, topic_name, [Sample(value=b"x")] * 5)
    start = {f"{unique}->B.source.start.offsets": f"{topic_name}={begin}"}
    file = _file(tmp_path, cluster_a, cluster_b, unique, topic_name, start)
    copies = {row["name"]: row for row in _rows("plan", file) if row["action"] == "copy"}
    assert copies[topic_name]["records"] == behind


def _file(  # noqa: PLR0917 - what a file is of
    folder: Path,
    source: Cluster,
    target: Cluster,
    alias: str,
    topic: str,
    more: dict[str, str] | None = None,
) -> Path:
    flow = {f"{alias}->B.enabled": "true", f"B->{alias}.emit.heartbeats.enabled": "false"}
    settings = {**flow, "topics": topic, **(more or {})}
    file = folder / "mm2.properties"
    file.write_text(
        properties({alias: source.bootstrap, "B": target.bootstrap}, settings),
    )
    return file


def _rows(command: str, file: Path) -> list[dict[str, Any]]:
    ran = CliRunner().invoke(main, [command, str(file), "--format", "json"])
    assert ran.exit_code in {0, 1}, (ran.output, ran.exception)
    rows: list[dict[str, Any]] = json.loads(ran.stdout)
    return rows
