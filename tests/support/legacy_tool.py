"""Runs ``kafka-mirror-maker`` as a user would: a process with two properties files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror
from tests.support.records import Sample, consume

SOON_MISSED = {"session.timeout.ms": "6000"}
"""A consumer whose group does not wait long for it after it was killed."""

_SIGNS = {"stream.partitions_assigned": 1, "stream.partitions_revoked": -1}
TOOL = Path(sys.executable).with_name("kafka-mirror-maker")


def legacy_tool(
    folder: Path,
    source: Cluster,
    target: Cluster,
    group: str,
    *arguments: str,
    consumer: Mapping[str, str] | None = None,
    producer: Mapping[str, str] | None = None,
) -> Mirror:
    """One process of the tool, which reads from the beginning and hears of topics soon."""
    text, files = tool_files(folder, source, target, group, consumer=consumer, producer=producer)
    return Mirror(folder, text, command=lambda file: [str(TOOL), *files(file), *arguments])


def tool_files(
    folder: Path,
    source: Cluster,
    target: Cluster,
    group: str,
    *,
    consumer: Mapping[str, str] | None = None,
    producer: Mapping[str, str] | None = None,
) -> tuple[str, Callable[[Path], list[str]]]:
    """The consumer's properties, and the flags that name both files, for the path of the first."""
    reads = {
        "bootstrap.servers": source.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "metadata.max.age.ms": "1000",
        # Where the machine stands still for a while, nobody is to lose partitions over it.
        "session.timeout.ms": "30000",
        "heartbeat.interval.ms": "1000",
        **(consumer or {}),
    }
    writes = {"bootstrap.servers": target.bootstrap, **(producer or {})}
    target_file = folder / "producer.properties"
    target_file.write_text(_text(writes))

    def flags(file: Path) -> list[str]:
        return ["--consumer.config", str(file), "--producer.config", str(target_file)]

    return _text(reads), flags


def committed_offsets(cluster: Cluster, group: str, topic: str, partitions: int = 1) -> list[int]:
    """What the group has committed, by partition; -1001 is nothing."""
    reader = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    try:
        asked = [TopicPartition(topic, number) for number in range(partitions)]
        return [each.offset for each in reader.committed(asked, timeout=30)]
    finally:
        reader.close()


def copies_when(cluster: Cluster, topic: str, count: int) -> list[Sample]:
    """The records of a topic, once it is there and has at least so many."""
    return eventually(lambda: consume(cluster.bootstrap, topic, count, timeout=20))


def all_copies(cluster: Cluster, topic: str, partitions: int) -> list[Sample]:
    """What a topic without transactions has by now; records that came twice are in it twice."""
    reader = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    try:
        ends = [
            reader.get_watermark_offsets(TopicPartition(topic, number), timeout=30)[1]
            for number in range(partitions)
        ]
    finally:
        reader.close()
    return consume(cluster.bootstrap, topic, sum(ends))


def events_of(tool: Mirror) -> list[dict[str, Any]]:
    """What a process has logged so far."""
    lines = [line for line in tool.text().splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines]


def stream_shares(tool: Mirror) -> dict[int, int]:
    """How many partitions each stream of a process has, by what it has logged."""
    found: dict[int, int] = {}
    for event in events_of(tool):
        if sign := _SIGNS.get(event["event"]):
            found[event["task"]] = found.get(event["task"], 0) + sign * event["partitions"]
    return found


def _text(properties: Mapping[str, str]) -> str:
    return "".join(f"{key} = {value}\n" for key, value in properties.items())
