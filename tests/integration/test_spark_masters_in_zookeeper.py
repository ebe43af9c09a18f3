"""Two masters of Spark, of which ZooKeeper has one lead: the leading one is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from mm2.demo.broker_settings import HOST
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.numbered_copies import OF_THREE_S, NumberedCopies
from tests.support.spark_cluster import SparkCluster
from tests.support.zookeeper import free_port, running_at

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.thorough, pytest.mark.timeout(600)]

_TASKS = 2
_TICK_MS = 2_000
"""Nobody leads for 20 of them after a kill: for longer than jobs wait before mm2 asks a master."""


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[SparkCluster]:
    """Two masters and two workers."""
    folder, port = tmp_path / "zookeeper", free_port()
    folder.mkdir()
    settings = {
        "spark.deploy.recoveryMode": "ZOOKEEPER",
        "spark.deploy.zookeeper.url": f"{HOST}:{port}",
    }
    with (
        running_at(port, folder, tick_ms=_TICK_MS),
        SparkCluster(workers=_TASKS, masters=2, settings=settings) as found,
    ):
        yield found


def _kill_executors(spark: SparkCluster) -> None:
    for executor in spark.executors():
        with suppress(psutil.NoSuchProcess):  # Spark may have ended it.
            executor.kill()


def _kill_leader(spark: SparkCluster) -> int:
    number = spark.leader()
    spark.kill_master(number)
    return number


def _until_led(spark: SparkCluster) -> int:
    return eventually(spark.leader, until=lambda _: True)


class _Flow:
    """
    A mirror of two tasks, which copies for as long as masters come and go.

    Attributes:
        gaps_s: how long no partition, or not each, was copied after an event.
    """

    def __init__(
        self, spark: SparkCluster, source: Cluster, target: Cluster, topic: str, folder: Path
    ) -> None:
        self._spark = spark
        self._numbers = NumberedCopies(source, target, topic)
        exactly_once = {f"{target.name}.exactly.once.source.support": "enabled"}
        settings = {**spark.application, **exactly_once, "tasks.max": str(_TASKS)}
        self._mirror = Mirror(folder, one_way(source, target, topic, settings))
        self.gaps_s: dict[str, float] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """It has begun; at the end all was copied once, by one application of Spark."""
        with self._mirror:
            with self._numbers.traffic.running():
                self.goes_on("start")
                yield
            self._numbers.check_that_all_came_once()
            assert self._mirror.stop() == 0
            print(self.gaps_s)  # noqa: T201 - figures
            assert self._mirror.text().count('"event": "spark.started"') == 1

    def goes_on(self, after: str, later: int = 0) -> None:
        """Each partition, by both tasks."""
        self.gaps_s[after] = self._numbers.go_on(later)
        eventually(self._spark.tasks, until=lambda count: count == _TASKS)

    def loses_executors(self, after: str) -> None:
        """They are replaced."""
        _kill_executors(self._spark)
        self.goes_on(after, OF_THREE_S)


@pytest.fixture
def flow(
    spark: SparkCluster, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> _Flow:
    """One that has not begun."""
    return _Flow(spark, cluster_a, cluster_b, unique, tmp_path)


def test_a_master_that_takes_over_gives_an_application_all_that_it_had(
    spark: SparkCluster, flow: _Flow
) -> None:
    with flow.running():
        first = _kill_leader(spark)
        flow.goes_on("a kill of the leader")
        assert _until_led(spark) != first
        flow.loses_executors("a kill of executors after that")
        spark.start_master(first)
        _kill_leader(spark)
        flow.loses_executors("a kill of executors while nobody leads")
        assert _until_led(spark) == first


def test_a_master_that_is_started_when_none_is_left_knows_the_application(
    spark: SparkCluster, flow: _Flow
) -> None:
    with flow.running():
        first = _kill_leader(spark)
        spark.kill_master(1 - first)
        _kill_executors(spark)
        spark.start_master(first)
        flow.loses_executors("kills of both masters and of executors")


def test_an_application_waits_for_the_next_leader_while_the_last_one_says_nothing(
    spark: SparkCluster, flow: _Flow
) -> None:
    with flow.running():
        first = spark.leader()
        spark.silence_master(first)
        flow.loses_executors("a leader that hangs, and a kill of executors")
        assert _until_led(spark) != first


@pytest.mark.parametrize("is_dead", [False, True], ids=["standby", "dead"])
def test_a_mirror_starts_though_the_first_master_of_its_list_does_not_lead(
    spark: SparkCluster, flow: _Flow, *, is_dead: bool
) -> None:
    if spark.leader() == 0:
        spark.kill_master(0)
        assert _until_led(spark) == 1
        if not is_dead:
            spark.start_master(0)
    elif is_dead:
        spark.kill_master(0)
    with flow.running():
        pass
