"""An offset manager and stock clients that keep their offsets in it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Mapping

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AsyncPartition
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.layout import ROOT
from tests.support.offset_manager import (
    answered,
    commit,
    commit_errors,
    committed,
    consumer,
    served,
)
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

NOTHING = -1001
OTHER_CODECS = ("gzip", "snappy", "lz4")


def settings(unique: str, **more: str) -> Mapping[str, str]:
    return {
        "offsets.topic.name": f"{unique}-offsets",
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": "1",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def test_a_client_keeps_its_offsets_through_the_instances_alone(
    cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    with (
        served(cluster_a.bootstrap, settings(unique), 2) as instances,
        consumer(instances, unique) as client,
    ):
        assert committed(client, unique, 2) == [NOTHING, NOTHING]
        commit(client, TopicPartition(unique, 0, 3, "half"), TopicPartition(unique, 1, 2))
        with consumer(instances[::-1], unique) as other:
            assert committed(other, unique, 2) == [3, 2]
            (half,) = answered(other, [TopicPartition(unique, 0)])
            assert half.metadata == "half"
        with consumer(instances, f"{unique}-2") as stranger:
            assert committed(stranger, unique, 2) == [NOTHING, NOTHING]
        with consumer(instances, unique, **{"bootstrap.servers": cluster_a.bootstrap}) as outside:
            assert committed(outside, unique, 2) == [NOTHING, NOTHING]


def test_a_commit_of_several_topics_is_fetched_together_and_apart(
    cluster_a: Cluster, unique: str
) -> None:
    topics = [f"{unique}-{number}" for number in range(3)]
    for topic in topics:
        create_topic(cluster_a.bootstrap, topic, 2)
    places = [TopicPartition(topic, number) for topic in topics for number in range(2)]
    with (
        served(cluster_a.bootstrap, settings(unique)) as instances,
        consumer(instances, unique) as client,
    ):
        commit(client, *(TopicPartition(p.topic, p.partition, n) for n, p in enumerate(places)))
        commit(client, TopicPartition(topics[1], 0, 100, "later"))
        together = answered(client, places)
        assert [(each.topic, each.partition, each.offset) for each in together] == [
            (place.topic, place.partition, 100 if number == 2 else number)
            for number, place in enumerate(places)
        ]
        assert [each.metadata for each in together if each.metadata] == ["later"]
        assert [committed(client, topic, 2) for topic in topics] == [[0, 1], [100, 3], [4, 5]]


def test_long_metadata_of_one_partition_refuse_the_whole_commit(
    cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    with (
        served(cluster_a.bootstrap, settings(unique, offset_metadata_max_bytes="8")) as instances,
        consumer(instances, unique) as client,
    ):
        commit(client, TopicPartition(unique, 0, 1, "1234567"))
        refused = [TopicPartition(unique, 0, 2), TopicPartition(unique, 1, 2, "12345678")]
        eventually(lambda: commit_errors(client, *refused), until=lambda errors: errors == [12, 12])
        assert committed(client, unique, 2) == [1, NOTHING]


def test_all_groups_go_on_with_what_they_committed_when_a_leader_is_killed(
    cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    groups = [f"{unique}-{number}" for number in range(8)]
    with served(cluster_a.bootstrap, settings(unique), 2) as instances:
        for turn, victim in enumerate([*instances, *instances], start=1):
            for group in groups:
                with consumer(instances, group) as client:
                    before = NOTHING if turn == 1 else turn - 1
                    assert committed(client, unique) == [before]
                    commit(client, TopicPartition(unique, 0, turn))
            victim.kill()
            victim.start()


def test_an_instance_that_has_slept_does_not_answer_from_memory(
    cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    groups = [f"{unique}-{number}" for number in range(8)]
    with served(cluster_a.bootstrap, settings(unique), 2) as instances:
        asleep, awake = instances
        for group in groups:
            with consumer(instances, group) as client:
                commit(client, TopicPartition(unique, 0, 1))
        asleep.signal(signal.SIGSTOP)
        for group in groups:
            with consumer([awake], group) as client:
                commit(client, TopicPartition(unique, 0, 2))
        asleep.signal(signal.SIGCONT)
        for group in groups:
            with consumer([asleep], group) as client:
                assert committed(client, unique) == [2]


async def test_clients_of_aiokafka_commit_and_fetch(cluster_a: Cluster, unique: str) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    with served(cluster_a.bootstrap, settings(unique)) as instances:
        with consumer(instances, unique) as first:
            commit(first, TopicPartition(unique, 0, 7))
        client = AIOKafkaConsumer(
            bootstrap_servers=instances[0].address, group_id=unique, enable_auto_commit=False
        )
        await client.start()
        try:
            where = AsyncPartition(unique, 0)
            client.assign([where])
            assert await client.committed(where) == 7
            await client.commit({where: 9})
            assert await client.committed(where) == 9
        finally:
            await client.stop()


def test_a_changed_number_of_partitions_ends_it_and_a_signal_too(
    cluster_a: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    with (
        served(cluster_a.bootstrap, settings(unique)) as (instance,),
        consumer([instance], unique) as client,
    ):
        commit(client, TopicPartition(unique, 0, 1))
        instance.signal(signal.SIGTERM)
        assert instance.wait() == 0
        more = {**settings(unique), "offsets.topic.num.partitions": "5"}
        with served(cluster_a.bootstrap, more) as (other,):
            assert other.wait() == 1
            assert f"{unique}-offsets has 4 partitions" in other.log


def test_partitions_that_are_added_while_it_runs_end_it(cluster_a: Cluster, unique: str) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    topic = f"{unique}-offsets"
    with (
        served(cluster_a.bootstrap, settings(unique)) as (instance,),
        consumer([instance], unique) as client,
    ):
        commit(client, TopicPartition(unique, 0, 1))
        admin = AdminClient({"bootstrap.servers": cluster_a.bootstrap})
        admin.create_partitions([NewPartitions(topic, 5)])[topic].result(30)
        assert instance.wait() == 1
        assert f"{topic} has 5 partitions" in instance.log


@pytest.mark.parametrize(
    "codec", ["zstd", *(pytest.param(each, marks=pytest.mark.thorough) for each in OTHER_CODECS)]
)
def test_commits_that_are_compressed_are_read_again(
    cluster_a: Cluster, unique: str, codec: str
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    compressed = settings(unique, offsets_topic_compression_codec=codec)
    with (
        served(cluster_a.bootstrap, compressed) as (instance,),
        consumer([instance], unique) as client,
    ):
        commit(client, TopicPartition(unique, 0, 3, "m" * 100), TopicPartition(unique, 1, 5))
        instance.signal(signal.SIGTERM)
        assert instance.wait() == 0
        instance.start()
        assert committed(client, unique, 2) == [3, 5]


def test_the_program_of_the_how_to_keeps_offsets_by_itself(cluster_a: Cluster, unique: str) -> None:
    page = (ROOT / "docs" / "how-to" / "run-the-offset-manager.md").read_text()
    (program,) = (
        each
        for each in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        if "OffsetManager(" in each
    )
    for shown, meant in (
        ("kafka-1:9092", cluster_a.bootstrap),
        ("app-offsets", f"{unique}-offsets"),
        ('replication.factor": "3"', 'replication.factor": "1"'),
    ):
        assert shown in program
        program = program.replace(shown, meant)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("NONE {TopicPartition(topic='orders', partition=0): StoredOffset(")
    assert "offset=42" in last
    assert "metadata='half'" in last
