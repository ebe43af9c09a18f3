"""What a node exports of its Spark application on a cluster."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from mm2.metrics.spark_series import of_spark
from mm2.telemetry.spark_use import OF_PROCESS, SparkUse
from tests.support.idle_slots import idle_slots


def _exported() -> dict[str, float]:
    return {family.series.name: value for family in of_spark() for _, value in family.samples()}


def test_a_node_on_a_cluster_exports_its_executors_and_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use = SparkUse(
        executors=3,
        running=2,
        waiting=1,
        slots_missing=4,
        lost=5,
        moved=7,
        restarts=6,
        is_warm=True,
    )
    monkeypatch.setattr(OF_PROCESS, "use", use)
    assert _exported() == {
        "mm2_spark_executors": 3,
        "mm2_spark_tasks_running": 2,
        "mm2_spark_tasks_waiting": 1,
        "mm2_spark_cores_missing": 4,
        "mm2_spark_executors_lost_total": 5,
        "mm2_spark_tasks_moved_total": 7,
        "mm2_spark_application_restarts_total": 6,
        "mm2_spark_warm": 1,
    }


def test_a_node_with_a_local_spark_exports_nothing_of_it() -> None:
    assert _exported() == {}


async def test_a_cluster_that_is_not_followed_any_more_is_not_exported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OF_PROCESS, "use", SparkUse(1, 1, 0, 0, 0, 0, 0, is_warm=True))
    with ThreadPoolExecutor(1) as threads:
        live = idle_slots(threads, last=OF_PROCESS)
        following = asyncio.create_task(live.run(), name="live-slots")
        await asyncio.sleep(0)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    assert _exported() == {}
