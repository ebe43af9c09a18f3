"""Settings and ports of a small broker, which is its own controller."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

from mm2.demo.processes import KafkaMissing

HOST: Final = "127.0.0.1"
CONTROLLER: Final = "CONTROLLER"
"""The name of the listener on which controllers talk to each other."""
_PORTS: Final = range(15_000, 32_000)
"""Below the range from which the system takes ports for outgoing connections."""
_OURS: Final[dict[int, IO[str]]] = {}
"""What was given out by this process, each with the open file whose lock says so."""

LOG4J: Final = """\
status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${sys:broker.log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


def free_ports(count: int) -> list[int]:
    """
    Different ports of the loopback interface on which nobody listens.

    They are ours until this process ends: no other process is given one of them here, even if
    nobody listens yet, or for a while.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        if _taken(port) and _free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise KafkaMissing(f"No {count} free ports on {HOST}.")


def _taken(port: int) -> bool:
    if port in _OURS:
        return False
    folder = Path(tempfile.gettempdir(), f"kafka-ports-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    mark = (folder / str(port)).open("w")
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        mark.close()
        return False
    _OURS[port] = mark
    return True


def _free(port: int) -> bool:
    with socket.socket() as candidate:
        try:
            candidate.bind((HOST, port))
        except OSError:
            return False
    return True


def listener_list(ports: Mapping[str, int]) -> str:
    """Listeners on the loopback interface, as brokers want them."""
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())


def broker_properties(
    *, node: int, voters: str, ports: Mapping[str, int], data: Path
) -> dict[str, str]:
    """
    What ``server.properties`` of one node holds; broker and controller share the process.

    Args:
        node: its number.
        voters: all controllers, ``number@host:port,...``.
        ports: by names of listeners; all are plain.
        data: where its logs are.
    """
    public = {name: port for name, port in ports.items() if name != CONTROLLER}
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "controller.listener.names": CONTROLLER,
        "listeners": listener_list(ports),
        "advertised.listeners": listener_list(public),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in ports),
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        **_small_properties(replicas=min(voters.count("@"), 3)),
    }


def _small_properties(*, replicas: int) -> dict[str, str]:
    """Few partitions, few threads, and short waits: these brokers live for minutes."""
    return {
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "2",
        "group.initial.rebalance.delay.ms": "0",
        # A restarted node registers again only once its former self has timed out.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "log.cleaner.backoff.ms": "1000",
        # Two records a second that say nothing are a third of what an idle node does.
        "metadata.max.idle.interval.ms": "0",
        # It is filled with zeros at the start, and each time that a log is compacted.
        "log.cleaner.dedupe.buffer.size": "4194304",
        # Some records have timestamps of years ago.
        "log.retention.ms": "-1",
        "num.network.threads": "2",
        "num.io.threads": "4",
    }


def settings_text(properties: Mapping[str, str]) -> str:
    """The text of a properties file."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())
