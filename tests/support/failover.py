"""
A flow between two clusters, groups that read on both sides, and the commands that move them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from confluent_kafka import OFFSET_STORED, Consumer, TopicPartition

from mm2.cli.mm2 import main
from mm2.demo.broker_settings import free_ports
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.in_time import in_time
from tests.support.records import DEADLINE_S, Sample, commit_group, create_topic, produce
from tests.support.runbooks import FOLDER, commands


@dataclass(frozen=True)
class Scene:
    """
    A flow, its file, and both clusters.

    Attributes:
        file: the properties file.
        source: the cluster that is read.
        target: the cluster that is written.
        alias: the source's.
        other: the target's.
        prefix: all names of topics begin with it.
        is_renamed: whether copies have other names.
    """

    file: Path
    source: Cluster
    target: Cluster
    alias: str
    other: str
    prefix: str
    is_renamed: bool = True

    @property
    def flow(self) -> str:
        """The flow's name."""
        return f"{self.alias}->{self.other}"

    def topic(self, name: str, partitions: int = 1) -> str:
        """Creates a topic that the flow mirrors."""
        topic = f"{self.prefix}{name}"
        create_topic(self.source.bootstrap, topic, partitions)
        return topic

    def remote(self, topic: str) -> str:
        """What a topic's copy is called."""
        return f"{self.alias}.{topic}" if self.is_renamed else topic

    def write(self, topic: str, numbers: Sequence[int], partition: int = 0) -> None:
        """Writes records with numbers."""
        samples = [Sample(value=b"%d" % number, partition=partition) for number in numbers]
        produce(self.source.bootstrap, topic, samples)

    def stand(self, group: str, topic: str, *offsets: int) -> None:
        """Has a group stand at these offsets of a topic's partitions, on the source."""
        places = {(topic, number): offset for number, offset in enumerate(offsets)}
        commit_group(self.source.bootstrap, group, places)

    def run(self, *words: str, file: Path | None = None) -> Result:
        """Runs ``mm2 failover`` or another command; the file comes third."""
        command, verb, *rest = words
        arguments = [command, verb, str(file or self.file), "--flow", self.flow, *rest]
        return CliRunner().invoke(main, arguments, catch_exceptions=False)

    def ok(self, *words: str, file: Path | None = None) -> dict[str, Any]:
        """As ``run``; gives back what it says in JSON, and fails if it fails."""
        result = self.run(*words, "--format", "json", file=file)
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    def refused(self, *words: str, file: Path | None = None) -> str:
        """As ``run``, of what must be refused; gives back why."""
        result = self.run(*words, file=file)
        assert result.exit_code == 1, result.output
        return result.stderr

    def until_looked_at(self, topic: str, number: int) -> None:
        """
        Waits until the flows of both directions have looked at all groups once more.

        Args:
            topic: has records on both sides.
            number: another one each time.
        """
        group = f"{self.prefix}looked-{number}"
        for bootstrap, flow in (
            (self.source.bootstrap, self.flow),
            (self.target.bootstrap, f"{self.other}->{self.alias}"),
        ):
            commit_group(bootstrap, group, {(topic, 0): 1})
            words = ["checkpoints", str(self.file), "--flow", flow, "--group", group]
            shown = partial(CliRunner().invoke, main, words)
            eventually(shown, until=lambda result: result.exit_code == 0)

    def follow(self, page: str, heading: str, group: str, file: Path | None = None) -> list[str]:
        """
        Runs the commands in a section of a runbook, with our names; gives back what they print.

        All of them must succeed.
        """
        names = {
            "mm2.properties": str(file or self.file),
            "A->B": self.flow,
            "billing": group,
        }
        printed = []
        for words in commands(FOLDER / page, heading):
            arguments = [names.get(word, word) for word in words[1:]]
            result = CliRunner().invoke(main, arguments, catch_exceptions=False)
            assert result.exit_code == 0, f"{words}: {result.output}"
            printed.append(result.output)
        assert printed
        return printed

    def without_source(self, folder: Path) -> Path:
        """The file as it looks when the source is lost."""
        (port,) = free_ports(1)
        file = folder / "lost.properties"
        lost = f"{self.alias}.bootstrap.servers = 127.0.0.1:{port}\n"
        file.write_text(self.file.read_text() + lost)
        return file


def stands(bootstrap: str, group: str, topic: str, partition: int = 0) -> int:
    """What a group has committed; negative for nothing."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        (found,) = consumer.committed([TopicPartition(topic, partition)], timeout=DEADLINE_S)
        return found.offset
    finally:
        in_time(consumer.close)


def read_on(
    bootstrap: str, group: str, topic: str, count: int, partition: int = 0
) -> list[bytes | None]:
    """Reads records as a member of a group would that goes on there, and commits them."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
        }
    )
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_STORED)])
        found: list[bytes | None] = []
        while len(found) < count:
            message = consumer.poll(DEADLINE_S)
            assert message is not None, f"only {found}"
            assert message.error() is None, message.error()
            found.append(message.value())
        if found:
            in_time(lambda: consumer.commit(asynchronous=False))
        return found
    finally:
        in_time(consumer.close)
