"""
Real Kafka clusters for tests, the demo and the benchmarks: KRaft brokers as subprocesses.

    with KafkaCluster(name="A") as cluster:
        print(cluster.bootstrap)

A node is broker and controller in one JVM; it is up in about three seconds. Its files lie in a
temporary folder that goes when the cluster is stopped.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol, Self

from mm2.demo.broker_node import (
    START_TIMEOUT_S,
    BrokerNode,
    is_listening,
    new_cluster_id,
    nodes_seen,
)
from mm2.demo.broker_settings import CONTROLLER, HOST, free_ports, settings_text
from mm2.demo.processes import KafkaMissing
from tests.support.formatted_storage import format_storage
from tests.support.layout import (
    Security,
    class_archive,
    jars,
    secured,
    secured_properties,
    wanted_version,
)
from tests.support.process import freeze

STOP_TIMEOUT_S: Final = 30.0


class Cluster(Protocol):
    """What every provider of clusters offers."""

    @property
    def name(self) -> str:
        """The alias by which tests speak of it."""
        ...

    @property
    def bootstrap(self) -> str:
        """The plain listeners, ``host:port,...``."""
        ...


class KafkaCluster:
    """
    A cluster of its own, made on ``start`` (or ``with``) and removed on ``stop``.

    Args:
        name: its alias.
        brokers: how many nodes.
        port: the first node's plain port, the next node's one higher; free ports when not given.
        heap: of each JVM, as Java writes sizes.
        options: more flags of each JVM; they win.
        properties: more server properties; they win.
        racks: of the nodes, in their order.
        security: the secured listeners to open.
        routes: more plain listeners by name, each with the port that it advertises, where a proxy
            leads to ``listeners(name)``; for clusters of one node.
        version: of the brokers; what the suite is run with unless given.

    Attributes:
        name: its alias.
        version: of the brokers; they do not all behave alike.
    """

    def __init__(
        self,
        name: str = "A",
        *,
        brokers: int = 1,
        port: int | None = None,
        heap: str = "512m",
        options: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        racks: Sequence[str] = (),
        security: Security | None = None,
        routes: Mapping[str, int] | None = None,
        version: str | None = None,
    ) -> None:
        self.name = name
        self.version = version or wanted_version(name)
        self._brokers = brokers
        self._port = port
        self._options = [f"-Xmx{heap}", *options]
        self._extra = dict(properties or {})
        self._racks = racks
        self._security = security or Security()
        self._routes = dict(routes or {})
        self._home: Path | None = None
        self._nodes: list[BrokerNode] = []
        self._cluster_id = new_cluster_id()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        self._explain(error)
        self.stop()

    @property
    def bootstrap(self) -> str:
        """The plain listeners of all nodes."""
        return self.listeners("PLAINTEXT")

    @property
    def pids(self) -> list[int]:
        """The process ids of the nodes that run."""
        return [node.process.pid for node in self._nodes if node.process]

    def listeners(self, protocol: str) -> str:
        """The listeners for a security protocol of all nodes, ``host:port,...``."""
        return ",".join(f"{HOST}:{node.ports[protocol]}" for node in self._nodes)

    def start(self) -> Self:
        """Makes the nodes and waits until they serve. Stops everything if that fails."""
        try:
            self._make()
            for node in self._nodes:
                node.start()
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stops all nodes and removes their files; may be called twice."""
        # The data go with the cluster, so there is nothing a slow shutdown would save.
        for node in self._nodes:
            node.end(timeout=0)
        if self._home:
            shutil.rmtree(self._home, ignore_errors=True)
        self._home, self._nodes = None, []

    def stop_node(self, node: int | None = None, *, timeout: float = STOP_TIMEOUT_S) -> None:
        """Shuts a node (counted from 0; None: all) down in order; its data stay."""
        for each in self._chosen(node):
            each.end(timeout=timeout)

    def kill(self, node: int | None = None) -> None:
        """Kills a node (None: all) as ``kill -9`` does; its data stay."""
        for each in self._chosen(node):
            each.end(timeout=0)

    def restart(self, node: int | None = None) -> None:
        """Starts a stopped or killed node (None: all) on its old ports and data, and waits."""
        for each in self._chosen(node):
            if each.process is None:
                each.start()
        self.wait_until_ready()

    def pause(self, node: int | None = None) -> None:
        """Stops a node's (None: all) clock with SIGSTOP: connections stay open and silent."""
        for each in self._chosen(node):
            if each.process and each.process.status is None:
                freeze(each.process.pid)

    def resume(self, node: int | None = None) -> None:
        """Lets a paused node (None: all) go on."""
        for each in self._chosen(node):
            if each.process:
                each.process.signal(signal.SIGCONT)

    def log_folder(self, topic: str, partition: int = 0, *, node: int = 0) -> Path:
        """Where a node keeps a partition's log; only for looking, or while the node is stopped."""
        return self._nodes[node].home / "data" / f"{topic}-{partition}"

    def log_tail(self, *, important: bool = False) -> str:
        """The last lines of the nodes' logs, or of their warnings and errors only."""
        return "\n".join(
            f"--- {self.name} node {number}\n{node.tail(important=important)}"
            for number, node in enumerate(self._nodes)
        )

    def wait_until_ready(self, timeout: float = START_TIMEOUT_S) -> None:
        """Returns when every started node serves clients; raises with the logs' end otherwise."""
        started = [node for node in self._nodes if node.process]
        deadline = time.monotonic() + timeout
        while not all(is_listening(node.ports["PLAINTEXT"]) for node in started):
            self._check(deadline, "listen")
            time.sleep(0.05)
        while nodes_seen(self.bootstrap, self._cluster_id) < len(started):
            self._check(deadline, "tell of all its nodes")
            time.sleep(0.05)

    def _explain(self, error: BaseException | None) -> None:
        """What the nodes warned of goes with their files: it is told with what failed."""
        if isinstance(error, Exception) and self._home:
            error.add_note(self.log_tail(important=True))

    def _check(self, deadline: float, awaited: str) -> None:
        ended = [node for node in self._nodes if node.process and node.process.status is not None]
        if ended or time.monotonic() > deadline:
            what = "ended" if ended else f"does not {awaited} in time"
            raise KafkaMissing(f"Kafka {self.name} {what}; its log:\n{self.log_tail()}")

    def _make(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix=f"kafka-{self.name}-"))
        names = ["PLAINTEXT", CONTROLLER, *secured(self._security), *self._routes]
        ports = [
            dict(zip(names, free_ports(len(names)), strict=True)) for _ in range(self._brokers)
        ]
        if self._port is not None:
            for number, each in enumerate(ports):
                each["PLAINTEXT"] = self._port + number
        voters = ",".join(f"{n}@{HOST}:{each[CONTROLLER]}" for n, each in enumerate(ports, 1))
        for number, each in enumerate(ports, 1):
            self._nodes.append(self._node(number, self._home / f"node-{number}", each, voters))
        format_storage(
            self._nodes,
            cluster_id=self._cluster_id,
            version=self.version,
            users=self._security.users,
        )

    def _node(self, number: int, home: Path, ports: Mapping[str, int], voters: str) -> BrokerNode:
        home.mkdir()
        node = BrokerNode(
            home,
            ports,
            jars=jars(self.version),
            archive=class_archive(self.version),
            options=self._options,
        )
        rack = {"broker.rack": self._racks[number - 1]} if self._racks else {}
        properties = secured_properties(
            node=number,
            voters=voters,
            ports=ports,
            data=home / "data",
            security=self._security,
            extra={**rack, **self._extra},
            routes=self._routes,
        )
        node.properties.write_text(settings_text(properties))
        return node

    def _chosen(self, node: int | None) -> Sequence[BrokerNode]:
        return self._nodes if node is None else [self._nodes[node]]


@contextmanager
def running(*clusters: KafkaCluster) -> Iterator[None]:
    """
    Starts several clusters at the same time, and stops them all at the end.
    """
    with ExitStack() as stack, ThreadPoolExecutor(len(clusters)) as executor:
        for cluster in clusters:
            stack.push(cluster.__exit__)
        for started in [executor.submit(cluster.start) for cluster in clusters]:
            started.result()
        yield
