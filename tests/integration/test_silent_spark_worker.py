"""A worker of a Spark cluster that stands still, with its executor, and later goes on."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way, worker_pids
from tests.support.numbered_copies import NumberedCopies
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.thorough, pytest.mark.timeout(600)]

_TASKS = 2
_BACK_WITHIN_S = 45.0
"""Spark knows it after 15 s, fewer tasks take all partitions after 15 s, and an executor starts."""


@pytest.mark.parametrize("workers", [_TASKS, _TASKS + 1], ids=["no-room", "room"])
@pytest.mark.parametrize("mode", ["disabled", "enabled"], ids=["at-least-once", "exactly-once"])
def test_a_flow_leaves_a_silent_worker_whose_task_writes_nothing_more_when_it_goes_on(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    *,
    mode: str,
    workers: int,
) -> None:
    since_ms = time.time_ns() // 1_000_000
    numbers = NumberedCopies(cluster_a, cluster_b, unique)
    settings = {"B.exactly.once.source.support": mode, "tasks.max": str(_TASKS)}
    with SparkCluster(workers=workers) as spark:
        text = one_way(cluster_a, cluster_b, unique, {**spark.application, **settings})
        with Mirror(tmp_path, text) as mirror:
            with numbers.traffic.running():
                eventually(spark.tasks, until=lambda count: count == _TASKS)
                numbers.go_on()
                pids = eventually(
                    partial(worker_pids, cluster_b.bootstrap, cluster_a.name, since_ms),
                    until=lambda found: len(found) == _TASKS,
                )
                (worker,) = [each for each in spark.workers if spark.has_started(each, pids[0])]
                with spark.silent(worker) as family:
                    (task,) = [each for each in family if each.pid == pids[0]]
                    gap_s = numbers.go_on()
                    assert task.status() == psutil.STATUS_STOPPED
                eventually(lambda: not task.is_running())
                eventually(spark.tasks, until=lambda count: count == _TASKS)
                numbers.go_on()
            twice = numbers.check_that_all_came()
            assert mirror.stop() == 0
    print(f"{mode}, {workers} workers: {gap_s:.0f} s, {twice} twice")  # noqa: T201 - figures
    assert mode == "disabled" or twice == 0
    assert gap_s <= _BACK_WITHIN_S, f"some partition stood for {gap_s:.0f} s"
