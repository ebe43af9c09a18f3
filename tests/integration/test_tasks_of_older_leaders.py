"""A task looks who leads before it takes its identity from another, and gives way to newer ones."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from flows.source.source_task import _run
from mm2.errors import Fenced
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, create_topic, produce

pytestmark = pytest.mark.broker


def _bench(source: Cluster, target: Cluster, topic: str, *, exactly_once: bool = False) -> Bench:
    create_topic(source.bootstrap, topic)
    return Bench(source, target, topic, {topic: 1}, exactly_once=exactly_once)


def _copied(bench: Bench, topic: str) -> list[bytes | None]:
    return [r.value for r in records_in(log_of(bench.target.bootstrap, bench.remote(topic)))]


def test_a_task_of_an_older_leader_that_starts_late_interrupts_nobody(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str
) -> None:
    """
    As when a node wakes up and starts its tasks again before it has read who leads.

    In transactions the identity counts from the moment in which it is given out.
    """
    bench = _bench(cluster_a, cluster_b, topic_name, exactly_once=True)
    with bench.running() as newer:
        produce(cluster_a.bootstrap, topic_name, [Sample(value=b"1")])
        eventually(partial(_copied, bench, topic_name), until=[b"1"].__eq__)
        with pytest.raises(Fenced, match="epoch 1 leads the flow now"):
            asyncio.run(_run(bench._spec(0)))
        produce(cluster_a.bootstrap, topic_name, [Sample(value=b"2")])
        eventually(partial(_copied, bench, topic_name), until=[b"1", b"2"].__eq__)
        assert not newer.done(), "it still has its identity"


def test_a_task_whose_leader_has_released_the_flow_does_not_begin(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str
) -> None:
    bench = _bench(cluster_a, cluster_b, topic_name)
    bench.tell(b"lease", b'{"version":1,"epoch":3,"owner":"n","state":"released"}')
    with pytest.raises(Fenced, match="epoch 3 leads the flow no more"):
        asyncio.run(_run(bench._spec(3)))


def test_a_task_gives_way_to_a_leader_of_a_newer_release(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str
) -> None:
    bench = _bench(cluster_a, cluster_b, topic_name)
    with bench.running(fails=True) as task:
        produce(cluster_a.bootstrap, topic_name, [Sample(value=b"1")])
        eventually(partial(_copied, bench, topic_name), until=[b"1"].__eq__)
        bench.tell(b"lease", b'{"version":2,"epoch":7,"owner":"n","leads":"in its own way"}')
        with pytest.raises(Fenced, match="epoch 7 leads the flow now"):
            task.result(PATIENCE_S)
