"""What flows have copied is among the metrics of Spark's web interface."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from urllib.request import urlopen

import pytest

from flows.spark import accumulators
from flows.spark.engine import SparkEngine
from tests.support.eventually import eventually_async

pytestmark = pytest.mark.spark

_NAME = "AccumulatorSource.A->B"


async def test_the_totals_of_a_flow_are_there_and_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulators, "_EVERY_S", 0.1)
    totals = {"A->B.records": 3, "A->B.bytes": 1 << 40}
    settings = {"spark.ui.enabled": "true", "spark.ui.port": "0"}
    engine = SparkEngine(settings, task=lambda _: {}, warm_after_s=60.0)
    showing = asyncio.create_task(engine.show_totals(lambda: totals))
    try:
        await engine.start()
        assert engine._context is not None
        url = f"{engine._context.uiWebUrl}/metrics/json/"

        def shown() -> dict[str, int]:
            with closing(urlopen(url, timeout=60)) as answer:
                gauges = json.load(answer)["gauges"]
            return {
                name.rpartition(f"{_NAME}.")[2]: gauge["value"]
                for name, gauge in gauges.items()
                if _NAME in name
            }

        look = asyncio.to_thread
        await eventually_async(
            lambda: look(shown), until=lambda found: found == {"records": 3, "bytes": 1 << 40}
        )
        totals["A->B.records"] = 5
        await eventually_async(lambda: look(shown), until=lambda found: found["records"] == 5)
    finally:
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)
        await engine.stop()
