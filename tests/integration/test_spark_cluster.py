"""A mirror on a standalone cluster of Spark: copies on its workers, and on those that are left."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
from click.testing import CliRunner

from flows.spark.engine import SparkEngine
from flows.spark.spark_job import JobFailed
from flows.spark.standalone_master import _applications, is_forgotten
from mm2.cli.mm2 import main
from mm2.demo.broker_settings import HOST, free_ports
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually, eventually_async
from tests.support.legacy_tool import committed_offsets, copies_when, legacy_tool
from tests.support.mirror import Mirror, one_way, worker_pids
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.spark_cluster import SparkCluster
from tests.support.specs import sample_spec
from tests.support.sql_numbers import EXPRESSIONS, SqlNumbers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

_PARTITIONS = 4
_INTERPRETER = Path(sys.executable).resolve()
_SECRET = "v3ry-s3cret-of-the-cluster"
_PASSWORD = "p4ssword-of-a-client"
_STARTS_WITHIN_S = 130.0
"""A machine that does much else starts an executor with its Python in a minute."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkCluster]:
    """A cluster that knows its applications by a secret, and has two workers of one core."""
    settings = {
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.authenticate.secret": _SECRET,
        "spark.decommission.enabled": "true",
    }
    with SparkCluster(workers=2, settings=settings) as found:
        yield found


def _kill_executor(spark: SparkCluster) -> None:
    with suppress(psutil.NoSuchProcess):  # Spark may have ended it.
        random.choice(eventually(spark.executors)).kill()


class _Copying:
    """Writes a record to each partition of a topic, and waits for the copies."""

    def __init__(self, source: Cluster, target: Cluster, topic: str) -> None:
        self._source, self._target, self._topic = source, target, topic
        self._rounds = 0
        create_topic(source.bootstrap, topic, _PARTITIONS)

    def goes_on(self) -> None:
        self._rounds += 1
        value = b"%d" % self._rounds
        samples = [Sample(value=value, partition=n) for n in range(_PARTITIONS)]
        produce(self._source.bootstrap, self._topic, samples)
        remote = f"{self._source.name}.{self._topic}"
        consume(self._target.bootstrap, remote, self._rounds * _PARTITIONS, timeout=100)


def _streams_of(spark: SparkCluster, group: str) -> set[int]:
    """The streams of a group that have told on workers, where their logs are."""
    texts = [each.read_text() for each in spark.home.glob("work/*/*/stderr")]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("{")]
    return {each["task"] for each in map(json.loads, lines) if each.get("group") == group}


