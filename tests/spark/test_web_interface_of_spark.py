"""Spark's web interface: its metrics have what flows have copied, and it lets nobody end a job."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from flows.spark import accumulators
from flows.spark.engine import SparkEngine
from flows.spark.spark_job import JobFailed
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.eventually import eventually, eventually_async
from tests.support.specs import sample_spec

pytestmark = pytest.mark.spark

_NAME = "AccumulatorSource.A->B"
_SHOWN = {"spark.ui.enabled": "true", "spark.ui.port": "0"}
_POSTED = re.compile(r'<form action="([^"]*)" method="POST"(.*?)</form>', re.DOTALL)
_FIELD = re.compile(r'name="([^"]*)" value="([^"]*)"')


async def test_the_totals_of_a_flow_are_there_and_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulators, "_EVERY_S", 0.1)
    totals = {"A->B.records": 3, "A->B.bytes": 1 << 40}
    engine = SparkEngine(_SHOWN, task=lambda _: {}, warm_after_s=60.0)
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


@pytest.mark.parametrize("may_kill", [False, True])
async def test_who_sees_the_interface_cannot_kill_a_job_or_its_stage(
    tmp_path: Path, *, may_kill: bool
) -> None:
    """Unless the user wants it."""
    started, asked = str(tmp_path / "started"), str(tmp_path / "asked")

    def task(_: BundleSpec) -> Mapping[str, int]:
        Path(started).touch()
        eventually(Path(asked).exists)
        return {"records": 1}

    settings = {**_SHOWN, "spark.ui.killEnabled": "true"} if may_kill else _SHOWN
    engine = SparkEngine(settings, task=task, warm_after_s=60.0)
    running = asyncio.create_task(engine.run(sample_spec()))
    try:
        await asyncio.to_thread(eventually, Path(started).exists)
        assert engine._context is not None
        url = engine._context.uiWebUrl
        for page in ("/jobs/", "/stages/"):
            await asyncio.to_thread(_press_what_changes, url, page)
        # What the driver was told before, it obeys before it takes the result.
        await asyncio.to_thread(Path(asked).touch)
        with pytest.raises(JobFailed, match="kill") if may_kill else nullcontext():
            assert await running == {"records": 1}
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await engine.stop()


def _press_what_changes(url: str | None, page: str) -> None:
    """Sends all forms of a page by POST, as a browser does, as soon as it shows the task."""

    def shown() -> str:
        with closing(urlopen(f"{url}{page}", timeout=60)) as answer:
            text: str = answer.read().decode()
        return text

    text = eventually(shown, until=lambda found: "mirrors bundle" in found)
    for path, fields in _POSTED.findall(text):
        body = urlencode(_FIELD.findall(fields)).encode()
        with suppress(HTTPError), closing(urlopen(f"{url}{path}", body, timeout=60)):
            pass
