"""Where a process of ``kafka-mirror-maker`` listens, and where its streams are told to connect."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from flows.legacy.driver_link import linked_to_driver
from flows.legacy.stream_spec import StreamSpec
from flows.spark.jobs import SparkJobs
from flows.spark.spark_job import SparkJob
from mm2.config.legacy.copy_plan import CopyPlan, read_copy_plan
from mm2.driver.legacy_mirror import LegacyMirror

_ELSEWHERE = "192.0.2.1"
"""An address that no machine has."""


class _Engine:
    """Connects from where the tasks of a cluster would, which come through a gateway."""

    def __init__(self, settings: Mapping[str, str], reached: str) -> None:
        self.settings = settings
        self._reached = reached
        self.told: list[str] = []

    async def start(self) -> None:
        """At once."""

    async def stop(self) -> None:
        """At once."""

    async def run_job(self, job: SparkJob[Mapping[str, int]]) -> Mapping[str, int]:
        """A stream that ends as soon as it has connected."""
        spec: StreamSpec = cast("partial[Any]", job.work).args[0]
        self.told.append(spec.driver[0])
        async with linked_to_driver((self._reached, spec.driver[1]), spec.token, asyncio.Event()):
            return {"failed": 0}


@pytest.fixture
def plan(tmp_path: Path) -> CopyPlan:
    files = {name: tmp_path / name for name in ("consumer", "producer")}
    for each in files.values():
        each.write_text("bootstrap.servers=a:1\ngroup.id=g\n")
    flags = [word for name, file in files.items() for word in (f"--{name}.config", str(file))]
    return read_copy_plan([*flags, "--include", "t"])


@pytest.mark.parametrize(
    ("settings", "told", "reached"),
    [
        ({"spark.master": "local[4]", "spark.driver.host": _ELSEWHERE}, "127.0.0.1", "127.0.0.1"),
        (
            {"spark.master": "spark://m:1", "spark.driver.host": "localhost"},
            "localhost",
            "localhost",
        ),
        (
            {
                "spark.master": "spark://m:1",
                "spark.driver.host": _ELSEWHERE,
                "spark.driver.bindAddress": "127.0.0.2",
            },
            _ELSEWHERE,
            "127.0.0.2",
        ),
    ],
)
async def test_streams_connect_to_the_host_and_the_process_listens_at_the_bind_address(
    plan: CopyPlan, settings: dict[str, str], told: str, reached: str
) -> None:
    engine = _Engine(settings, reached)
    await LegacyMirror(plan, cast("SparkJobs", engine)).run()
    assert engine.told == [told]


async def test_an_address_of_another_machine_ends_the_start_with_the_remedy(plan: CopyPlan) -> None:
    engine = _Engine({"spark.master": "spark://m:1", "spark.driver.host": _ELSEWHERE}, _ELSEWHERE)
    with capture_logs() as events:
        assert await LegacyMirror(plan, cast("SparkJobs", engine)).run() == 3
    (error,) = [each["error"] for each in events if each["event"] == "driver.failed"]
    assert f"cannot listen at {_ELSEWHERE}" in error
    assert "set spark.driver.bindAddress to an address of this machine" in error