@pytest.mark.broker
def test_streams_of_the_legacy_tool_copy_and_commit_on_the_workers(
    spark: SparkCluster, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """One of the two files says where, the other one the secret."""
    create_topic(cluster_a.bootstrap, unique, _PARTITIONS)
    samples = [Sample(value=b"%d" % n, partition=n % _PARTITIONS) for n in range(40)]
    produce(cluster_a.bootstrap, unique, samples)
    tool = legacy_tool(
        *(tmp_path, cluster_a, cluster_b, unique, "--include", unique, "--num.streams", "2"),
        *("--offset.commit.interval.ms", "200"),
        consumer=spark.application,
        producer={"spark.authenticate.secret": _SECRET},
    )
    with tool:
        copies = copies_when(cluster_b, unique, len(samples))
        eventually(spark.tasks, until=lambda count: count == 2)
        eventually(
            lambda: committed_offsets(cluster_a, unique, unique, _PARTITIONS),
            until=lambda offsets: offsets == [10] * _PARTITIONS,
        )
        eventually(lambda: _streams_of(spark, unique), until=lambda found: found == {0, 1})
        assert tool.stop() == 0
        assert _SECRET not in tool.text()
    assert sorted((each.partition, each.value) for each in copies) == sorted(
        (each.partition, each.value) for each in samples
    )


def _with_sql(spark: SparkCluster, mode: str) -> dict[str, str]:
    return {
        **EXPRESSIONS,
        **spark.application,
        "spark.authenticate.secret": _SECRET,
        "B.exactly.once.source.support": mode,
    }


@pytest.mark.broker
@pytest.mark.parametrize("mode", [pytest.param("disabled", marks=pytest.mark.thorough), "enabled"])
def test_sql_on_all_workers_loses_nothing_when_an_executor_is_killed(
    spark: SparkCluster,
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    *,
    mode: str,
) -> None:
    numbers = SqlNumbers(cluster_a, cluster_b, unique)
    settings = _with_sql(spark, mode)
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
        with numbers.traffic.running():
            numbers.wait_for_later()
            eventually(spark.tasks, until=lambda count: count == 2)
            numbers.survive(lambda: _kill_executor(spark))
        outcome = numbers.complete()
        assert mirror.stop() == 0
    assert (outcome.lost, outcome.is_in_order) == (0, True)
    assert mode == "disabled" or outcome.twice == 0


@pytest.mark.broker
@pytest.mark.parametrize("mode", [pytest.param("disabled", marks=pytest.mark.thorough), "enabled"])
def test_a_worker_that_is_decommissioned_and_taken_away_takes_no_record_with_it(
    spark: SparkCluster,
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    *,
    mode: str,
) -> None:
    """An executor elsewhere has started by the time that the worker goes."""
    numbers = SqlNumbers(cluster_a, cluster_b, unique)
    settings = _with_sql(spark, mode)
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
        with numbers.traffic.running():
            numbers.wait_for_later()
            eventually(spark.tasks, until=lambda count: count == 2)
            leaving = spark.workers[0]
            spark.decommission_worker(leaving)
            added = spark.add_worker()
            eventually(lambda: spark.executors_of(added))
            numbers.survive(lambda: spark.kill_worker(leaving))
        outcome = numbers.complete()
        assert mirror.stop() == 0
    print(f"{mode}: {outcome}")  # noqa: T201 - figures
    assert (outcome.lost, outcome.is_in_order) == (0, True)
    assert mode == "disabled" or outcome.twice == 0


@pytest.mark.broker
def test_a_flow_goes_on_with_the_workers_that_are_left_uses_late_ones_and_outlives_its_master(
    spark: SparkCluster, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Neither Spark's files nor its pages or processes show a password of a client meanwhile."""
    since_ms = time.time_ns() // 1_000_000
    copying = _Copying(cluster_a, cluster_b, unique)
    settings = {**spark.application, "spark.authenticate.secret": _SECRET}
    settings |= {"A.consumer.ssl.key.password": _PASSWORD, **_all_shown(tmp_path)}
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
        copying.goes_on()
        eventually(spark.tasks, until=lambda count: count == 2)
        assert _files_with(_PASSWORD, spark.home, tmp_path / "shown") == []
        assert _PASSWORD not in _of_processes(mirror.jvm(), *spark.executors())
        assert _PASSWORD not in _pages(settings["spark.ui.port"])
        # Of tasks, which run in executors: their log is the driver's.
        eventually(mirror.text, until=lambda text: '"event": "source.' in text)
        # The bundle that goes is the one without an executor, which is the harder case.
        pids = partial(worker_pids, cluster_b.bootstrap, cluster_a.name, since_ms)
        last = eventually(lambda: pids()[1])
        (worker,) = [each for each in spark.workers if spark.has_started(each, last)]
        spark.kill_worker(worker)
        eventually(mirror.text, until=lambda text: '"event": "spark.too_narrow"' in text)
        copying.goes_on()
        spark.add_worker()
        eventually(spark.tasks, until=lambda count: count == 2)
        copying.goes_on()
        # From two bundles to one, which takes all partitions, and to two again.
        eventually(lambda: _slots(mirror), until=lambda seen: seen == [1, 2])
        eventually(lambda: pids()[1], until=lambda pid: pid != last)
        _replace_master(spark)
        eventually(mirror.text, until=lambda text: '"event": "spark.restarting"' in text)
        copying.goes_on()
        assert mirror.stop() == 0
        assert _SECRET not in mirror.text()


def _all_shown(folder: Path) -> dict[str, str]:
    """Settings of a Spark that shows what it can, and keeps on the disk what it can."""
    events = folder / "shown" / "events"
    events.mkdir(parents=True)
    (port,) = free_ports(1)
    return {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.local.dir": str(folder / "shown" / "local"),
        # Of the functions of tasks nothing has room in memory.
        "spark.memory.fraction": "0.00001",
        "spark.broadcast.compress": "false",
    }


def _files_with(text: str, *folders: Path) -> list[Path]:
    files = [each for folder in folders for each in folder.rglob("*") if each.is_file()]
    assert any(each.name.startswith("broadcast_") for each in files)
    return [each for each in files if text.encode() in each.read_bytes()]


def _of_processes(*family: psutil.Process) -> str:
    """Command lines and environments."""
    processes = [*family, *(each for one in family for each in one.children(recursive=True))]
    return str([(each.cmdline(), each.environ()) for each in processes])


def _pages(port: str) -> str:
    """Those of Spark's web interface; the first one names the settings of Spark."""
    pages = [f"http://{HOST}:{port}/{page}/" for page in ("environment", "jobs", "executors")]
    texts = [urlopen(page, timeout=PATIENCE_S).read().decode() for page in pages]
    assert "spark.eventLog.dir" in texts[0]
    return "".join(texts)


def _replace_master(spark: SparkCluster) -> None:
    """The new one does not know the application, which needs executors."""
    spark.kill_master()
    spark.start_master()
    for executor in spark.executors():
        executor.kill()


def _slots(mirror: Mirror) -> list[int]:
    """How many slots flows have had, one after the other."""
    lines = (line for line in mirror.text().splitlines() if '"spark.slots_changed"' in line)
    return [json.loads(line)["slots"] for line in lines]


def _restart_tasks(mirror: Mirror) -> None:
    changes = ["producer.override.max.request.size=2000000", "--execute"]
    done = CliRunner().invoke(main, ["flows", "alter", str(mirror.file), *changes])
    assert done.exit_code == 0, done.output
    eventually(mirror.text, until=lambda text: "bundle.restarted" in text)


@pytest.mark.thorough
@pytest.mark.broker
def test_status_says_why_tasks_wait_until_there_is_a_worker(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    copying = _Copying(cluster_a, cluster_b, unique)
    with SparkCluster(workers=0) as spark:
        settings = {**spark.application, "spark.network.crypto.enabled": "false"}
        with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
            status = partial(CliRunner().invoke, main, ["status", str(mirror.file)])
            gives_none = "gives this application no executor for it: add workers"
            eventually(lambda: status().output, until=lambda text: gives_none in text)
            assert "MirrorSourceConnector task 0: the Spark cluster " in status().output
            _restart_tasks(mirror)
            assert "bundle.not_drained" not in mirror.text()
            spark.add_worker()
            copying.goes_on()
            eventually(lambda: status().output, until=lambda text: gives_none not in text)
            assert mirror.stop() == 0


async def test_the_master_says_whether_it_knows_the_application(spark: SparkCluster) -> None:
    settings = {**spark.application, "spark.authenticate.secret": _SECRET}
    engine = SparkEngine(settings, task=lambda _: {})
    try:
        await engine.start()
        context = engine._context
        assert context is not None
        _, known = _applications(context, spark.url.removeprefix("spark://"))
        assert context.applicationId in known
        assert is_forgotten(context) is False
    finally:
        await engine.stop()


async def test_the_task_of_a_worker_that_is_decommissioned_and_stays_begins_elsewhere(
    spark: SparkCluster, tmp_path: Path
) -> None:
    places = tmp_path / "places"
    places.touch()
    file = str(places)

    def task(_: BundleSpec) -> Mapping[str, int]:
        with Path(file).open("a") as told:
            told.write(f"{os.getpid()}\n")
        signal.pause()
        raise AssertionError

    async def pids() -> list[int]:
        return [int(line) for line in places.read_text().split()]

    settings = {**spark.application, "spark.authenticate.secret": _SECRET}
    engine = SparkEngine(settings, task=task)
    running = asyncio.create_task(engine.run(sample_spec()))
    try:
        (first,) = await eventually_async(pids, timeout=_STARTS_WITHIN_S)
        (leaving,) = [each for each in spark.workers if spark.has_started(each, first)]
        spark.decommission_worker(leaving)
        with pytest.raises(JobFailed):
            await running
        running = asyncio.create_task(engine.run(sample_spec()))
        both = partial(eventually_async, pids, timeout=_STARTS_WITHIN_S)
        _, second = await both(until=lambda found: len(found) == 2)
        assert not spark.has_started(leaving, second)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await engine.stop()
    spark.kill_worker(leaving)
    spark.add_worker()


async def test_executors_without_mm2_are_told_of_with_the_remedy(
    spark: SparkCluster, tmp_path: Path
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {_INTERPRETER} -I -S "$@"\n')
    bare.chmod(0o755)
    settings = {**spark.application, "spark.authenticate.secret": _SECRET}
    engine = SparkEngine(
        {**settings, "spark.pyspark.python": str(bare), "spark.task.maxFailures": "1"},
        task=lambda _: {},
    )
    with pytest.raises(JobFailed, match=r"no mm2 .*mm2 package-env"):
        await engine.run(sample_spec())
    await engine.stop()


@pytest.mark.thorough
async def test_executors_run_from_a_packed_environment_wherever_it_is_unpacked(
    spark: SparkCluster, tmp_path: Path
) -> None:
    archive = tmp_path / "env.tar.gz"
    packed = CliRunner().invoke(main, ["package-env", str(archive)])
    assert packed.exit_code == 0, packed.output
    home = str(spark.home)
    settings = dict(line.split(" = ") for line in packed.stdout.splitlines())
    settings |= {**spark.application, "spark.authenticate.secret": _SECRET}

    def task(_: BundleSpec) -> Mapping[str, int]:
        import flows.source.source_task as found
        from mm2.kafka.wire import kernel

        used = kernel._machine_code.stats.cache_hits  # type: ignore[attr-defined]
        unpacked = Path(found.__file__).is_relative_to(Path(home, "work"))
        return {"is_unpacked": int(unpacked), "is_compiled": sum(used.values())}

    engine = SparkEngine(settings, task=task)
    try:
        totals = await engine.run(sample_spec())
    finally:
        await engine.stop()
    assert totals == {"is_unpacked": 1, "is_compiled": 1}
