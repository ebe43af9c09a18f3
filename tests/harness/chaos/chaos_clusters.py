"""Two clusters, the nodes that mirror between them, and numbered records on their way."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient

from mm2.demo.broker_settings import HOST, free_ports
from mm2.driver.flows_of_file import load_flows
from mm2.herder.view.flow_follower import view_flow
from tests.harness.chaos.ledger import Toll
from tests.harness.chaos.node import Node
from tests.harness.chaos.numbered_records import Reader, Writer, lag
from tests.harness.chaos.proxy import Link, Links
from tests.support.cluster import KafkaCluster, running
from tests.support.eventually import eventually
from tests.support.mirror import properties
from tests.support.records import create_topic

ONE_WAY: Final = (("A", "B"),)
BOTH_WAYS: Final = (("A", "B"), ("B", "A"))

_TOPIC: Final = "numbers"
_PARTITIONS: Final = 4
_RATE: Final = 400
"""Records per second of each flow."""

RECOVERS_WITHIN_S: Final = 120.0
_BEHIND_S: Final = 1.0
_FOR_S: Final = 1.0
"""A flow has recovered when no partition is further behind, for as long."""


@dataclass(frozen=True, slots=True)
class Route:
    """One flow, what is written at its source, and who reads at its target."""

    source: str
    target: str
    writer: Writer
    reader: Reader

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"

    @property
    def is_level(self) -> bool:
        """Whether copies arrive, and next to nothing is on its way."""
        return (
            all(self.reader.next)
            and max(lag(self.writer, self.reader)) <= _RATE / _PARTITIONS * _BEHIND_S
        )

    @property
    def is_complete(self) -> bool:
        """Whether all that the source has was read."""
        return not any(lag(self.writer, self.reader))


@dataclass(frozen=True, slots=True)
class ChaosClusters:
    """
    Everything that events happen to.

    Attributes:
        nodes: all of them run.
        routes: the flows.
        file: a configuration that reaches both clusters directly.
    """

    nodes: Sequence[Node]
    routes: Sequence[Route]
    file: Path

    @property
    def rate(self) -> int:
        """Records per second of all flows."""
        return _RATE * len(self.routes)

    def leader(self, flow: str) -> Node:
        """The node that has last said that it leads a flow; the first, if none has."""
        epochs = {_last_epoch(node, flow): node for node in reversed(self.nodes)}
        return epochs[max(epochs)]

    def measure(self) -> None:
        """Begins to measure gaps and delays."""
        for route in self.routes:
            route.reader.measure()

    def tolls(self) -> dict[str, Toll]:
        """What the flows have suffered so far."""
        return {str(route): route.reader.toll for route in self.routes}

    def wait_until_level(self) -> None:
        """
        Returns when all flows keep up with what is written.

        Raises:
            AssertionError: they do not; with what is missing.
        """
        since = time.monotonic()
        deadline = since + RECOVERS_WITHIN_S
        while time.monotonic() - since < _FOR_S:
            if not all(route.is_level for route in self.routes):
                since = time.monotonic()
            behind = {str(route): lag(route.writer, route.reader) for route in self.routes}
            assert since < deadline, f"not level within {RECOVERS_WITHIN_S} s, behind by {behind}"
            time.sleep(0.05)

    def wait_until_joined(self) -> None:
        """Returns when all nodes that run, and no others, are known to every flow."""
        count = sum(1 for node in self.nodes if node.is_running)
        eventually(self._known, until=lambda found: found == {count})

    def _known(self) -> set[int]:
        """How many nodes the flows know."""
        flows = load_flows(self.file, None)
        return {len(asyncio.run(view_flow(flow)).nodes) for flow in flows if flow.source.runs}


@contextmanager
def world(
    folder: Path,
    *,
    flows: Sequence[tuple[str, str]] = ONE_WAY,
    exactly_once: bool = False,
    nodes: int = 3,
) -> Iterator[ChaosClusters]:
    """
    Makes all of it; copies have begun to arrive when the context begins.

    When it ends, writing stops, and all that was written must have arrived.

    Args:
        folder: for configurations and logs.
        flows: source and target of each.
        exactly_once: whether to copy in transactions.
        nodes: how many.
    """
    ports = {alias: free_ports(nodes) for alias in ("A", "B")}
    clusters = {
        alias: KafkaCluster(alias, routes={f"NODE{n}": port for n, port in enumerate(own)})
        for alias, own in ports.items()
    }
    with ExitStack() as stack:
        stack.enter_context(running(*clusters.values()))
        links = stack.enter_context(Links())
        found = []
        for number in range(nodes):
            servers = {alias: f"{HOST}:{own[number]}" for alias, own in ports.items()}
            text = _text(servers, flows, exactly_once=exactly_once)
            to = {a: _link(links, c, ports[a][number], number) for a, c in clusters.items()}
            node = Node(folder / f"node-{number}", text, to)
            stack.callback(node.end)
            found.append(node)
        routes = _routes(stack, clusters, flows, found)
        place = ChaosClusters(found, routes, _direct(folder, clusters, flows))
        place.wait_until_level()
        yield place
        _finish(place)


def _direct(
    folder: Path, clusters: Mapping[str, KafkaCluster], flows: Sequence[tuple[str, str]]
) -> Path:
    file = folder / "direct.properties"
    servers = {alias: cluster.bootstrap for alias, cluster in clusters.items()}
    file.write_text(_text(servers, flows, exactly_once=False))
    return file


def _link(links: Links, cluster: KafkaCluster, port: int, number: int) -> Link:
    return links.open(port, int(cluster.listeners(f"NODE{number}").rpartition(":")[2]))


def _text(
    servers: Mapping[str, str], flows: Sequence[tuple[str, str]], *, exactly_once: bool
) -> str:
    settings = {"topics": _TOPIC, "A->B.enabled": "false", "B->A.enabled": "false"}
    settings |= {f"{source}->{target}.enabled": "true" for source, target in flows}
    for source, target in flows if exactly_once else ():
        settings[f"{target}.exactly.once.source.support"] = "enabled"
        settings[f"{source}.consumer.isolation.level"] = "read_committed"
    return properties(servers, settings)


def _routes(
    stack: ExitStack,
    clusters: Mapping[str, KafkaCluster],
    flows: Sequence[tuple[str, str]],
    nodes: Sequence[Node],
) -> list[Route]:
    """Starts the nodes, too: readers need copies to read."""
    for source, _ in flows:
        create_topic(clusters[source].bootstrap, _TOPIC, _PARTITIONS)
    for node in nodes:
        node.start()
    routes = []
    for source, target in flows:
        copy = f"{source}.{_TOPIC}"
        bootstrap = clusters[target].bootstrap
        eventually(
            lambda b=bootstrap, t=copy: _partitions(b, t) == _PARTITIONS,  # type: ignore[misc]
            timeout=RECOVERS_WITHIN_S,
        )
        reader = stack.enter_context(Reader(bootstrap, copy, _PARTITIONS))
        writer = stack.enter_context(Writer(clusters[source].bootstrap, _TOPIC, _PARTITIONS, _RATE))
        routes.append(Route(source, target, writer, reader))
    return routes


def _partitions(bootstrap: str, topic: str) -> int:
    """How many partitions have a leader."""
    found = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).topics
    return sum(1 for each in found[topic].partitions.values() if each.leader >= 0)


def _finish(place: ChaosClusters) -> None:
    for route in place.routes:
        route.writer.stop()
    eventually(lambda: all(route.is_complete for route in place.routes), timeout=RECOVERS_WITHIN_S)
    for flow, toll in place.tolls().items():
        assert not toll.missing, f"{flow}: {toll.missing} records are lost"


def _last_epoch(node: Node, flow: str) -> int:
    """The highest epoch with which a node has led a flow; -1: never."""
    events = [
        json.loads(line)
        for text in node.logs()
        for line in text.splitlines()
        if '"flow.led"' in line
    ]
    return max((event["epoch"] for event in events if event.get("flow") == flow), default=-1)
