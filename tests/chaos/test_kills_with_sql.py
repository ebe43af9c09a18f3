"""The driver, Spark's JVM and Python processes are killed while SQL changes records."""

from __future__ import annotations

import random
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.sql_numbers import EXPRESSIONS, SqlNumbers

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.chaos, pytest.mark.thorough]


class _Runs(ExitStack):
    """A driver that is started again after it was killed."""

    def __init__(self, folder: Path, text: str) -> None:
        super().__init__()
        self.mirror = self.enter_context(Mirror(folder, text))

    def kill_driver(self) -> None:
        self.mirror.kill()
        self.mirror.wait_gone()
        self.enter_context(self.mirror)

    def kill_jvm(self) -> None:
        self.mirror.jvm().kill()

    def kill_python(self) -> None:
        """Python's daemon, or one of the two workers of a task."""
        with suppress(psutil.NoSuchProcess):  # Spark may have ended it.
            random.choice(eventually(self._pythons)).kill()

    def _pythons(self) -> list[psutil.Process]:
        above = {self.mirror.process.pid, self.mirror.jvm().pid}
        return [each for each in self.mirror.family() if each.ppid() not in above]


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(
    ("mode", "kills"),
    [
        pytest.param("enabled", 20, id="exactly-once-20"),
        pytest.param("disabled", 20, id="at-least-once-20"),
    ],
)
def test_all_records_come_and_exactly_once_none_comes_twice(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path, *, mode: str, kills: int
) -> None:
    """At random moments, and each of the three in turn."""
    numbers = SqlNumbers(cluster_a, cluster_b, unique)
    settings = {**EXPRESSIONS, "B.exactly.once.source.support": mode}
    with _Runs(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as runs:
        events = [runs.kill_driver, runs.kill_jvm, runs.kill_python]
        with numbers.traffic.running():
            numbers.wait_for_later()
            for number in range(kills):
                numbers.wait_for_later(random.randint(0, 600))
                numbers.survive(events[number % len(events)])
        outcome = numbers.complete()
        assert runs.mirror.stop() == 0
    print(f"{mode}: {outcome}")  # noqa: T201 - figures
    assert (outcome.lost, outcome.is_in_order) == (0, True)
    assert mode == "disabled" or outcome.twice == 0
