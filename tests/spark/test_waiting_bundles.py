"""Bundles that wait for a slot of Spark, and then run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from flows.spark.engine import SparkEngine
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.eventually import eventually_async
from tests.support.specs import sample_spec

pytestmark = pytest.mark.spark


async def test_a_bundle_runs_from_when_a_slot_of_spark_is_free(tmp_path: Path) -> None:
    folder = str(tmp_path)

    def task(spec: BundleSpec) -> Mapping[str, int]:
        while not Path(folder, f"end {spec.index}").exists():
            time.sleep(0.05)
        return {}

    # Spark's own picture of a stage may else be older than the start of its task.
    settings = {"spark.master": "local[1]", "spark.ui.liveUpdate.period": "0"}
    engine = SparkEngine(settings, task=task)
    try:

        async def are_running() -> list[bool]:
            return [await engine.is_running(sample_spec(index=number).name) for number in (0, 1)]

        assert await are_running() == [False, False]
        first = asyncio.ensure_future(engine.run(sample_spec(index=0)))
        await eventually_async(are_running, until=lambda found: found[0], timeout=200)
        second = asyncio.ensure_future(engine.run(sample_spec(index=1)))
        assert await are_running() == [True, False]
        (tmp_path / "end 0").touch()
        await eventually_async(are_running, until=lambda found: found == [False, True])
        (tmp_path / "end 1").touch()
        assert [await first, await second] == [{}, {}]
    finally:
        await engine.stop()
