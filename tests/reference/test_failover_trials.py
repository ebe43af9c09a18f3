"""Groups that move between clusters read each record once: `mm2 failover` and `mm2 failback`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from mm2.client import remote_cluster_utils
from tests.harness.trials.judging import faults_of, judge_copy, toll
from tests.harness.trials.planned import planned_round, stop_somewhere
from tests.harness.trials.trial import FAILBACK, FAILOVER, UNPLANNED, Trial
from tests.harness.trials.trial_clusters import Copy, TrialClusters, world
from tests.harness.trials.trial_tables import table_of
from tests.harness.trials.unplanned import unplanned_round
from tests.harness.trials.verdict import Where
from tests.reference.java_snippets import Snippet
from tests.support.cluster import Cluster
from tests.support.eventually import eventually

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.reference,
    pytest.mark.timeout(420),
]


@pytest.fixture(scope="module")
def place(cluster_b: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrialClusters]:
    folder = tmp_path_factory.mktemp("trials")
    with world(folder, cluster_b, Random(5), steps=150, with_java=True) as found:
        yield found


def test_groups_that_move_to_the_copy_and_back_read_each_record_once(place: TrialClusters) -> None:
    trials = planned_round(place, seed=1, count=2)
    assert not faults_of(trials)
    assert [trial.kind for trial in trials] == [FAILOVER] * 2 + [FAILBACK] * 2


def test_after_the_source_was_killed_only_what_no_checkpoint_covers_is_read_again(
    place: TrialClusters,
) -> None:
    trials = unplanned_round(place, seed=2, count=2)
    assert not faults_of(trials)
    assert [trial.kind for trial in trials] == [UNPLANNED] * 2


@pytest.mark.thorough
@pytest.mark.timeout(10_800)
@pytest.mark.parametrize("exactly_once", [False, True], ids=["at-least-once", "exactly-once"])
def test_of_fifty_groups_none_reads_what_it_need_not(
    cluster_b: Cluster, tmp_path: Path, *, exactly_once: bool
) -> None:
    """``scripts/trials`` writes the same down, and can go on where it was ended."""
    trials: list[Trial] = []
    with world(tmp_path, cluster_b, Random(6), with_java=True, exactly_once=exactly_once) as place:
        for seed in range(100, 110):
            trials += planned_round(place, seed=seed, count=5)
            trials += unplanned_round(place, seed=seed, count=5)
            print(table_of(trials))  # noqa: T201 - what is known so far
    assert not faults_of(trials)
    assert Counter(trial.kind for trial in trials) == {FAILOVER: 50, FAILBACK: 50, UNPLANNED: 50}


def test_javas_client_reads_our_checkpoints_and_our_client_javas(
    place: TrialClusters, tmp_path: Path
) -> None:
    """Never past the truth by either mirror's checkpoints; the same numbers by either client."""
    assert place.java is not None
    group = f"{place.prefix}-asked"
    stood = stop_somewhere(place, group, Random(3))
    run_java = Snippet("ReadsMirror", tmp_path)
    for copy in (place.copy, place.java):
        # Java may keep syncs back until it flushes offsets, every 60 s.
        arrived = eventually(lambda copy=copy: _same_answers(run_java, copy, group), timeout=180)  # type: ignore[misc]
        assert arrived.keys() <= stood.keys()
        verdicts = judge_copy(place, copy, stood, arrived)
        assert toll(verdicts).skipped == 0, verdicts


def _same_answers(run_java: Snippet, copy: Copy, group: str) -> dict[Where, int]:
    """Where the group goes on according to both clients; by the topics' names on the source."""
    properties = {"bootstrap.servers": copy.bootstrap}
    asked = asyncio.run(remote_cluster_utils.translate_offsets(properties, copy.alias, group))
    ours = {f"{where.topic}-{where.partition}": found.offset for where, found in asked.items()}
    lines = [line.split() for line in run_java(copy.bootstrap, "translate", copy.alias, group)]
    assert ours == {name: int(offset) for name, offset in lines}
    assert ours
    return {
        (where.topic.removeprefix(f"{copy.alias}."), where.partition): found.offset
        for where, found in asked.items()
    }
