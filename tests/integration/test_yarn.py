"""A mirror on a cluster of YARN: what it copies there, what it outlives, and how it ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.family import family_of
from tests.support.mirror import Mirror, one_way, properties
from tests.support.numbered_copies import OF_THREE_S, NumberedCopies
from tests.support.process import freeze
from tests.support.yarn_cluster import YarnCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

_PASSWORD: Final = "p4ssword-of-a-client"
_NOBODY: Final = {"A": "127.0.0.1:1", "B": "127.0.0.1:2"}
_STARTS_WITHIN_S: Final = 130.0
"""A machine that does much else starts an executor with its Python in a minute."""


@pytest.fixture(scope="module")
def _yarn() -> Iterator[YarnCluster]:
    with YarnCluster() as found:
        yield found


@pytest.fixture
def yarn(_yarn: YarnCluster, monkeypatch: pytest.MonkeyPatch) -> YarnCluster:
    """A cluster with two nodes, which commands find."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(_yarn.conf))
    return _yarn


def _settings(yarn: YarnCluster) -> dict[str, str]:
    return {**yarn.application, "B.exactly.once.source.support": "enabled"}


def _has_tasks(yarn: YarnCluster, count: int = 2) -> None:
    eventually(yarn.tasks, until=lambda found: found == count, timeout=_STARTS_WITHIN_S)


def _ends(yarn: YarnCluster, mirror: Mirror) -> None:
    """Of its own will, and with all that it has started, here and there."""
    assert mirror.stop() == 0
    mirror.wait_gone()
    eventually(lambda: yarn.states()[-1], until=lambda last: last == ("FINISHED", "SUCCEEDED"))
    eventually(lambda: yarn.application_masters() + yarn.executors(), until=lambda left: not left)


@pytest.mark.broker
def test_records_are_copied_once_and_nothing_shows_passwords(
    yarn: YarnCluster, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    copies = NumberedCopies(cluster_a, cluster_b, unique)
    settings = {**_settings(yarn), "A.consumer.ssl.key.password": _PASSWORD}
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
        with copies.traffic.running():
            copies.go_on()
            _has_tasks(yarn)
            # Of tasks, which run in executors: their log is the driver's.
            eventually(mirror.text, until=lambda text: '"event": "source.' in text)
            assert _files_with(_PASSWORD, yarn.home) == []
            assert _PASSWORD not in _of_processes(mirror, yarn) + json.dumps(yarn.applications())
        copies.check_that_all_came_once()
        _ends(yarn, mirror)


def _files_with(text: str, folder: Path) -> list[Path]:
    """What YARN was given, and has given to containers, is among them."""
    files = [each for each in folder.rglob("*") if each.is_file()]
    names = {each.name for each in files}
    assert {"pyspark.zip", "launch_container.sh", "container_tokens", "stderr"} <= names
    return [each for each in files if text.encode() in each.read_bytes()]


def _of_processes(mirror: Mirror, yarn: YarnCluster) -> str:
    """Command lines and environments."""
    shown = []
    for first in [*mirror.family(), *yarn.executors(), *yarn.application_masters()]:
        for each in [first, *first.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):  # It has ended, and may still be in the table.
                shown.append((each.cmdline(), each.environ()))
    assert "flows.spark.daemon" in str(shown)
    return str(shown)


@pytest.mark.thorough
@pytest.mark.broker
def test_what_is_killed_or_forgotten_begins_again(
    yarn: YarnCluster, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    copies = NumberedCopies(cluster_a, cluster_b, unique)
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, _settings(yarn))) as mirror:
        with copies.traffic.running():
            copies.go_on()
            _has_tasks(yarn)
            eventually(yarn.executors)[0].kill()
            copies.go_on(OF_THREE_S)
            _has_tasks(yarn)
            yarn.application_masters()[0].kill()
            copies.go_on(OF_THREE_S)
            _has_tasks(yarn)
            yarn.kill_application(yarn.applications()[-1]["id"])
            copies.go_on(OF_THREE_S)
            _has_tasks(yarn)
            assert [state for state, _ in yarn.states()[-2:]] == ["KILLED", "RUNNING"]
            assert "spark.application_ended" in mirror.text()
            yarn.kill_manager()
            copies.go_on()
            yarn.start_manager()
            # It knows no application, and has nodes end what they run.
            eventually(lambda: [state for state, _ in yarn.states()] == ["RUNNING"])
            yarn.wait_for_nodes(2)
            copies.go_on(OF_THREE_S)
        copies.check_that_all_came_once()
        _ends(yarn, mirror)


