"""A start without Spark, or without Java: one clear line and status 3."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_FILES = {
    "connect_mirror_maker": (
        "clusters = A, B\nA->B.enabled = true\n"
        "A.bootstrap.servers = 127.0.0.1:1\nB.bootstrap.servers = 127.0.0.1:2\n"
    ),
    "connect_standalone": "bootstrap.servers = 127.0.0.1:1\n",
    "connect_distributed": (
        "bootstrap.servers = 127.0.0.1:1\ngroup.id = g\nconfig.storage.topic = c\n"
        "offset.storage.topic = o\nstatus.storage.topic = s\n"
    ),
}
_CONNECTOR = (
    "name = m\nconnector.class = MirrorSourceConnector\nsource.cluster.alias = A\n"
    "target.cluster.alias = B\nsource.cluster.bootstrap.servers = 127.0.0.1:2\n"
)
_WITHOUT_PYSPARK = """
import importlib.util as util, sys
find = util.find_spec
util.find_spec = lambda name, *rest: None if name == "pyspark" else find(name, *rest)
"""


def _run(
    folder: Path, program: str, *, before: str = "", **variables: str | None
) -> subprocess.CompletedProcess[str]:
    worker, connector = folder / "worker.properties", folder / "connector.properties"
    worker.write_text(_FILES[program] + "listeners = http://127.0.0.1:0\n")
    connector.write_text(_CONNECTOR)
    files = [str(worker), *([str(connector)] if program == "connect_standalone" else [])]
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", f"{before}\nfrom mm2.cli.{program} import main\nmain({files})"],
        env={key: value for key, value in environment.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("program", _FILES)
def test_a_missing_pyspark_is_one_line(tmp_path: Path, program: str) -> None:
    done = _run(tmp_path, program, before=_WITHOUT_PYSPARK)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (3, "")
    assert "PySpark is not installed" in line
    assert "pip install 'mm2[spark]'" in line


@pytest.mark.parametrize("program", _FILES)
def test_a_java_home_without_java_is_one_line(tmp_path: Path, program: str) -> None:
    done = _run(tmp_path, program, JAVA_HOME=str(tmp_path))
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"Spark needs Java 17 or 21, and JAVA_HOME={tmp_path} has no bin/java")


def test_no_java_at_all_is_one_line(tmp_path: Path) -> None:
    done = _run(tmp_path, "connect_mirror_maker", JAVA_HOME=None, PATH=str(tmp_path))
    (line,) = done.stderr.splitlines()
    assert done.returncode == 3
    assert "there is no java on the PATH" in line


def test_a_java_that_cannot_be_run_is_one_line(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("neither a script nor a program")
    java.chmod(0o755)
    done = _run(tmp_path, "connect_mirror_maker", JAVA_HOME=str(tmp_path))
    (line,) = done.stderr.splitlines()
    assert done.returncode == 3
    assert f"{java} cannot be run" in line


def test_a_spark_home_without_spark_is_one_line(tmp_path: Path) -> None:
    done = _run(tmp_path, "connect_mirror_maker", SPARK_HOME=str(tmp_path))
    (line,) = done.stderr.splitlines()
    assert done.returncode == 3
    assert f"SPARK_HOME={tmp_path} has no bin/spark-submit" in line
