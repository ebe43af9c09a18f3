"""A task whose process is stopped, while its executor runs on, is replaced."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way, worker_pids
from tests.support.numbered_copies import NumberedCopies
from tests.support.process import freeze

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.thorough, pytest.mark.timeout(300)]

_LEADER_READS_MS = 5_000
"""After the first copies; until the leader has read a report, a task may take minutes to start."""


@pytest.mark.parametrize("mode", ["disabled", "enabled"], ids=["at-least-once", "exactly-once"])
def test_a_task_that_hangs_is_replaced_and_others_never_stop(
    mode: str, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    numbers = NumberedCopies(cluster_a, cluster_b, unique)
    settings = {
        "B.exactly.once.source.support": mode,
        # Which has one partition: the task of it alone would be the one that hangs.
        "heartbeats.replication.enabled": "false",
    }
    pids_since = partial(worker_pids, cluster_b.bootstrap, cluster_a.name)
    with Mirror(tmp_path, one_way(cluster_a, cluster_b, unique, settings)) as mirror:
        with numbers.traffic.running():
            numbers.go_on()
            later_ms = time.time_ns() // 1_000_000 + _LEADER_READS_MS
            before = eventually(partial(pids_since, later_ms), until=lambda found: len(found) == 2)
            frozen = psutil.Process(before[0])
            freeze(frozen.pid)
            gap_s = numbers.go_on()
            eventually(lambda: not frozen.is_running())
            now_ms = time.time_ns() // 1_000_000
            after = eventually(partial(pids_since, now_ms), until=lambda found: len(found) == 2)
        twice = numbers.check_that_all_came()
        assert '"bundle.silent"' in mirror.text()
        assert mirror.stop() == 0
        mirror.wait_gone()
    print(f"{mode}: {gap_s:.0f} s, {twice} twice")  # noqa: T201 - figures
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert mode == "disabled" or twice == 0