@pytest.mark.thorough
@pytest.mark.broker
def test_a_node_that_is_lost_with_all_containers_takes_no_record_with_it(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """YARN itself would know it after ten minutes."""
    copies = NumberedCopies(cluster_a, cluster_b, unique)
    with YarnCluster(nodes=1) as yarn:
        monkeypatch.setenv("HADOOP_CONF_DIR", str(yarn.conf))
        with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, _settings(yarn))) as mirror:
            with copies.traffic.running():
                copies.go_on()
                _has_tasks(yarn)
                (node,) = yarn.nodes
                yarn.kill_node(node)
                yarn.start_node()
                copies.go_on(OF_THREE_S)
            copies.check_that_all_came_once()
            assert [state for state, _ in yarn.states()] == ["KILLED", "RUNNING"]
            _ends(yarn, mirror)


@pytest.mark.thorough
@pytest.mark.broker
def test_a_mirror_runs_from_a_packed_environment_and_a_driver_that_is_killed_leaves_nothing(
    yarn: YarnCluster,
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
) -> None:
    archive = tmp_path / "env.tar.gz"
    packed = CliRunner().invoke(main, ["package-env", str(archive)])
    assert packed.exit_code == 0, packed.output
    settings = {**_settings(yarn), **dict(line.split(" = ") for line in packed.stdout.splitlines())}
    copies = NumberedCopies(cluster_a, cluster_b, unique)
    # Spark would have executors look where PYTHONPATH says, too.
    command = ["env", "-u", "PYTHONPATH", sys.executable, "-m", "mm2.cli.connect_mirror_maker"]
    file = one_way(cluster_a, cluster_b, unique, settings)
    with Mirror(tmp_path, file, command=lambda path: [*command, str(path)]) as mirror:
        with copies.traffic.running():
            copies.go_on()
            _has_tasks(yarn)
            started = [words for each in yarn.executors() for words in family_of(each).values()]
            daemons = [words[0] for words in started if "flows.spark.daemon" in words]
            assert set(daemons) == {"./env/bin/python"}
        copies.check_that_all_came_once()
        mirror.kill()
        mirror.wait_gone()
        eventually(yarn.executors, until=lambda left: not left)
        eventually(lambda: yarn.states()[-1][0], until=lambda last: last == "FINISHED")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"spark.yarn.queue": "no-such"}, "to unknown queue: no-such (see spark.yarn.queue)"),
        ({"spark.executor.memory": "9g"}, "Required executor memory (9216 MB)"),
    ],
    ids=["queue", "memory"],
)
def test_what_yarn_refuses_is_one_error(
    yarn: YarnCluster, tmp_path: Path, settings: dict[str, str], says: str
) -> None:
    assert says in _fails(tmp_path, {**yarn.application, **settings})


@pytest.mark.thorough
def test_an_application_that_waits_in_a_queue_is_told_of_and_leaves_it_on_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with YarnCluster(nodes=0) as yarn:
        eventually(yarn.applications, until=lambda found: found == [])
        monkeypatch.setenv("HADOOP_CONF_DIR", str(yarn.conf))
        settings = {"A->B.enabled": "true", **yarn.application}
        with Mirror(tmp_path, properties(_NOBODY, settings)) as mirror:
            eventually(mirror.text, until=lambda text: '"event": "spark.queued"' in text)
            assert " in queue root.mirrors: " in mirror.text()
            assert mirror.stop() == 0
            mirror.wait_gone()
        assert yarn.states() == [("KILLED", "KILLED")]
        freeze(yarn.manager.pid)
        assert "no ResourceManager of YARN answers" in _fails(tmp_path, yarn.application)
        # Nothing says where one is, and Hadoop's client asks its default address for minutes.
        monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
        assert "no ResourceManager of YARN answers" in _fails(tmp_path, yarn.application)


def _fails(folder: Path, settings: dict[str, str]) -> str:
    """The one error of a mirror that ends with status 3."""
    settings = {"A->B.enabled": "true", **settings}
    with Mirror(folder, properties(_NOBODY, settings)) as mirror:
        assert mirror.process.wait(PATIENCE_S) == 3
        mirror.wait_gone()
        lines = [json.loads(line) for line in mirror.text().splitlines()]
    (error,) = [each for each in lines if each["level"] in {"error", "critical"}]
    return str(error["error"])
