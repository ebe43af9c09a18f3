"""Two clusters with a mirror, beside which commands of the documentation are run as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mm2.demo.broker_settings import free_ports
from mm2.demo.processes import QUICK_START
from tests.support.cluster import KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.layout import JARS, ROOT
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, consume, create_topic, produce

OF_A_PARTITION: Final = 110
"""Records; pages name offsets below 100."""

_PAGES: Final = ROOT / "docs" / "how-to"
_NODE: Final = re.compile(r"\b(localhost|127\.0\.0\.1):8083\b")
_CURL, _CURL_OR_FAIL = "curl ", "curl -S --fail-with-body "
"""The latter ends with an error where the answer is one."""

_ASK_AGAIN: Final = re.compile(r'"error_code": ?409\b')
"""What the pages say of this answer."""

_NEW_FILE: Final = "mm2 init "
_TOOLS: Final = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}
"""Kafka's own tools, by the scripts that start them; only their classes are here."""


class Scene:
    """Two clusters, and a folder for each page."""

    def __init__(self, source: KafkaCluster, target: KafkaCluster, folder: Path) -> None:
        self.source, self.target, self.folder = source, target, folder
        (self._port,) = free_ports(1)
        self.env = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_DATA_HOME": str(folder),
        }

    def text(self, *, port: int | None = None) -> str:
        """The properties file of the pages, for a node that listens on a port."""
        clusters = {"A": self.source.bootstrap, "B": self.target.bootstrap}
        topics = {"A->B.enabled": "true", "A->B.topics": "orders, payments.*", "tasks.max": "3"}
        listener = f"http://127.0.0.1:{port or self._port}"
        return properties(clusters, {**topics, "listeners": listener, "rest.read.only": "false"})

    def run(
        self, page: str, command: str, *, port: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """
        Runs a command in the folder of its page, which has what the page speaks of.

        What asks the node on this machine, asks the mirror, or who listens on ``port``.
        """
        folder = self.folder_of(page)
        if command.startswith(_NEW_FILE):
            (folder / "mm2.properties").unlink()
        typed = self.typed(command, port=port)
        return eventually(
            lambda: self._ended(typed, folder),
            until=lambda ended: not _ASK_AGAIN.search(ended.stdout),
        )

    def folder_of(self, page: str) -> Path:
        """Where commands of a page are run."""
        folder = self.folder / page
        if not folder.exists():
            folder.mkdir()
            (folder / "mm2.properties").write_text(self.text())
            file = _PAGES / page
            if file.exists() and "import strimzi" in file.read_text():
                exported = self.run(page, "mm2 export mm2.properties --as strimzi").stdout
                (folder / "kafka-mirror-maker-2.yaml").write_text(exported)
        return folder

    def typed(self, command: str, *, port: int | None = None) -> str:
        """A command with the addresses that are right here."""
        servers = {
            "kafka-1:9092,kafka-2:9092": self.source,
            "kafka-1:9092": self.source,
            "kafka-2:9092": self.target,
            "127.0.0.1:9092": self.source,
            "--bootstrap-server ...": self.target,
        }
        for written, cluster in servers.items():
            option = "--bootstrap-server " if written.startswith("--") else ""
            command = command.replace(written, option + cluster.bootstrap)
        for script, tool in _TOOLS.items():
            command = command.replace(script, f"java {' '.join(QUICK_START)} -cp '{JARS}/*' {tool}")
        command = command.replace("primary->standby", "A->B")
        command = _NODE.sub(rf"\1:{port or self._port}", command)
        return command.replace(_CURL, _CURL_OR_FAIL, 1)

    def _ended(self, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        words = ["/bin/bash", "-c", command]
        return subprocess.run(  # noqa: PLW1510 - its status is looked at
            words, cwd=folder, env=self.env, text=True, capture_output=True, timeout=PATIENCE_S
        )


@contextmanager
def mirrored(folder: Path) -> Iterator[Scene]:
    """A mirror that has copied some records of what the pages name."""
    with KafkaCluster("A") as source, KafkaCluster("B") as target:
        for topic, partitions in (("orders", 4), ("payments.eu", 1), ("_schemas", 1)):
            create_topic(source.bootstrap, topic, partitions)
            count = partitions * OF_A_PARTITION
            samples = [Sample(value=b"%d" % n, partition=n % partitions) for n in range(count)]
            produce(source.bootstrap, topic, samples)
        scene = Scene(source, target, folder)
        with Mirror(folder, scene.text()) as mirror:
            consume(target.bootstrap, "A.orders", 4 * OF_A_PARTITION)
            yield scene
            assert mirror.stop() == 0
