"""Where a flow keeps its offset syncs, and that it can do without."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.core.internal_records import Checkpoint
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, commit_group, consume, create_topic, everything, produce
from tests.support.topics import partition_counts

_FACTOR = "offset-syncs.topic.replication.factor"

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_offset_syncs_are_left_out_or_kept_on_the_target_as_asked(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """C376, C392, C393."""
    without, at_target, target = (f"{kind}{unique[-8:]}" for kind in "NST")
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"%d" % n) for n in range(100)])
    commit_group(cluster_a.bootstrap, unique, {(unique, 0): 40})
    text = properties(
        {
            without: cluster_a.bootstrap,
            at_target: cluster_a.bootstrap,
            target: cluster_b.bootstrap,
        },
        {
            f"{without}->{target}.enabled": "true",
            f"{without}->{target}.emit.offset-syncs.enabled": "false",
            f"{at_target}->{target}.enabled": "true",
            f"{at_target}->{target}.offset-syncs.topic.location": "target",
            "topics": unique,
            "groups": unique,
            "offset.lag.max": "0",
            "emit.heartbeats.enabled": "false",
            f"{at_target}->{target}.{_FACTOR}": "1",
        },
    ).replace(f"\n{_FACTOR} = 1\n", "\n")  # where there are no syncs it is refused
    with Mirror(tmp_path, text) as mirror:
        for source in (without, at_target):
            consume(cluster_b.bootstrap, f"{source}.{unique}", 100)
        eventually(lambda: _checkpoints(cluster_b, at_target))
        commit_group(cluster_a.bootstrap, unique, {(unique, 0): 100})
        found = eventually(
            lambda: _checkpoints(cluster_b, at_target), until=lambda c: c[-1].upstream_offset == 100
        )
        assert mirror.stop() == 0
    assert {c.partition.topic for c in found} == {f"{at_target}.{unique}"}
    downstream = [c.downstream_offset for c in found]
    assert downstream == sorted(downstream)
    syncs = {f"mm2-offset-syncs.{alias}.internal" for alias in (without, at_target, target)}
    assert syncs.isdisjoint(partition_counts(cluster_a))
    assert syncs & partition_counts(cluster_b).keys() == {f"mm2-offset-syncs.{at_target}.internal"}
    assert f"{without}.checkpoints.internal" not in partition_counts(cluster_b)


def _checkpoints(cluster: Cluster, source: str) -> list[Checkpoint]:
    topic = f"{source}.checkpoints.internal"
    return [Checkpoint.decode(r.key, r.value) for r in everything(cluster.bootstrap, topic)]
