"""Which processes are a mirror's, also on a cluster of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from mm2.demo.processes import Watched
from tests.harness.bench.memory import watched
from tests.harness.bench.mirrors import Mirror, cpu_s, executors_of, family
from tests.support.eventually import eventually


def _kinds(workers: list[int]) -> list[str]:
    return sorted(kind for kind, _ in executors_of(workers))


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Watched]:
    """Like one of Spark's: Java is its child, and what else there is, is Java's."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nsleep 60 &\nwait\n")
    java.chmod(0o755)
    found = Watched(["/bin/sh", "-c", f"{java} & wait"], tmp_path / "worker.log")
    try:
        eventually(lambda: _kinds([found.pid]), until=lambda kinds: kinds == ["executors", "tasks"])
        yield found
    finally:
        for _, process in executors_of([found.pid]):
            process.kill()
        found.end(timeout=0)


@pytest.fixture
def driver(worker: Watched, tmp_path: Path) -> Iterator[Mirror]:
    found = Mirror(["sleep", "60"], tmp_path / "mirror.log", [worker.pid])
    yield found
    found.end(timeout=0)


def test_executors_of_a_cluster_are_a_part_of_the_mirror(driver: Mirror) -> None:
    assert [kind for kind, _ in family(driver)] == ["driver", "executors", "tasks"]


def test_their_cpu_time_is_counted_by_kind(driver: Mirror) -> None:
    assert cpu_s(driver, ()).keys() == {"brokers", "driver", "executors", "tasks"}


def test_their_memory_is_looked_at_by_kind(driver: Mirror) -> None:
    with watched(partial(family, driver), every_s=0.01) as peak:
        eventually(lambda: peak.pss)
    assert peak.kinds.keys() == {"driver", "executors", "tasks"}
