"""How the clusters and the mirrors of all benchmarks are set up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.support.cluster import KafkaCluster

_SETTINGS: Final = """\
clusters = A, B
A.bootstrap.servers = {source}
B.bootstrap.servers = {target}
A->B.enabled = true
topics = {topics}
tasks.max = {tasks}
replication.factor = {replicas}
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
offset-syncs.topic.replication.factor = 1
offset.storage.replication.factor = 1
status.storage.replication.factor = 1
config.storage.replication.factor = 1
"""
"""The same file for both mirrors; whatever is not here is each one's default."""

TUNED: Final = """\
B.producer.batch.size = 131072
B.producer.linger.ms = 5
A.consumer.max.poll.records = 5000
A.consumer.max.partition.fetch.bytes = 4194304
"""
"""What people set to make Java's MirrorMaker faster."""

_COMPILED_WELL: Final = "-XX:TieredStopAtLevel=4"
"""For throughput. It takes brokers half a minute of work, and a part of the machine meanwhile."""

_UNDISTURBED: Final = ("-XX:TieredStopAtLevel=1", "-XX:-UseSerialGC", "-XX:+UseZGC")
"""
For delays: brokers that answer a little later, but are interrupted neither by their compiler nor by
their garbage collector, each pause of which would be longer than all that a mirror adds.
"""


def properties(
    source: KafkaCluster,
    target: KafkaCluster,
    *,
    tasks: int,
    replicas: int = 1,
    topics: str = "bench-.*",
    more: str = "",
) -> str:
    """The properties file of a mirror."""
    return (
        _SETTINGS.format(
            source=source.bootstrap,
            target=target.bootstrap,
            topics=topics,
            tasks=tasks,
            replicas=replicas,
        )
        + more
    )


def source_cluster(*, undisturbed: bool = False) -> KafkaCluster:
    """A cluster to copy from."""
    heap, options = _options(undisturbed=undisturbed)
    return KafkaCluster("A", heap=heap, options=options)


def target_cluster(brokers: int = 1, *, undisturbed: bool = False) -> KafkaCluster:
    """A cluster to copy to; with several brokers all must have a record but one."""
    heap, options = _options(undisturbed=undisturbed)
    return KafkaCluster(
        "B",
        brokers=brokers,
        heap=heap if brokers == 1 else "512m",
        options=options,
        properties={"min.insync.replicas": str(max(1, brokers - 1))},
    )


def _options(*, undisturbed: bool) -> tuple[str, Sequence[str]]:
    return ("2g", _UNDISTURBED) if undisturbed else ("1g", (_COMPILED_WELL,))
