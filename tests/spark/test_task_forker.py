"""The process that Spark's Python daemon is forked from."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from flows.spark.engine import SparkEngine
from flows.spark.task_forker import VARIABLE
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.eventually import PATIENCE_S, eventually_async
from tests.support.specs import sample_spec

pytestmark = pytest.mark.spark

PROGRAM = """
import sys, types
from flows.spark.daemon import import_needed
from flows.spark.task_forker import TaskForker

import_needed()
sys.modules["known_to_the_task_forker"] = types.ModuleType("known_to_the_task_forker")
forker = TaskForker()
forker.fork()
print(forker.environment["MM2_TASK_FORKER"], flush=True)
sys.stdin.read()
forker.end()
"""
"""What the driver does, without the rest of it."""


class Driver:
    """A process with a task forker."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.socket = Path(self.process.stdout.readline().decode().strip())
        self.family = psutil.Process(self.process.pid).children(recursive=True)

    def grow(self) -> None:
        """Remembers what the task forker has forked."""
        self.family = psutil.Process(self.process.pid).children(recursive=True)

    async def is_gone(self) -> bool:
        """Whether nothing that it has started is left."""
        return not self.socket.exists() and not any(each.is_running() for each in self.family)


@pytest.fixture
def driver() -> Iterator[Driver]:
    with_forker = Driver()
    yield with_forker
    for each in with_forker.family:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    with_forker.process.kill()
    with_forker.process.wait()
    # Whoever is left may hold the other end: its end is not waited for.
    for stream in (with_forker.process.stdin, with_forker.process.stdout):
        assert stream is not None
        stream.close()


async def test_a_worker_is_forked_from_the_task_forker_and_ends_with_spark(
    driver: Driver,
) -> None:
    def task(_: BundleSpec) -> dict[str, int]:
        import os
        import sys

        return {"pid": os.getpid(), "knows": "known_to_the_task_forker" in sys.modules}

    engine = SparkEngine({}, task=task, environment={VARIABLE: str(driver.socket)})
    try:
        totals = await engine.run(sample_spec())
        driver.grow()
        assert totals["pid"] in {each.pid for each in driver.family}
        assert totals["knows"]
    finally:
        await engine.stop()

    async def only_the_task_forker_is_left() -> bool:
        return len(psutil.Process(driver.process.pid).children(recursive=True)) == 1

    await eventually_async(only_the_task_forker_is_left)


async def test_without_a_task_forker_the_daemon_imports_by_itself(tmp_path: Path) -> None:
    def task(_: BundleSpec) -> dict[str, int]:
        return {"records": 7}

    environment = {VARIABLE: str(tmp_path / "nobody-listens")}
    engine = SparkEngine({}, task=task, environment=environment)
    try:
        assert await engine.run(sample_spec()) == {"records": 7}
    finally:
        await engine.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_the_task_forker_ends_with_its_driver_however_that_ends(
    driver: Driver, number: signal.Signals
) -> None:
    assert len(driver.family) == 1
    driver.process.send_signal(number)
    driver.process.wait(PATIENCE_S)
    await eventually_async(driver.is_gone)
