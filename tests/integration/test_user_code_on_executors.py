"""A message handler in a module that workers of a Spark cluster do not have by themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.mirror import Mirror, one_way
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.spark_cluster import SparkCluster

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.thorough,
    pytest.mark.timeout(300),
]

_MODULE = "mirror_user_code"
_CODE = """
def handle(record):
    return [record.replace(value=b"handled")]
"""
_METADATA = "Metadata-Version: 2.1\nName: mirror-user-code\nVersion: 1.0\n"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkCluster]:
    with SparkCluster(workers=1) as found:
        yield found


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an installed distribution, which the driver has on its path."""
    folder = tmp_path / "code"
    about = folder / "mirror_user_code-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / f"{_MODULE}.py").write_text(_CODE)
    (about / "METADATA").write_text(_METADATA)
    (about / "RECORD").write_text(f"{_MODULE}.py,,\n{about.name}/METADATA,,\n")
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(folder))
    return folder


def _sent(code: Path) -> dict[str, str]:
    return {"spark.submit.pyFiles": str(code / f"{_MODULE}.py")}


def _sent_as_archive(code: Path) -> dict[str, str]:
    archive = code.parent / "code.zip"
    with ZipFile(archive, "w") as written:
        written.write(code / f"{_MODULE}.py", f"{_MODULE}.py")
    return {"spark.submit.pyFiles": str(archive)}


def _packed(code: Path) -> dict[str, str]:
    archive = str(code.parent / "env.tar.gz")
    packed = CliRunner().invoke(main, ["package-env", archive, "--with", "mirror-user-code"])
    assert packed.exit_code == 0, packed.output
    return dict(line.split(" = ") for line in packed.stdout.splitlines())


def _there(code: Path) -> dict[str, str]:
    return {"spark.executorEnv.PYTHONPATH": str(code)}


@pytest.mark.parametrize("bring", [_sent, _sent_as_archive, _packed, _there])
def test_executors_get_it_by_each_way_of_the_documentation(
    spark: SparkCluster,
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    *,
    code: Path,
    bring: Callable[[Path], dict[str, str]],
) -> None:
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"%d" % n) for n in range(50)])
    handler = {"A->B.message.handler": f"{_MODULE}:handle", "A->B.message.handler.topics": unique}
    settings = {**spark.application, **bring(code), **handler}
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
        copies = consume(cluster_b.bootstrap, f"A.{unique}", 50, timeout=100)
        assert mirror.stop() == 0
    assert {each.value for each in copies} == {b"handled"}
