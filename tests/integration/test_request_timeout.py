"""How long brokers of the target may take."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mm2.kafka.wire.requests.produce import ProduceAnswer
from mm2.kafka.wire.wire_client import WireClient
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = pytest.mark.broker


def test_produce_tells_brokers_the_users_request_timeout(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str, unique: str
) -> None:
    asked: set[int] = set()

    class Noted(WireClient):
        async def produce(
            self,
            node: int,
            batches: Iterable[tuple[str, int, bytes | bytearray]],
            *,
            timeout_ms: int,
            transactional_id: str | None = None,
        ) -> ProduceAnswer:
            asked.add(timeout_ms)
            return await super().produce(
                node, batches, timeout_ms=timeout_ms, transactional_id=transactional_id
            )

    create_topic(cluster_a.bootstrap, topic_name)
    produce(cluster_a.bootstrap, topic_name, [Sample(value=b"1")])
    target = {"bootstrap.servers": cluster_b.bootstrap, "request.timeout.ms": "7000"}
    bench = Bench(
        cluster_a,
        cluster_b,
        unique,
        {topic_name: 1},
        connect=Noted,
        changes={"target": target},
    )
    with bench.running() as run:
        consume(cluster_b.bootstrap, bench.remote(topic_name), 1)
    assert asked == {7_000}
    assert run.result()["records"] == 1
