"""
``kafka-mirror-maker`` runs properties files of others as they are, but for the addresses in them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.legacy_tool import TOOL, committed_offsets, copies_when, events_of
from tests.support.mirror import Mirror
from tests.support.records import create_topic, numbered, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_SHIPPED = (
    """\
# as config/consumer.properties of Kafka 3.9.1
bootstrap.servers=localhost:9092

group.id=test-consumer-group

#auto.offset.reset=
""",
    """\
# as config/producer.properties of Kafka 3.9.1
bootstrap.servers=localhost:9092

compression.type=none

#partitioner.class=
#request.timeout.ms=
#max.block.ms=
#linger.ms=
#max.request.size=
#batch.size=
#buffer.memory=
""",
)
_WITHOUT_LOSS = (
    """\
# the consumer's settings that KIP-3 names, in the spelling of its text
bootstrap.servers=localhost:9092
group.id=kip-3-group
auto.commit.enabled=false
""",
    """\
# the producer's settings that KIP-3 names
bootstrap.servers=localhost:9092
max.in.flight.requests.per.connection=1
retries=2147483647
acks=-1
block.on.buffer.full=true
""",
)
_OF_THOSE_DAYS = (
    """\
# the keys of KAFKA-1012's mirror maker tests, with the brokers that Kafka 0.8 asked ZooKeeper for
zookeeper.connect=localhost:2181
zookeeper.connection.timeout.ms=1000000
bootstrap.servers=localhost:9092
group.id=group-of-those-days
shallow.iterator.enable=true
auto.offset.reset=largest
""",
    """\
producer.type=async
queue.enqueue.timeout.ms=-1
metadata.broker.list=localhost:9092
compression.codec=0
""",
)
_OLDER = [
    "zookeeper.connect",
    "zookeeper.connection.timeout.ms",
    "shallow.iterator.enable",
    "producer.type",
    "metadata.broker.list",
    "compression.codec",
]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((_SHIPPED, "test-consumer-group", []), id="kafka-3.9"),
        pytest.param((_WITHOUT_LOSS, "kip-3-group", []), id="kip-3"),
        pytest.param((_OF_THOSE_DAYS, "group-of-those-days", _OLDER), id="kafka-0.8"),
    ],
)
def test_properties_files_run_as_they_are(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    case: tuple[tuple[str, str], str, list[str]],
) -> None:
    files, group, warnings = case
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, numbered(0, 1))
    consumer, producer = (
        text.replace("localhost:9092", cluster.bootstrap)
        for text, cluster in zip(files, (cluster_a, cluster_b), strict=True)
    )
    target_file = tmp_path / "producer.properties"
    target_file.write_text(producer)

    def command(file: Path) -> list[str]:
        configs = ["--consumer.config", str(file), "--producer.config", str(target_file)]
        return [str(TOOL), *configs, "--whitelist", unique]

    with Mirror(tmp_path, consumer, command=command) as tool:
        # As in Java's tool: what is there before the group begins is not copied.
        eventually(lambda: committed_offsets(cluster_a, group, unique) == [1])
        produce(cluster_a.bootstrap, unique, numbered(1, 10))
        copied = copies_when(cluster_b, unique, 10)
        assert [int(each.value or b"") for each in copied] == list(range(1, 11))
        assert tool.stop() == 0
        told = [e["message"] for e in events_of(tool) if e["event"] == "config.spelling"]
    told = [text for text in told if "--whitelist" not in text]
    assert [text.split(": line ")[1].split()[1] for text in told] == warnings
    assert committed_offsets(cluster_a, group, unique) == [11]
