"""``tasks.max=auto``: a flow that is behind gets more tasks, and fewer once it has caught up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_USER_CODE = """
import asyncio
import time


async def waits(record):
    time.sleep(0.005)  # as if it computed: a task does no more than 200 in a second
    await asyncio.sleep(0)
    return [record]
"""
_PARTITIONS = 4
_RECORDS = 4_000
_BATCH = 200


@pytest.fixture
def clusters(cluster_a: Cluster, cluster_b: Cluster) -> tuple[Cluster, Cluster]:
    return cluster_a, cluster_b


@pytest.fixture
def slow_handler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "slow_user_code.py").write_text(_USER_CODE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.syspath_prepend(tmp_path)
    return "slow_user_code:waits"


@pytest.fixture
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Settings that run tasks in the process, or on a standalone cluster with so many workers."""
    if not request.param:
        yield {}
        return
    with SparkCluster(workers=request.param) as spark:
        yield {**spark.application, "spark.executorEnv.PYTHONPATH": str(tmp_path)}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a second task needs a second core")
@pytest.mark.parametrize(
    ("support", "first", "where"),
    [
        pytest.param("disabled", "auto", 0, id="at-least-once", marks=pytest.mark.thorough),
        pytest.param("enabled", "1", 0, id="exactly-once-altered"),
        pytest.param("enabled", "auto", 2, id="on-a-cluster", marks=pytest.mark.thorough),
    ],
    indirect=["where"],
)
def test_a_flow_has_as_many_tasks_as_its_lag_asks_for(
    *,
    clusters: tuple[Cluster, Cluster],
    unique: str,
    tmp_path: Path,
    slow_handler: str,
    support: str,
    first: str,
    where: dict[str, str],
) -> None:
    """Whether the file says ``auto``, or a number that is altered while the flow runs."""
    cluster_a, cluster_b = clusters
    # Of no other test: a flow begins with the tasks of its earlier leader.
    source, target = f"a{unique[-8:]}", f"b{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique, partitions=_PARTITIONS)
    samples = [Sample(value=b"%d" % n, partition=n % _PARTITIONS) for n in range(_RECORDS)]
    for start in range(0, _RECORDS, _BATCH):
        produce(cluster_a.bootstrap, unique, samples[start : start + _BATCH])
    settings = {
        **where,
        "tasks.max": first,
        "assignment.balance.interval.seconds": "2",
        "heartbeats.replication.enabled": "false",
        "topics": unique,
        f"{source}->{target}.enabled": "true",
        f"{source}->{target}.message.handler": slow_handler,
        f"{target}.exactly.once.source.support": support,
    }
    text = properties({source: cluster_a.bootstrap, target: cluster_b.bootstrap}, settings)
    with Mirror(tmp_path, text) as mirror:
        if first != "auto":
            consume(cluster_b.bootstrap, f"{source}.{unique}", 1)
            _alter(mirror, "tasks.max=auto")
        eventually(lambda: _changes(mirror), until=lambda found: (1, 2) in found)
        consume(cluster_b.bootstrap, f"{source}.{unique}", _RECORDS)
        eventually(lambda: _changes(mirror), until=lambda found: found[-1] == (2, 1))
        produce(cluster_a.bootstrap, unique, [Sample(value=b"last", partition=3)])
        copies = consume(cluster_b.bootstrap, f"{source}.{unique}", _RECORDS + 1)
        assert mirror.stop() == 0
        assert f'"bundle": "{source}->{target}/1"' in mirror.text()
    for partition in range(_PARTITIONS):
        found = [each.value for each in copies if each.partition == partition]
        last = [b"last"] if partition == 3 else []
        assert found == [b"%d" % n for n in range(partition, _RECORDS, _PARTITIONS)] + last


def _alter(mirror: Mirror, setting: str) -> None:
    words = ["flows", "alter", str(mirror.file), setting, "--execute"]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 0, found.output


def _changes(mirror: Mirror) -> list[tuple[int, int]]:
    """How many tasks there were and then are, of each change."""
    lines = [line for line in mirror.text().splitlines() if '"flow.tasks_changed"' in line]
    return [(each["before"], each["tasks"]) for each in map(json.loads, lines)]
