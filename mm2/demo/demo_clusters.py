"""The demo's two clusters, and the configuration that fits their addresses."""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from mm2.demo.broker_node import (
    START_TIMEOUT_S,
    BrokerNode,
    is_listening,
    new_cluster_id,
    nodes_seen,
)
from mm2.demo.broker_settings import (
    CONTROLLER,
    HOST,
    broker_properties,
    free_ports,
    settings_text,
)
from mm2.demo.processes import KafkaMissing

PORTS: Final[Mapping[str, int]] = {"A": 9092, "B": 9192}
"""Those of the configuration."""

_OPTIONS: Final = ("-Xmx512m",)
_NAME: Final = "mirror-maker.properties"
_CHECKOUT: Final = Path(__file__).parents[2]
_LOOK_EVERY_S: Final = 0.05


def sample_config() -> Path:
    """The configuration that comes with mm2: beside this module in a wheel."""
    installed = Path(__file__).with_name(_NAME)
    return installed if installed.exists() else _CHECKOUT / "config" / _NAME


class DemoCluster:
    """
    A cluster of one node, whose data go when it is stopped.

    Args:
        name: its alias.
        port: where clients connect.
        jars: of Kafka.
    """

    def __init__(self, name: str, port: int, jars: Sequence[Path]) -> None:
        self.name = name
        self.bootstrap = f"{HOST}:{port}"
        self._port = port
        self._jars = jars
        self._home: Path | None = None
        self._node: BrokerNode | None = None

    def start(self) -> None:
        """
        Starts it, and waits until it serves clients.

        Raises:
            KafkaMissing: it does not; the message has the end of its log.
        """
        self._home = Path(tempfile.mkdtemp(prefix=f"kafka-{self.name}-"))
        ports = {"PLAINTEXT": self._port, CONTROLLER: free_ports(1)[0]}
        archive = self._jars[0].parents[1] / "brokers.jsa"
        node = BrokerNode(self._home, ports, jars=self._jars, archive=archive, options=_OPTIONS)
        self._node = node
        voters, data = f"1@{HOST}:{ports[CONTROLLER]}", self._home / "data"
        properties = broker_properties(node=1, voters=voters, ports=ports, data=data)
        node.properties.write_text(settings_text(properties))
        cluster_id = new_cluster_id()
        if node.format(cluster_id, {}).wait(START_TIMEOUT_S):
            raise KafkaMissing(f"Kafka's storage tool failed:\n{node.tail()}")
        node.start()
        self._wait(node, cluster_id)

    def _wait(self, node: BrokerNode, cluster_id: str) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not is_listening(self._port) or not nodes_seen(self.bootstrap, cluster_id):
            has_ended = node.process is None or node.process.status is not None
            if has_ended or time.monotonic() > deadline:
                message = f"Kafka {self.name} does not start; its log:\n{node.tail()}"
                raise KafkaMissing(message)
            time.sleep(_LOOK_EVERY_S)

    def stop(self) -> None:
        """Stops it, and removes its files; may be called twice."""
        # The data go with the cluster, so there is nothing a slow shutdown would save.
        if self._node:
            self._node.end(timeout=0)
        if self._home:
            shutil.rmtree(self._home, ignore_errors=True)


def taken_ports() -> list[int]:
    """The configuration's ports on which somebody listens already."""
    return [port for port in PORTS.values() if _is_taken(port)]


def other_ports() -> dict[str, int]:
    """Free ports to take instead."""
    return dict(zip(PORTS, free_ports(len(PORTS)), strict=True))


def clusters(ports: Mapping[str, int], jars: Sequence[Path]) -> list[DemoCluster]:
    """The clusters, not started."""
    return [DemoCluster(alias, port, jars) for alias, port in ports.items()]


def configuration(file: Path, ports: Mapping[str, int], folder: Path) -> Path:
    """The configuration file; a copy with other addresses in ``folder`` if the ports differ."""
    if dict(ports) == dict(PORTS):
        return file
    text = file.read_text()
    for alias, port in ports.items():
        text = text.replace(f"{HOST}:{PORTS[alias]}", f"{HOST}:{port}")
    copy = folder / file.name
    copy.write_text(text)
    return copy


def _is_taken(port: int) -> bool:
    with socket.socket() as candidate:
        # As a broker does: what the last demo's connections left behind is no obstacle.
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind((HOST, port))
        except OSError:
            return True
    return False
