"""Two nodes with one file on a Spark cluster that has cores for one of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way, properties, worker_pids
from tests.support.numbered_copies import NumberedCopies
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]

_CORES = 2


def _warm_by_leads(file: Path) -> dict[bool, bool]:
    """Whether the node that leads is warm, and whether the other one is."""
    command = ["status", str(file), "--by", "node", "--format", "json"]
    rows = json.loads(CliRunner().invoke(main, command).stdout)
    return {row["leads"]: row["warm"] for row in rows}


@pytest.mark.parametrize(
    "end", [Mirror.kill, pytest.param(Mirror.stop, marks=pytest.mark.thorough)]
)
def test_the_second_takes_over_when_the_first_leaves_its_cores_and_not_before(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    end: Callable[[Mirror], object],
) -> None:
    numbers = NumberedCopies(cluster_a, cluster_b, unique)
    settings = {"B.exactly.once.source.support": "enabled", "tasks.max": str(_CORES)}
    with SparkCluster(workers=_CORES) as spark, ExitStack() as nodes:
        text = one_way(cluster_a, cluster_b, unique, {**spark.application, **settings})
        first, second = Mirror(tmp_path, text), Mirror(tmp_path, text)
        with numbers.traffic.running():
            nodes.enter_context(first)
            eventually(spark.tasks, until=lambda count: count == _CORES)
            numbers.go_on()
            nodes.enter_context(second)
            while "spark.no_executor" not in second.text():
                numbers.go_on()
            seen = eventually(
                lambda: _warm_by_leads(second.file), until=lambda found: len(found) == 2
            )
            assert seen == {True: True, False: False}
            numbers.go_on()
            assert "flow.led" not in second.text()
            assert not end(first)
            eventually(second.text, until=lambda log: "spark.executor_given" in log)
            numbers.go_on()
        numbers.check_that_all_came_once()
        assert second.stop() == 0


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_a_leader_that_loses_its_only_core_leaves_its_flow_to_a_node_with_cores(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    since_ms = time.time_ns() // 1_000_000
    aliases = [f"{letter}{unique[-8:]}" for letter in "XY"]
    topics = dict(zip(aliases, (f"{unique}-x", f"{unique}-y"), strict=True))
    numbers = {
        alias: NumberedCopies(cluster_a, cluster_b, topics[alias], alias) for alias in aliases
    }
    settings = {
        **{f"{alias}->T.enabled": "true" for alias in aliases},
        **{f"{alias}->T.topics": topic for alias, topic in topics.items()},
        "T.exactly.once.source.support": "enabled",
        "emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
        "tasks.max": "1",
        # The first node keeps what it does not need any more.
        "spark.dynamicAllocation.executorIdleTimeout": "600s",
    }
    clusters = dict.fromkeys(aliases, cluster_a.bootstrap) | {"T": cluster_b.bootstrap}
    with SparkCluster(workers=2) as spark, ExitStack() as nodes:
        text = properties(clusters, {**spark.application, **settings})
        first, second = Mirror(tmp_path, text), Mirror(tmp_path, text)
        with ExitStack() as traffic:
            for each in numbers.values():
                traffic.enter_context(each.traffic.running())
            nodes.enter_context(first)
            eventually(spark.tasks, until=lambda count: count == 2)
            nodes.enter_context(second)
            spark.add_worker()
            (alias,) = eventually(lambda: _led(second), until=lambda led: len(led) == 1)
            numbers[alias].go_on()
            spark.kill_worker(_worker_of(spark, cluster_b, alias, since_ms))
            eventually(second.text, until=lambda log: "spark.no_executor" in log)
            for each in numbers.values():
                each.go_on()
            assert alias in _led(first)[2:]
            spark.add_worker()
            eventually(lambda: _led(second), until=lambda led: len(led) == 2)
            for each in numbers.values():
                each.go_on()
        for each in numbers.values():
            each.check_that_all_came_once()
        assert [second.stop(), first.stop()] == [0, 0]


def _led(node: Mirror) -> list[str]:
    """The sources of the flows that a node has led, one after the other."""
    lines = (json.loads(line) for line in node.text().splitlines() if '"flow.led"' in line)
    return [line["flow"].partition("->")[0] for line in lines]


def _worker_of(spark: SparkCluster, target: Cluster, source: str, since_ms: int) -> Popen[bytes]:
    """The worker of Spark that has the task of a flow."""

    def found() -> Popen[bytes]:
        (pid,) = worker_pids(target.bootstrap, source, since_ms).values()
        (worker,) = [each for each in spark.workers if spark.has_started(each, pid)]
        return worker

    return eventually(found, until=lambda _: True)
