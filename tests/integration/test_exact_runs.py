"""
Exact runs between real clusters: each translated offset is where the first unread record stands.
"""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_left

import pytest

from mm2.client.translation import read_translation
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation import OffsetTranslation
from mm2.herder.bundle import FetchSpec, OffsetSyncSpec
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import log_of
from tests.support.records import (
    Sample,
    committed,
    create_topic,
    produce_transaction,
)

pytestmark = pytest.mark.broker

_COMMITTED = FetchSpec(max_wait_ms=100, read_committed=True)


def _bench(
    source: Cluster, target: Cluster, unique: str, *, exactly_once: bool = False, at: str = "source"
) -> Bench:
    """A flow of one topic and one partition, that publishes its runs on one of the clusters."""
    create_topic(source.bootstrap, f"{unique}-t")
    bench = Bench(
        source, target, unique, {f"{unique}-t": 1}, fetch=_COMMITTED, exactly_once=exactly_once
    )
    where = _where(bench, at)
    spec = OffsetSyncSpec(
        cluster=at,
        properties={"bootstrap.servers": where.bootstrap},
        topic=f"{unique}-syncs",
        lag_max=100,
        runs_topic=f"{unique}-runs",
    )
    for topic in (spec.topic, f"{unique}-runs"):
        create_topic(where.bootstrap, topic, configs={"cleanup.policy": "compact"})
    bench.changes = {"offset_syncs": spec}
    return bench


def _where(bench: Bench, at: str) -> Cluster:
    return bench.source if at == "source" else bench.target


def _topic(bench: Bench) -> str:
    (topic,) = bench.topics
    return topic


def _translation(bench: Bench, at: str) -> OffsetTranslation:
    """What the topics say by now."""
    properties = {"bootstrap.servers": _where(bench, at).bootstrap}
    syncs, runs = f"{bench.unique}-syncs", f"{bench.unique}-runs"
    return asyncio.run(read_translation(at, properties, syncs_topic=syncs, runs_topic=runs))


def _copied(bench: Bench, total: int) -> None:
    remote = bench.remote(_topic(bench))
    eventually(
        lambda: committed(bench.target.bootstrap, remote),
        until=lambda found: len(found) >= total,
        timeout=60,
    )


def _write(bench: Bench, rng: random.Random, first: int) -> int:
    """Committed and aborted transactions of random lengths; returns how many records count."""
    for commit in (True, False, True, True):
        count = rng.randint(1, 9)
        samples = [Sample(value=b"%d" % n) for n in range(first, first + count)]
        produce_transaction(bench.source.bootstrap, _topic(bench), samples, commit=commit)
        first += count if commit else 0
    return first


def _assert_exact(bench: Bench, at: str = "source", *, since: int = 0) -> None:
    """Compares both logs, offset by offset, there and back."""
    topic = _topic(bench)
    source = committed(bench.source.bootstrap, topic)
    remote = committed(bench.target.bootstrap, bench.remote(topic))
    upstream, downstream = [s.offset for s in source], [s.offset for s in remote]
    copies = {sample.value: index for index, sample in enumerate(remote)}
    translation, where = _translation(bench, at), TopicPartition(TopicName(topic), 0)
    for offset in range(since, log_of(bench.source.bootstrap, topic)[-1].last_offset + 2):
        found = translation.explain(where, offset)
        assert found is not None, offset
        assert found.exact, offset
        unread = bisect_left(upstream, offset)
        read = bisect_left(downstream, found.offset)
        expected = copies[source[unread].value] if unread < len(source) else len(remote)
        assert read == expected, f"{offset} is translated to {found.offset}"
    first = copies[source[bisect_left(upstream, since)].value] if since < upstream[-1] else 0
    for index in range(first, len(remote)):
        back = translation.reverse(where, downstream[index])
        assert back is not None
        assert source[bisect_left(upstream, back.offset)].value == remote[index].value


@pytest.mark.parametrize(
    ("exactly_once", "at"), [(False, "source"), (True, "target")], ids=["at-least", "exactly"]
)
def test_every_offset_is_exact_over_aborted_transactions_and_restarts(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, *, exactly_once: bool, at: str
) -> None:
    """Both places of the topic, and commit markers on either side (C228)."""
    bench = _bench(cluster_a, cluster_b, unique, exactly_once=exactly_once, at=at)
    rng, total = random.Random(7), 0
    for _ in range(3):
        with bench.running():
            for _ in range(2):
                total = _write(bench, rng, total)
                _copied(bench, total)
        _assert_exact(bench, at)
