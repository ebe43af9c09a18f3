"""A Kafka broker as a process, from the formatting of its storage to its end."""

from __future__ import annotations

import base64
import signal
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from mm2.demo.broker_settings import HOST, LOG4J
from mm2.demo.processes import Watched, java_command

START_TIMEOUT_S: Final = 180.0
_SHOWN_LINES: Final = 40


class BrokerNode:
    """
    One broker and controller, in a folder of its own.

    Args:
        home: the folder.
        ports: by names of listeners.
        jars: of Kafka.
        archive: of the brokers' classes; half of a start's CPU is spent on loading them. One that
            does not fit is passed over.
        options: flags of the JVM.

    Attributes:
        process: while it runs.
    """

    def __init__(
        self,
        home: Path,
        ports: Mapping[str, int],
        *,
        jars: Sequence[Path],
        archive: Path,
        options: Sequence[str],
    ) -> None:
        self.home = home
        self._jars = jars
        self._archive = archive
        self.ports = dict(ports)
        self.log = home / "broker.log"
        self.properties = home / "server.properties"
        self._options = options
        self.process: Watched | None = None

    def format(self, cluster_id: str, users: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Begins to format its storage; with the names and passwords of users (SCRAM)."""
        scram = [
            f"--add-scram={mechanism}=[name={name},password={password}]"
            for name, password in users.items()
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        ]
        arguments = ["format", "-t", cluster_id, "-c", str(self.properties), *scram]
        options = [*self._archived(), "-Xmx128m"]
        command = java_command(
            "kafka.tools.StorageTool", *arguments, options=options, jars=self._jars
        )
        with (self.home / "format.log").open("wb") as output:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )

    def start(self) -> None:
        """Begins to run it."""
        log4j = self.home / "log4j2.properties"
        log4j.write_text(LOG4J)
        options = [
            *self._archived(),
            *self._options,
            f"-Dbroker.log={self.log}",
            f"-Dlog4j2.configurationFile={log4j}",
        ]
        command = java_command(
            "kafka.Kafka", str(self.properties), options=options, jars=self._jars
        )
        self.process = Watched(command, self.home / "output.log")

    def _archived(self) -> list[str]:
        return [f"-XX:SharedArchiveFile={self._archive}"] if self._archive.exists() else []

    def end(self, *, timeout: float) -> None:
        """Ends it, and kills it after so many seconds; one that does not run is fine."""
        if self.process:
            self.process.signal(signal.SIGCONT)
            self.process.end(timeout=timeout)
            self.process = None

    def tail(self, *, important: bool = False) -> str:
        """The last lines of its logs, or of its warnings and errors alone."""
        lines: list[str] = []
        for path in (self.home / "format.log", self.home / "output.log", self.log):
            if path.exists():
                lines += path.read_text(errors="replace").splitlines()
        if important:
            lines = [line for line in lines if "] WARN " in line or "] ERROR " in line]
        return "\n".join(lines[-_SHOWN_LINES:])


def new_cluster_id() -> str:
    """The id of a cluster that is to be."""
    # The storage tool takes an id that begins with a dash for an option.
    number = uuid.uuid4().int >> 1
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")


def is_listening(port: int) -> bool:
    """Whether anybody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def nodes_seen(bootstrap: str, cluster_id: str) -> int:
    """How many nodes of this very cluster answer: another one may have taken the same port."""
    # A broker that was silent for long says that there are none; librdkafka 2.16 may then forget
    # its bootstrap servers for good (its issue 5301), so each look takes a client of its own.
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        metadata = admin.list_topics(timeout=1)
    except KafkaException:
        return 0
    return len(metadata.brokers) if str(metadata.cluster_id) == cluster_id else 0
