"""
How fast ``kafka-mirror-maker`` is beside the last one of Java's, that of Kafka 3.9.

Both get the same two properties files. The first clock starts with the command, the second one when
a part of the records has arrived; both stop when the last one has.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from mm2.demo.processes import java
from tests.harness.bench.measurements import OURS, Numbers
from tests.harness.bench.mirrors import JAVA_OPTIONS, Peer, running
from tests.harness.bench.settings import source_cluster, target_cluster
from tests.harness.bench.throughput import WARM_S, Conditions, timed_copy
from tests.harness.bench.warming import warm
from tests.harness.bench.workload import TOPIC, Workload
from tests.support.cluster import KafkaCluster
from tests.support.layout import OLDER_VERSION, jars
from tests.support.records import create_topic

_TOOL: Final = Path(sys.executable).with_name("kafka-mirror-maker")
_MAIN: Final = "kafka.tools.MirrorMaker"


def measure(
    workload: Workload, flags: Sequence[str], peers: list[Peer], conditions: Conditions
) -> dict[str, Numbers]:
    """
    Lets the tools copy a workload, one after the other, each to a fresh cluster.

    Args:
        flags: of ours; Java's always chooses partitions anew.

    Raises:
        Stuck: one does not get on.
    """
    with source_cluster() as source:
        records = workload.write(source.bootstrap, conditions.scale)
        warm(source.bootstrap, WARM_S * conditions.scale)
        return {
            peer.name: _copied(peer.name, workload, (source, records), flags, conditions)
            for peer in peers
        }


def _copied(
    name: str,
    workload: Workload,
    filled: tuple[KafkaCluster, int],
    flags: Sequence[str],
    conditions: Conditions,
) -> Numbers:
    source, records = filled
    with target_cluster() as target:
        # Java's tool leaves that to the broker, which would make one partition.
        create_topic(target.bootstrap, TOPIC, workload.partitions)
        warm(target.bootstrap, WARM_S * conditions.scale)
        reads = {
            "bootstrap.servers": source.bootstrap,
            "group.id": f"bench-{name}",
            "auto.offset.reset": "earliest",
        }
        peer = _tool(name, target, ["--num.streams", str(conditions.tasks), *flags])
        with running(peer, _text(reads)) as tool:
            clusters = source, target
            return asyncio.run(
                timed_copy(tool, workload, records, clusters, conditions.warm, copy=TOPIC)
            )


def _tool(name: str, target: KafkaCluster, flags: Sequence[str]) -> Peer:
    def command(file: Path, folder: Path) -> list[str]:
        producer = folder / "producer.properties"
        producer.write_text(_text({"bootstrap.servers": target.bootstrap}))
        files = ["--consumer.config", str(file), "--producer.config", str(producer)]
        if name == OURS:
            return [str(_TOOL), *files, "--include", TOPIC, *flags]
        classpath = ":".join(map(str, jars(OLDER_VERSION)))
        streams = flags[:2]
        return [
            java(),
            *JAVA_OPTIONS,
            "-cp",
            classpath,
            _MAIN,
            *files,
            "--include",
            TOPIC,
            *streams,
        ]

    return Peer(name, command)


def _text(properties: Mapping[str, str]) -> str:
    return "".join(f"{key} = {value}\n" for key, value in properties.items())
