"""What a node exports of flows between real clusters: counts are those of the copies."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mm2.metrics.shipped import DASHBOARD, shipped
from tests.harness.screenshots.dashboard import queries
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.otlp import OtlpReceiver
from tests.support.prometheus import PROMETHEUS, Prometheus
from tests.support.raw import log_of, records_in
from tests.support.records import commit_group, create_topic, numbered, produce
from tests.support.scrapes import Scrape

pytestmark = [pytest.mark.broker, pytest.mark.timeout(400)]

COUNT = "kafka_connect_mirror_mirrorsourceconnector_record_count"
BYTES = "kafka_connect_mirror_mirrorsourceconnector_byte_count"
LAG = "mm2_partition_lag_records"
LATENCY = "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms"

OF_SPARK_CLUSTERS = {
    "Executors",
    "Tasks and cores",
    "Executors lost, tasks moved, applications made anew",
}
OF_BACKLOGS = {"Time until the copy is complete", "Copied, by topic"}
OF_OPEN_TRANSACTIONS = {"Open transactions on the source"}
OF_TROUBLE = {"Warnings and errors in the log"}


@dataclass
class _Bench:
    source: Cluster
    target: Cluster
    topic: str
    folder: Path
    written: int = 0

    @property
    def remote(self) -> str:
        return f"{self.source.name}.{self.topic}"

    def node(self, stack: ExitStack, **changes: str) -> Mirror:
        settings = {"listeners": "http://127.0.0.1:0", "heartbeats.replication.enabled": "false"}
        settings |= {key.replace("_", "."): value for key, value in changes.items()}
        text = one_way(self.source, self.target, self.topic, settings)
        return stack.enter_context(Mirror(self.folder, text))

    def write(self, count: int) -> None:
        produce(self.source.bootstrap, self.topic, numbered(self.written, count, 2))
        self.written += count

    def copied(self) -> int:
        return sum(
            len(records_in(log_of(self.target.bootstrap, self.remote, partition=partition)))
            for partition in range(2)
        )

    def scraped(self, nodes: Sequence[Mirror]) -> list[Scrape]:
        """Of the nodes that lead the flow: one, as soon as one does."""
        found = [_scrape(node) for node in nodes if node.process.poll() is None]
        return [each for each in found if each.all("mm2_flow_leader")]

    def wait(self, *nodes: Mirror) -> Scrape:
        """Waits until all that was written is copied and counted, by one of the nodes alone."""

        def look() -> Scrape:
            (found,) = self.scraped(nodes)
            counted = sum(each.value for each in found.all(COUNT, topic=self.remote))
            lags = [each.value for each in found.all(LAG, topic=self.remote)]
            assert (counted, lags) == (self.written, [0, 0])
            return found

        return eventually(look, until=lambda _: True, timeout=120)


def _url(node: Mirror) -> str:
    lines = [each for each in node.text().splitlines() if "rest.listening" in each]
    assert lines, "it does not listen yet"
    return str(json.loads(lines[0])["advertised"])


def _scrape(node: Mirror) -> Scrape:
    try:
        with urllib.request.urlopen(f"{_url(node)}/metrics", timeout=30) as answer:
            return Scrape(answer.read().decode())
    except OSError as error:
        raise AssertionError(str(error)) from error


@pytest.fixture
def bench(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> _Bench:
    create_topic(cluster_a.bootstrap, unique, partitions=2)
    return _Bench(cluster_a, cluster_b, unique, tmp_path)


def test_counts_go_on_after_restarts(bench: _Bench) -> None:
    with ExitStack() as stack:
        node = bench.node(stack)
        bench.write(1000)
        first = bench.wait(node)
        group = f"g-{bench.topic}"
        commit_group(bench.source.bootstrap, group, {(bench.topic, 0): 100})
        eventually(lambda: _scrape(node).all(LATENCY, group=group, partition="0"))
        assert node.stop() == 0

        node = bench.node(stack)
        bench.write(500)
        second = bench.wait(node)
        sizes = [sum(each.value for each in found.all(BYTES)) for found in (first, second)]
        assert sizes[0] < sizes[1]

        bench.write(20_000)
        node.kill()
        node = bench.node(stack)
        bench.write(500)
        last = bench.wait(node)
    assert bench.copied() >= bench.written
    assert last.value("mm2_flow_epoch") > first.value("mm2_flow_epoch")


def test_another_node_counts_on(bench: _Bench) -> None:
    with ExitStack() as stack:
        nodes = [bench.node(stack) for _ in range(2)]
        bench.write(1000)
        bench.wait(*nodes)
        (leader,) = [node for node in nodes if _scrape(node).all("mm2_flow_leader")]
        leader.kill()
        bench.write(1000)
        bench.wait(*nodes)


@pytest.mark.skipif(
    PROMETHEUS is None, reason="there is no Prometheus; it is in Debian's package prometheus"
)
def test_prometheus_has_an_answer_to_each_query_of_the_dashboard(bench: _Bench) -> None:
    back = f"{bench.target.name}->{bench.source.name}"
    heartbeats = {f"{back}.emit.heartbeats.enabled": "true"}
    left = set(queries(json.loads(shipped(DASHBOARD))))
    with ExitStack() as stack:
        node = bench.node(stack, heartbeats_replication_enabled="true", **heartbeats)
        bench.write(1000)
        bench.wait(node)
        prometheus = stack.enter_context(Prometheus(bench.folder, urlsplit(_url(node)).netloc))
        eventually(lambda: prometheus.found("up == 1"))
        bench.write(500)
        commit_group(bench.source.bootstrap, f"g-{bench.topic}", {(bench.topic, 0): 100})

        def unanswered() -> set[str]:
            """Panels with a query that has found nothing so far."""
            left.difference_update([each for each in left if prometheus.found(each[1])])
            return {title for title, _ in left}

        may_be_empty = OF_SPARK_CLUSTERS | OF_BACKLOGS | OF_OPEN_TRANSACTIONS | OF_TROUBLE
        empty = eventually(unanswered, until=lambda titles: titles <= may_be_empty)
        assert empty >= OF_SPARK_CLUSTERS
        assert node.stop() == 0


def test_a_collector_gets_counts_without_a_port_and_again_after_it_was_away(bench: _Bench) -> None:
    with ExitStack() as stack:
        receiver = stack.enter_context(OtlpReceiver())
        node = bench.node(
            stack,
            rest_enabled="false",
            metrics_otlp_endpoint=receiver.url,
            metrics_otlp_interval_ms="1000",
        )
        bench.write(1000)

        def counted() -> float:
            last = receiver.received[-1].values.items()
            return sum(
                value
                for (name, labels), value in last
                if name == COUNT and ("topic", bench.remote) in labels
            )

        def is_exported() -> bool:
            """As the last of the node's words about it has it."""
            said = node.text()
            return said.rfind("metrics.exported") > said.rfind("metrics.not_exported")

        eventually(lambda: counted() == 1000, timeout=120)
        assert "rest.listening" not in node.text()
        # Both may be told several times: an answer may be late by itself.
        eventually(is_exported)
        receiver.status = 503
        eventually(lambda: not is_exported())
        bench.write(500)
        receiver.status = 200
        eventually(is_exported)
        eventually(lambda: counted() == 1500)
        assert node.stop() == 0
