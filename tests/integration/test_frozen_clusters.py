"""Clusters that freeze, as a machine that is starved or suspended does, and go on later."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.cluster import KafkaCluster
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.secured import of_cluster, security

pytestmark = [pytest.mark.broker, pytest.mark.thorough, pytest.mark.timeout(300)]

_STRICT = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
"""Brokers are soon fenced, and then know of no broker for a moment after they were frozen."""

_IMPATIENT = {
    "A.request.timeout.ms": "2000",
    "A.default.api.timeout.ms": "3000",
    "B.request.timeout.ms": "2000",
    "B.default.api.timeout.ms": "3000",
    "sync.topic.acls.enabled": "true",
    "sync.topic.acls.interval.seconds": "1",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
}
_FROZEN_S = 12
"""Longer than all of these, and than brokers wait for each other."""

_STOPS_WITHIN_S = 30


@contextmanager
def _frozen(*clusters: KafkaCluster) -> Iterator[None]:
    for cluster in clusters:
        cluster.pause()
    try:
        yield
    finally:
        for cluster in clusters:
            cluster.resume()


def _numbered(first: int) -> list[Sample]:
    return [Sample(value=b"%d" % number) for number in range(first, first + 10)]


@pytest.mark.also_on_spark_cluster
@pytest.mark.parametrize("listeners", [("PLAINTEXT", "PLAINTEXT"), ("SASL_PLAINTEXT", "SSL")])
@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
def test_a_mirror_outlives_frozen_clusters_and_ends_in_order_while_they_are(
    tmp_path: Path, unique: str, exactly_once: str, listeners: tuple[str, str]
) -> None:
    """It is the same process before and after, and leaves with status 0 in the time it has."""
    brokers, clients = security(tmp_path)
    with (
        KafkaCluster("frozen-a", properties=_STRICT, security=brokers) as source,
        KafkaCluster("frozen-b", properties=_STRICT, security=brokers) as target,
    ):
        clusters = {
            "A": source.listeners(listeners[0]),
            "B": target.listeners(listeners[1]),
        }
        create_topic(source.bootstrap, unique)
        produce(source.bootstrap, unique, _numbered(0))
        settings = {
            **_IMPATIENT,
            "A->B.enabled": "true",
            "A->B.topics": unique,
            "B.exactly.once.source.support": exactly_once,
            **of_cluster("A", clients.get(listeners[0], {})),
            **of_cluster("B", clients.get(listeners[1], {})),
        }
        with Mirror(tmp_path, properties(clusters, settings)) as mirror:
            consume(target.bootstrap, f"A.{unique}", 10)
            for turn, frozen in enumerate([(source,), (target,), (source, target)], 1):
                with _frozen(*frozen):
                    time.sleep(_FROZEN_S)
                produce(source.bootstrap, unique, _numbered(10 * turn))
                consume(target.bootstrap, f"A.{unique}", 10 * (turn + 1), timeout=60)
                assert mirror.process.poll() is None
            with _frozen(source, target):
                mirror.process.send_signal(signal.SIGTERM)
                assert mirror.process.wait(_STOPS_WITHIN_S) == 0
                mirror.wait_gone()
