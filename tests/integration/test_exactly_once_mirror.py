"""Exactly once as a user runs it: the driver, its tasks and Spark killed while records flow."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way, worker_pids
from tests.support.numbers import NumberReader, NumberWriter
from tests.support.records import create_topic

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(400)]


@pytest.mark.also_on_spark_cluster(always=True)
def test_each_record_comes_once_whoever_is_killed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 4)
    text = one_way(
        cluster_a,
        cluster_b,
        unique,
        {
            "B.exactly.once.source.support": "enabled",
            "A.consumer.isolation.level": "read_committed",
            "A->B.exactly.once.support": "required",
            # Whoever waited for an open transaction to time out would wait too long.
            "B.producer.transaction.timeout.ms": "600000",
        },
    )
    with NumberWriter(cluster_a, unique, 4) as writer:
        reader = NumberReader(cluster_b, f"A.{unique}", 4)
        _kill_one_after_the_other(cluster_b, reader, text, tmp_path)
        seen = reader.catch_up()
        with Mirror(tmp_path, text) as mirror:
            reader.wait(seen + 1)
            total = writer.close()
            reader.wait(total)
            assert mirror.stop() == 0
    assert reader.catch_up() == total
    assert reader.found == [list(range(number, total, 4)) for number in range(4)]


def _kill_one_after_the_other(
    target: Cluster, reader: NumberReader, text: str, folder: Path
) -> None:
    started = time.time_ns() // 1_000_000
    with Mirror(folder, text) as mirror:
        reader.wait(1)
        worker = eventually(lambda: worker_pids(target.bootstrap, "A", started)[0])
        os.kill(worker, signal.SIGKILL)
        reader.wait(reader.count() + 4000)
        mirror.jvm().kill()
        # Until then an executor's task may go on for a moment.
        eventually(lambda: mirror.text().count('"spark.started"') == 2)
        reader.wait(reader.count() + 4000)
        mirror.kill()
        mirror.wait_gone()
