"""Groups that are set back at random on both sides of two flows, and move."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.trials.judging import faults_of
from tests.harness.trials.rewinds import rewinding, rewound_round, rounds
from tests.harness.trials.trial_tables import table_of
from tests.support.cluster import Cluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(420)]


def test_groups_that_were_set_back_skip_nothing(
    cluster_a: Cluster, cluster_b: Cluster, tmp_path: Path
) -> None:
    with rewinding(tmp_path, cluster_a, cluster_b, syncs=True, exactly_once=False) as place:
        found = [rewound_round(place, seed, 2, move) for move, seed in rounds([1])]
    assert not faults_of([trial for some in found for trial in some])


@pytest.mark.thorough
@pytest.mark.timeout(10_800)
@pytest.mark.parametrize("exactly_once", [False, True], ids=["at-least-once", "exactly-once"])
@pytest.mark.parametrize("syncs", [False, True], ids=["no-sync", "sync"])
def test_of_many_groups_that_were_set_back_none_skips_anything(
    cluster_a: Cluster, cluster_b: Cluster, tmp_path: Path, *, syncs: bool, exactly_once: bool
) -> None:
    """In all four: 120 seeds of 8 groups, half of which go there and back."""
    with rewinding(tmp_path, cluster_a, cluster_b, syncs=syncs, exactly_once=exactly_once) as place:
        found = [rewound_round(place, seed, 4, move) for move, seed in rounds(range(1, 31))]
    trials = [trial for some in found for trial in some]
    print(table_of(trials))  # noqa: T201 - what was found
    assert not faults_of(trials)
