"""
Real Kafka clusters for tests, the demo and the benchmarks: KRaft brokers as subprocesses.

    with KafkaCluster(name="A") as cluster:
        print(cluster.bootstrap)

A node is broker and controller in one JVM; it is up in about three seconds. Its files lie in a
temporary folder that goes when the cluster is stopped.
"""

from __future__ import annotations

import base64
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Protocol, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.support.layout import (
    CONTROLLER,
    HOST,
    LOG4J,
    KafkaMissing,
    Security,
    broker_properties,
    class_archive,
    free_ports,
    render,
    secured,
    wanted_version,
)
from tests.support.process import Watched, java_command

START_TIMEOUT_S: Final = 180.0
STOP_TIMEOUT_S: Final = 30.0
_SHOWN_LINES: Final = 40


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


class _Node:
    """One broker and controller."""

    def __init__(
        self, home: Path, ports: Mapping[str, int], options: Sequence[str], version: str
    ) -> None:
        self.home = home
        self._version = version
        self.ports = dict(ports)
        self.log = home / "broker.log"
        self.properties = home / "server.properties"
        self._options = options
        self.process: Watched | None = None

    def format(self, cluster_id: str, users: Mapping[str, str]) -> subprocess.Popen[bytes]:
        scram = [
            f"--add-scram={mechanism}=[name={name},password={password}]"
            for name, password in users.items()
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        ]
        arguments = ["format", "-t", cluster_id, "-c", str(self.properties), *scram]
        options = [*self._archived(), "-Xmx128m"]
        command = java_command(
            "kafka.tools.StorageTool", *arguments, options=options, version=self._version
        )
        with (self.home / "format.log").open("wb") as output:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )

    def start(self) -> None:
        log4j = self.home / "log4j2.properties"
        log4j.write_text(LOG4J)
        options = [
            *self._archived(),
            *self._options,
            f"-Dbroker.log={self.log}",
            f"-Dlog4j2.configurationFile={log4j}",
        ]
        command = java_command(
            "kafka.Kafka", str(self.properties), options=options, version=self._version
        )
        self.process = Watched(command, self.home / "output.log")

    def _archived(self) -> list[str]:
        """Half of a start's CPU is spent on loading classes. What does not fit is passed over."""
        archive = class_archive(self._version)
        return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []

    def end(self, *, timeout: float) -> None:
        if self.process:
            self.process.signal(signal.SIGCONT)
            self.process.end(timeout=timeout)
            self.process = None

    def tail(self, *, important: bool = False) -> str:
        lines: list[str] = []
        for path in (self.home / "format.log", self.home / "output.log", self.log):
            if path.exists():
                lines += path.read_text(errors="replace").splitlines()
        if important:
            lines = [line for line in lines if "] WARN " in line or "] ERROR " in line]
        return "\n".join(lines[-_SHOWN_LINES:])


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
        self._nodes: list[_Node] = []
        # The storage tool takes an id that begins with a dash for an option.
        number = uuid.uuid4().int >> 1
        self._cluster_id = base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")

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
            if each.process:
                each.process.freeze()

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
        while not all(_listening(node.ports["PLAINTEXT"]) for node in started):
            self._check(deadline)
            time.sleep(0.05)
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        while _nodes_seen(admin, self._cluster_id) < len(started):
            self._check(deadline)
            time.sleep(0.05)

    def _explain(self, error: BaseException | None) -> None:
        """What the nodes warned of goes with their files: it is told with what failed."""
        if isinstance(error, Exception) and self._home:
            error.add_note(self.log_tail(important=True))

    def _check(self, deadline: float) -> None:
        ended = [node for node in self._nodes if node.process and node.process.status is not None]
        if ended or time.monotonic() > deadline:
            what = "ended" if ended else "is not ready in time"
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
        self._format()

    def _node(self, number: int, home: Path, ports: Mapping[str, int], voters: str) -> _Node:
        home.mkdir()
        node = _Node(home, ports, self._options, self.version)
        rack = {"broker.rack": self._racks[number - 1]} if self._racks else {}
        properties = broker_properties(
            node=number,
            voters=voters,
            ports=ports,
            data=home / "data",
            security=self._security,
            extra={**rack, **self._extra},
            routes=self._routes,
        )
        node.properties.write_text(render(properties))
        return node

    def _format(self) -> None:
        users = self._security.users
        running = [node.format(self._cluster_id, users) for node in self._nodes]
        statuses = [process.wait(START_TIMEOUT_S) for process in running]
        if any(statuses):
            raise KafkaMissing(f"Kafka's storage tool failed:\n{self.log_tail()}")

    def _chosen(self, node: int | None) -> Sequence[_Node]:
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


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _nodes_seen(admin: AdminClient, cluster_id: str) -> int:
    """Of this very cluster: another one may have been quicker to listen on the same port."""
    try:
        metadata = admin.list_topics(timeout=1)
    except KafkaException:
        return 0
    return len(metadata.brokers) if str(metadata.cluster_id) == cluster_id else 0
