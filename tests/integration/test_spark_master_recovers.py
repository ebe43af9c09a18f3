"""A master of Spark that is killed, and started again with what it had written down."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.numbered_copies import OF_THREE_S, NumberedCopies
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]

_TASKS = 2
_COME_AGAIN_WITHIN_S = 30.0
"""What the documentation promises of all that is killed on a Spark cluster."""


def _kill_executors(spark: SparkCluster) -> None:
    for executor in spark.executors():
        with suppress(psutil.NoSuchProcess):  # Spark may have ended it.
            executor.kill()


def test_the_application_goes_on_and_is_given_executors_for_those_lost_before_and_after(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    numbers = NumberedCopies(cluster_a, cluster_b, unique)
    known = tmp_path / "known"
    known.mkdir()
    recovery = {
        "spark.deploy.recoveryMode": "FILESYSTEM",
        "spark.deploy.recoveryDirectory": str(known),
    }
    settings = {"B.exactly.once.source.support": "enabled", "tasks.max": str(_TASKS)}
    with SparkCluster(workers=_TASKS, settings=recovery) as spark:
        text = one_way(cluster_a, cluster_b, unique, {**spark.application, **settings})
        with Mirror(tmp_path, text) as mirror:
            with numbers.traffic.running():
                eventually(spark.tasks, until=lambda count: count == _TASKS)
                numbers.go_on()
                spark.kill_master()
                numbers.go_on()
                _kill_executors(spark)
                spark.start_master()
                gaps_s = [numbers.go_on(OF_THREE_S)]
                eventually(spark.tasks, until=lambda count: count == _TASKS)
                _kill_executors(spark)
                gaps_s.append(numbers.go_on(OF_THREE_S))
            numbers.check_that_all_came_once()
            assert mirror.stop() == 0
            assert mirror.text().count('"event": "spark.started"') == 1
    assert max(gaps_s) < _COME_AGAIN_WITHIN_S, gaps_s
