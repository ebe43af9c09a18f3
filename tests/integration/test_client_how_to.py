"""The programs of the page on the client library do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mm2.core.internal_records import Checkpoint, Heartbeat
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S
from tests.support.layout import ROOT
from tests.support.records import Sample, create_topic, produce

pytestmark = pytest.mark.broker

PAGE = (ROOT / "docs" / "how-to" / "use-the-client.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def alias(cluster_b: Cluster, unique: str) -> str:
    """A cluster upstream of B that lives, with a checkpoint of the group "billing"."""
    alias = f"S{unique[-8:]}"
    beats, checkpoints = f"{alias}.heartbeats", f"{alias}.checkpoints.internal"
    for topic in (beats, checkpoints):
        create_topic(cluster_b.bootstrap, topic)
    # It stays alive for as long as the slowest machine needs.
    later_ms = time.time_ns() // 1_000_000 + 600_000
    beat = Heartbeat(ClusterAlias("T"), ClusterAlias(alias), later_ms)
    produce(cluster_b.bootstrap, beats, [Sample(key=beat.key(), value=beat.value())])
    where = TopicPartition(TopicName(f"{alias}.orders"), 0)
    each = Checkpoint(GroupId("billing"), where, 40, 42)
    produce(cluster_b.bootstrap, checkpoints, [Sample(key=each.key(), value=each.value())])
    return alias


def _run(program: str, cluster: Cluster, alias: str, folder: Path) -> str:
    text = program.replace("kafka-2.example.org:9092", cluster.bootstrap)
    text = text.replace('"primary"', f'"{alias}"')
    (folder / "program.py").write_text(text)
    (folder / "mm2.properties").write_text(
        f"clusters = primary, backup\nprimary.bootstrap.servers = p:1\n"
        f"backup.bootstrap.servers = {cluster.bootstrap}\n"
    )
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_program_tells_all_about_a_cluster(
    cluster_b: Cluster, alias: str, tmp_path: Path
) -> None:
    said = _run(PROGRAMS[0], cluster_b, alias, tmp_path)
    assert "hops: 1\n" in said
    assert "alive: True\n" in said
    assert f"copies: {{'{alias}.heartbeats'}}\n" in said
    assert f"billing goes on with {alias}.orders-0 at 42\n" in said


def test_the_program_without_an_event_loop_translates_twice(
    cluster_b: Cluster, alias: str, tmp_path: Path
) -> None:
    said = _run(PROGRAMS[2], cluster_b, alias, tmp_path)
    assert said.count("CommittedOffset(offset=42, metadata='')") == 2


def test_a_file_and_a_pattern_do_as_well(cluster_b: Cluster, alias: str, tmp_path: Path) -> None:
    pattern = PROGRAMS[3].replace("by_group =", "    by_group =")
    program = (
        f"import asyncio\n{PROGRAMS[1]}\nasync def main() -> None:\n"
        f"{pattern.replace('from mm2', '    from mm2')}    print(by_group)\n"
        f"    await client.close()\nasyncio.run(main())\n"
    ).replace("billing-.*", "bill.*")
    said = _run(program, cluster_b, alias, tmp_path)
    assert said.startswith("{'billing': {")
