"""Java's nodes or ours: a flow's group on the target lets in whoever comes first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.raw import contents
from tests.support.records import Sample, create_topic, produce

pytestmark = [
    pytest.mark.broker,
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.thorough,
    pytest.mark.timeout(600),
]

_EACH = 50


def test_whoever_comes_second_copies_nothing_until_the_first_has_gone(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source = f"S{unique[-6:]}"
    create_topic(cluster_a.bootstrap, unique)
    text = properties(
        {source: cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {
            f"{source}->B.enabled": "true",
            "topics": unique,
            f"B->{source}.enabled": "false",
            f"B->{source}.emit.heartbeats.enabled": "false",
        },
    )
    copied = _writer(cluster_a, cluster_b, unique, f"{source}.{unique}")
    with Mirror(tmp_path, text, command=java_mirror) as java:
        copied()
        with Mirror(tmp_path, text) as ours:
            eventually(lambda: '"flow.refused"' in ours.text())
            copied()
            assert '"flow.led"' not in ours.text()
            assert java.stop(180) == 143
            copied()
            with Mirror(tmp_path, text, command=java_mirror) as late:
                eventually(lambda: "InconsistentGroupProtocol" in late.text(), timeout=120)
                assert late.process.wait(PATIENCE_S) == 1
                copied()
            assert ours.stop() == 0


def _writer(source: Cluster, target: Cluster, topic: str, remote: str) -> Callable[[], None]:
    """Writes some more records, and waits until all that were ever written are there, once."""
    values: list[bytes] = []

    def copied() -> None:
        more = [b"%d" % n for n in range(len(values), len(values) + _EACH)]
        values.extend(more)
        produce(source.bootstrap, topic, [Sample(value=value) for value in more])
        eventually(lambda: len(contents(target.bootstrap, remote)) >= len(values), timeout=120)
        assert [content[2] for content in contents(target.bootstrap, remote)] == values

    return copied
