"""``spark-submit`` around mm2: its master and settings hold, and its status is mm2's."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import pytest

from mm2.demo.broker_settings import HOST, free_ports
from mm2.demo.processes import Watched
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror, one_way
from tests.support.records import Sample, committed, consume, create_topic, produce
from tests.support.spark_cluster import SparkCluster

pytestmark = pytest.mark.spark

_PROGRAM = "from mm2.cli.connect_mirror_maker import main\nmain()\n"
_IMPATIENT = f"""\
from flows.spark.jobs import SparkJobs
SparkJobs.__init__.__kwdefaults__["starts_within_s"] = 3.0
{_PROGRAM}"""
_NOBODY_LISTENS = """\
clusters = A, B
A.bootstrap.servers = 127.0.0.1:1
B.bootstrap.servers = 127.0.0.1:2
A->B.enabled = true
B->A.emit.heartbeats.enabled = false
spark.master = local[5]
spark.app.name = of-the-file
"""


def _submitted(folder: Path, *options: str, text: str = _PROGRAM) -> Watched:
    file = folder / "mm2.properties"
    file.write_text(_NOBODY_LISTENS)
    return Watched(_command(file, options, text=text), folder / "mirror.log")


def _command(file: Path, options: Sequence[str] = (), text: str = _PROGRAM) -> list[str]:
    program = file.with_name("mirror.py")
    program.write_text(text)
    script = str(Path(sys.executable).with_name("spark-submit"))
    return [script, *options, str(program), str(file)]


def _python_of(submitted: Watched) -> psutil.Process:
    """The process of mm2; other children of the JVM are of Hadoop, each for a moment."""
    for child in psutil.Process(submitted.pid).children():
        with suppress(psutil.Error):
            if any(word.endswith("mirror.py") for word in child.cmdline()[1:2]):
                return child
    pytest.fail("spark-submit has no process of Python")


def _with_event_log(folder: Path) -> list[str]:
    folder.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]


def _name_in_event_log(folder: Path) -> str:
    (file,) = folder.iterdir()
    entries = map(json.loads, file.read_text().splitlines())
    name: str = next(each["App Name"] for each in entries if "App Name" in each)
    return name


@pytest.mark.parametrize(
    ("options", "slots", "name"),
    [
        (("--master", "local[3]", "--conf", "spark.app.name=mine"), 3, "mine"),
        ((), 5, "of-the-file"),
    ],
    ids=["given", "left-to-the-file"],
)
def test_its_master_and_settings_hold_and_a_stop_ends_all_with_status_0(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    slots: int,
    name: str,
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    log, events = tmp_path / "mirror.log", tmp_path / "events"
    submitted = _submitted(tmp_path, *options, *_with_event_log(events))
    try:
        lines = eventually(
            lambda: [line for line in log.read_text().splitlines() if '"spark.started"' in line]
        )
        assert json.loads(lines[0])["slots"] == slots
        psutil.Process(submitted.pid).terminate()
        assert eventually(lambda: submitted.status, until=lambda each: each is not None) == 0
        assert _name_in_event_log(events) == name
    finally:
        submitted.end(timeout=10)


def test_a_stop_while_spark_waits_for_a_silent_master_ends_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        submitted = _submitted(tmp_path, "--master", master)
        try:
            for _ in range(2):  # mm2 looks whether somebody listens, and then Spark connects
                connection, _ = silent.accept()
            psutil.Process(submitted.pid).terminate()
            assert eventually(lambda: submitted.status, until=lambda each: each is not None) == 143
            connection.close()
        finally:
            submitted.end(timeout=10)


def test_a_silent_master_is_given_up_with_one_error_and_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        submitted = _submitted(tmp_path, "--master", master, text=_IMPATIENT)
        try:
            assert eventually(lambda: submitted.status, until=lambda each: each is not None) == 3
        finally:
            submitted.end(timeout=10)
    lines = (tmp_path / "mirror.log").read_text().splitlines()
    (error,) = [line for line in lines if '"level": "critical"' in line]
    assert f"no master of Spark answers at spark.master={master} within 3 s" in error


def test_a_stop_of_the_python_process_is_obeyed_while_spark_waits_for_a_silent_master(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        submitted = _submitted(tmp_path, "--master", f"spark://127.0.0.1:{silent.getsockname()[1]}")
        try:
            for _ in range(2):  # mm2 looks whether somebody listens, and then Spark connects
                connection, _ = silent.accept()
            _python_of(submitted).terminate()
            assert eventually(lambda: submitted.status, until=lambda each: each is not None) == 0
            connection.close()
        finally:
            submitted.end(timeout=10)
    assert "masters are unresponsive" not in (tmp_path / "mirror.log").read_text()


def test_a_master_that_is_away_is_its_status_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    submitted = _submitted(tmp_path, "--master", "spark://127.0.0.1:1")
    try:
        assert eventually(lambda: submitted.status, until=lambda each: each is not None) == 3
        assert "spark.master=spark://127.0.0.1:1: " in (tmp_path / "mirror.log").read_text()
    finally:
        submitted.end(timeout=10)


@pytest.mark.broker
def test_events_of_tasks_are_in_its_log(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    create_topic(cluster_a.bootstrap, unique, 1)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"1")])
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique), command=_command) as mirror:
        consume(cluster_b.bootstrap, f"{cluster_a.name}.{unique}", 1)
        eventually(
            lambda: _events(mirror), until=lambda found: "source.partitions_assigned" in found
        )
        assert mirror.stop() == 0


@pytest.mark.broker
def test_on_a_cluster_it_copies_with_the_settings_of_its_spark_defaults_until_it_is_stopped(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both it and the command line win over the file, of which the rest holds."""
    create_topic(cluster_a.bootstrap, unique, 2)
    samples = [Sample(value=b"%d" % n, partition=n % 2) for n in range(20)]
    produce(cluster_a.bootstrap, unique, samples)
    (port,) = free_ports(1)
    with SparkCluster(workers=2) as spark:
        defaults = {
            **{key: value for key, value in spark.application.items() if key != "spark.master"},
            "spark.app.name": "of-the-defaults",
            "spark.executor.memory": "600m",
            "spark.ui.enabled": "true",
            "spark.ui.port": str(port),
        }
        lines = (f"{key} {value}\n" for key, value in defaults.items())
        (tmp_path / "spark-defaults.conf").write_text("".join(lines))
        monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        of_the_file = {
            "spark.master": "local[1]",
            "spark.app.name": "of-the-file",
            "spark.executor.memory": "700m",
            "spark.executor.heartbeatInterval": "4s",
        }
        text = one_way(cluster_a, cluster_b, unique, of_the_file)
        command = partial(_command, options=["--master", spark.url])
        with Mirror(tmp_path, text, command=command) as mirror:
            found = consume(cluster_b.bootstrap, f"{cluster_a.name}.{unique}", len(samples))
            (shown,) = _asked(port, "")
            used = dict(_asked(port, f"/{shown['id']}/environment")["sparkProperties"])
            memories = [_heap(each) for each in eventually(spark.executors)]
            assert mirror.stop() == 0
            mirror.wait_gone()
        eventually(spark.executors, until=lambda left: not left)
    assert {each.value for each in found} == {each.value for each in samples}
    assert shown["name"] == "of-the-defaults"
    assert used["spark.master"] == spark.url
    assert used["spark.executor.heartbeatInterval"] == "4s"
    assert set(memories) == {"-Xmx600M"}
    assert len(committed(cluster_b.bootstrap, f"{cluster_a.name}.{unique}")) == len(samples)


def _asked(port: int, path: str) -> Any:
    """What Spark's interface tells of applications."""
    with urlopen(f"http://{HOST}:{port}/api/v1/applications{path}", timeout=PATIENCE_S) as answer:
        return json.load(answer)


def _heap(executor: psutil.Process) -> str:
    (option,) = [word for word in executor.cmdline() if word.startswith("-Xmx")]
    return option


def _events(mirror: Mirror) -> set[str]:
    """Those of mm2's log; tasks print theirs with a mark."""
    lines = map(json.loads, filter(lambda line: line.startswith("{"), mirror.text().splitlines()))
    return {each["event"] for each in lines if "mm2_task" not in each}
