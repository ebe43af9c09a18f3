"""What a node does when Spark does not start: it says why, once, and ends."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import psutil
import pytest

from flows.spark.engine import SparkEngine
from mm2.errors import FatalError
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S
from tests.support.family import family_of, javas
from tests.support.mirror import Mirror, one_way, properties

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"spark.eventLog.enabled": "true", "spark.eventLog.dir": "/no/such/folder"},
            r"/no/such/folder does not exist \(see spark.eventLog.dir\)",
        ),
        ({"spark.archives": "/no/such.tar.gz#env"}, r"/no/such.tar.gz \(see spark.archives\)"),
        ({"spark.master": "spark://127.0.0.1:1"}, "spark.master=spark://127.0.0.1:1: .*refused"),
        ({"spark.master": "lokal[2]"}, "Master must either be yarn or start with"),
        (
            {"spark.driver.extraJavaOptions": "-XX:+NoSuchOption"},
            r"Unrecognized VM option 'NoSuchOption' \(see spark.driver.extraJavaOptions",
        ),
    ],
    ids=["event-log", "archive", "master-away", "no-master", "java-option"],
)
async def test_the_reason_is_the_same_each_time(settings: dict[str, str], says: str) -> None:
    """Who asked again waited for a JVM that had spoken already, for ever."""
    engine = SparkEngine(settings, task=lambda _: {})
    for _ in range(2):
        with pytest.raises(FatalError, match=f"Spark does not start: .*{says}"):
            await engine.start()
    await engine.stop()


async def test_a_master_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        before = family_of(psutil.Process())
        engine = SparkEngine({"spark.master": master}, task=lambda _: {}, starts_within_s=3.0)
        with pytest.raises(FatalError, match=f"spark.master={master} within 3 s"):
            await engine.start()
        assert javas(family_of(psutil.Process(), but=before)) == []
        await engine.stop()


@pytest.mark.parametrize(
    ("java", "within_s", "says"),
    [
        ("exec sleep 1000", 1.0, "Java .*/bin/java. does not come up within 1 s"),
        (
            "echo java.lang.UnsupportedClassVersionError: 61 >&2; exit 1",
            PATIENCE_S,
            "java is too old",
        ),
    ],
    ids=["stuck", "old"],
)
async def test_a_java_that_does_not_work_is_named(
    java: str, within_s: float, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "java"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\n{java}\n")
    script.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    engine = SparkEngine({}, task=lambda _: {}, starts_within_s=within_s)
    with pytest.raises(FatalError, match=says):
        await engine.start()
    await engine.stop()


def test_a_stop_while_spark_waits_for_its_master_is_obeyed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = {"A->B.enabled": "true"}
        settings["spark.master"] = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        nobody = {"A": "127.0.0.1:1", "B": "127.0.0.1:2"}
        with Mirror(tmp_path, properties(nobody, settings)) as mirror:
            for _ in range(2):  # mm2 looks whether somebody listens, and then Spark connects
                connection, _ = silent.accept()
            mirror.process.send_signal(signal.SIGTERM)
            assert mirror.process.wait(PATIENCE_S) == 0
            mirror.wait_gone()
            connection.close()


@pytest.mark.broker
def test_a_node_whose_flow_is_led_already_ends_with_one_error(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    folder = tmp_path / "none"
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(folder)}
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
        assert mirror.process.wait(PATIENCE_S) == 3
        mirror.wait_gone()
        (error,) = [line for line in mirror.text().splitlines() if '"level": "critical"' in line]
        assert f"{folder} does not exist (see spark.eventLog.dir)" in error
        assert '"level": "error"' not in mirror.text()
