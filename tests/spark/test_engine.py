"""The Spark engine by itself: bundles as jobs, their failures, and its end."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows.spark.engine import SparkEngine
from flows.spark.spark_job import JobFailed
from mm2.config.connector_settings import TransformSettings
from mm2.errors import FatalError
from mm2.protocol.bundle_spec import BundleSpec
from tests.support import virtual_time
from tests.support.eventually import eventually_async
from tests.support.family import Family, family_of, javas
from tests.support.specs import sample_spec

pytestmark = pytest.mark.spark

Totals = Mapping[str, int]

_SECRET = "v3ry-s3cret-of-the-test"


@asynccontextmanager
async def _engine(
    task: Callable[[BundleSpec], Totals],
    settings: Mapping[str, str] | None = None,
    *,
    warm_after_s: float = 60.0,
) -> AsyncIterator[SparkEngine]:
    engine = SparkEngine(settings or {}, task=task, warm_after_s=warm_after_s)
    try:
        yield engine
    finally:
        await engine.stop()


async def test_one_bundle_fails_another_goes_on_and_nothing_is_left_behind(tmp_path: Path) -> None:
    folder = str(tmp_path)

    def task(spec: BundleSpec) -> Totals:
        Path(folder, str(spec.index)).write_text(str(os.getpid()))
        if spec.index == 0:
            raise ValueError("of bundle 0")
        while not Path(folder, "go").exists():
            time.sleep(0.05)
        return {"records": spec.index}

    before = family_of(psutil.Process())
    async with _engine(task) as engine:
        steady = asyncio.ensure_future(engine.run(sample_spec(index=1)))
        with pytest.raises(JobFailed, match="ValueError: of bundle 0"):
            await engine.run(sample_spec(index=0))
        assert not steady.done()
        (tmp_path / "go").touch()
        assert await steady == {"records": 1}
    await eventually_async(partial(_started_since, before), until=lambda left: not left)


async def test_an_engine_without_bundles_runs_a_task_so_that_its_first_bundle_starts_quickly() -> (
    None
):
    def task(_: BundleSpec) -> Totals:
        return {}

    before = family_of(psutil.Process())
    async with _engine(task, warm_after_s=0.0) as engine:
        await engine.start()
        assert await eventually_async(partial(_daemons, before), timeout=200)
        assert await engine.run(sample_spec(index=0)) == {}


async def test_the_settings_of_the_user_reach_spark_and_its_jvm() -> None:
    def task(_: BundleSpec) -> Totals:
        return {}

    settings = {"spark.app.name": "of-the-test", "spark.driver.memory": "600m"}
    before = family_of(psutil.Process())
    async with _engine(task, settings) as engine:
        await engine.start()
        (context,) = [engine._context]
        assert context is not None
        assert context.appName == "of-the-test"
        started = await _started_since(before)
        assert "-Xmx600m" in [word for jvm in javas(started) for word in started[jvm]]


async def test_a_bundles_passwords_are_written_to_no_file() -> None:
    def task(spec: BundleSpec) -> Totals:
        return {"characters": len(spec.source["sasl.jaas.config"])}

    long = _SECRET * 100_000  # PySpark has another way for functions of more than a megabyte
    spec = replace(sample_spec(), source={"sasl.jaas.config": long})
    async with _engine(task, {"spark.broadcast.UDFCompressionThreshold": "1m"}) as engine:
        await engine.start()
        with _files_written() as written:
            assert await engine.run(spec) == {"characters": len(long)}
    assert written
    assert not [each for each in written if _SECRET.encode() in each]


@pytest.mark.parametrize("sql", [None, "key"], ids=["plain", "sql"])
async def test_the_event_log_names_jobs_and_stages_by_their_bundle_and_has_no_passwords(
    tmp_path: Path, sql: str | None
) -> None:
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": tmp_path.as_uri()}
    settings |= {"spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}
    transforms = TransformSettings(sql_value=sql)
    spec = sample_spec(source={"sasl.jaas.config": _SECRET}, transforms=transforms)
    async with _engine(lambda _: {}, settings) as engine:
        await engine.run(spec)
    text, entries = _event_log(tmp_path)
    (start,) = [each for each in entries if each["Event"] == "SparkListenerJobStart"]
    assert start["Properties"]["spark.jobGroup.id"] == spec.name
    title = f"mirrors bundle {spec.name}"
    assert start["Properties"]["spark.job.description"] == title
    assert [stage["Stage Name"] for stage in start["Stage Infos"]] == [title]
    assert entries[-1]["Event"] == "SparkListenerApplicationEnd"
    assert _SECRET not in text


def _event_log(folder: Path) -> tuple[str, list[dict[str, Any]]]:
    (file,) = folder.glob("local-*")
    text = file.read_text()
    return text, [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("more", [{}, {"spark.driver.extraClassPath": "/nothing.jar"}])
async def test_settings_of_spark_are_on_no_command_line(more: dict[str, str]) -> None:
    def task(_: BundleSpec) -> Totals:
        return {}

    words: set[str] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.01):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    words.update(process.cmdline())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        async with _engine(task, {"spark.hidden.password": _SECRET, **more}) as engine:
            await engine.start()
            assert engine._context is not None
            assert engine._context.getConf().get("spark.hidden.password") == _SECRET
            assert await engine.run(sample_spec(index=0)) == {}
    finally:
        done.set()
        looking.join()
    assert "org.apache.spark.api.python.PythonGatewayServer" in words or "pyspark-shell" in words
    assert not [word for word in words if _SECRET in word]


@contextmanager
def _files_written() -> Iterator[list[bytes]]:
    """Collects what is in files that this process deletes, as PySpark does with those it makes."""

    def hook(event: str, words: tuple[object, ...]) -> None:
        if active and event == "os.remove":
            with suppress(OSError):
                written.append(Path(str(words[0])).read_bytes())

    active, written = [True], list[bytes]()
    sys.addaudithook(hook)
    try:
        yield written
    finally:
        active.clear()


async def test_a_cancelled_bundle_ends_at_once_with_its_worker(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    name = str(mark)

    def task(_: BundleSpec) -> Totals:
        Path(name).write_text(str(os.getpid()))
        time.sleep(1000)
        return {}

    async def started() -> str:
        return mark.read_text() if mark.exists() else ""

    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
    async with _engine(task) as engine:
        running = asyncio.ensure_future(engine.run(sample_spec(index=0)))
        pid = int(await eventually_async(started, timeout=200))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        async def is_gone() -> bool:
            return not psutil.pid_exists(pid)

        await eventually_async(is_gone)
    del running
    gc.collect()
    assert complaints == []


@pytest.mark.parametrize(
    ("settings", "share"),
    [
        ({}, 9),
        ({"spark.master": "local[4]"}, 4),
        ({"spark.master": "local[4]", "spark.task.cpus": "2"}, 2),
        ({"spark.master": "spark://host:7077"}, 9),
        ({"spark.master": "spark://host:7077", "spark.cores.max": "3"}, 3),
        ({"spark.master": "yarn", "spark.dynamicAllocation.maxExecutors": "3"}, 3),
    ],
)
def test_flows_have_as_many_slots_as_spark_and_a_cluster_decides_itself(
    settings: Mapping[str, str], share: int
) -> None:
    def task(_: BundleSpec) -> Totals:
        return {}

    slots = SparkEngine(settings, task=task).slots
    assert slots.join(changed=lambda: None, refused=lambda *_: None).request(9) == share


def test_a_node_is_not_warm_before_a_cluster_has_given_it_an_executor() -> None:
    engine = SparkEngine({"spark.master": "spark://host:7077"}, task=lambda _: {})
    warming: Future[bool] = Future()
    engine._warmth._warming = warming

    async def work() -> None:
        told: asyncio.Queue[bool] = asyncio.Queue()
        following = asyncio.ensure_future(engine.follow_warmth(told.put_nowait))
        await asyncio.wait({following}, timeout=600)
        assert told.empty()
        warming.set_result(True)
        assert await told.get()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    virtual_time.run(work())


async def test_a_setting_that_spark_refuses_is_a_clear_error() -> None:
    def task(_: BundleSpec) -> Totals:
        return {}

    engine = SparkEngine({"spark.master": "nonsense"}, task=task)
    with pytest.raises(FatalError, match=r"Spark does not start: .*Master must either be yarn"):
        await engine.start()
    await engine.stop()


async def _daemons(before: Family) -> list[int]:
    """Spark's Python daemon, which it starts for the first task, and its workers."""
    return [
        process.pid
        for process, words in (await _started_since(before)).items()
        if any("flows.spark.daemon" in word for word in words)
    ]


async def _started_since(before: Family) -> Family:
    """What runs that the test has started; there are brokers, and what earlier tests have left."""
    return family_of(psutil.Process(), but=before)
