"""Instances of an offset manager are killed while many groups commit and fetch."""

from __future__ import annotations

import time
from statistics import median

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.offset_manager import (
    load,
    served,
    until_all_have_committed,
    until_all_serve,
)
from tests.support.records import create_topic

pytestmark = [pytest.mark.broker, pytest.mark.chaos, pytest.mark.thorough]

KILLS = 20
GROUPS = 16


@pytest.mark.timeout(1200)
def test_no_acknowledged_commit_is_lost_and_no_fetch_is_stale_when_leaders_are_killed(
    cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 10)
    settings = {
        "offsets.topic.name": f"{unique}-offsets",
        "offsets.topic.num.partitions": "12",
        "offsets.topic.replication.factor": "1",
    }
    groups = [f"{unique}-{number}" for number in range(GROUPS)]
    gaps_s = []
    with served(cluster_a.bootstrap, settings, 3) as instances:
        until_all_serve(instances)
        with load(instances, unique, groups) as (histories, running):
            for turn in range(KILLS):
                victim = instances[turn % len(instances)]
                eventually(lambda: victim.led)  # noqa: B023 - asked at once
                killed_s = time.monotonic()
                victim.kill()
                victim.start()
                until_all_have_committed(histories)
                gaps_s.append(time.monotonic() - killed_s)
        result = running.result()
    told = f"until all commit again: median {median(gaps_s):.1f} s, longest {max(gaps_s):.1f} s"
    print(told)  # noqa: T201 - figures
    assert result.wrong == {}
    assert len(result.commits.took_s) >= KILLS * GROUPS
