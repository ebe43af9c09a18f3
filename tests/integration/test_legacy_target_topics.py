"""Who creates a topic on the target, where several processes of ``kafka-mirror-maker`` need it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.held_creation import HeldCreation, allow, times
from tests.support.legacy_tool import all_copies, copies_when, events_of, legacy_tool, stream_shares
from tests.support.mirror import Mirror
from tests.support.records import create_topic, numbered, produce
from tests.support.topics import partition_counts

pytestmark = [pytest.mark.broker, pytest.mark.spark]

PARTITIONS = 2


def creates_by_itself(cluster: Cluster) -> bool:
    """Whether brokers create a topic that somebody asks about."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    nodes = admin.list_topics(timeout=30).brokers
    asked = [ConfigResource(ConfigResource.Type.BROKER, str(node)) for node in nodes]
    answers = [each.result(30) for each in admin.describe_configs(asked).values()]
    return any(each["auto.create.topics.enable"].value != "false" for each in answers)


def balanced(tools: Collection[Mirror], partitions: int) -> None:
    """Waits until the one stream of each tool has so many partitions."""
    expected = [{0: partitions}] * len(tools)
    eventually(lambda: [stream_shares(each) for each in tools] == expected)


def created(tools: list[Mirror], topic: str) -> list[int]:
    """With how many partitions a topic was created, once for each time that it was."""
    return [
        event["partitions"]
        for tool in tools
        for event in events_of(tool)
        if event["event"] == "stream.topic_created" and event["topic"] == topic
    ]


def members_with(cluster: Cluster, group: str, topic: str) -> Counter[str]:
    """How many partitions of a topic the processes have, by their ``client.id``."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    found = admin.describe_consumer_groups([group])[group].result(30)
    return Counter(
        member.client_id
        for member in found.members
        for where in member.assignment.topic_partitions
        if where.topic == topic
    )


def first_partition_owner(cluster: Cluster, group: str, topic: str) -> str:
    """The ``client.id`` of the member that has partition 0."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    found = admin.describe_consumer_groups([group])[group].result(30)
    (owner,) = (
        member.client_id
        for member in found.members
        for where in member.assignment.topic_partitions
        if (where.topic, where.partition) == (topic, 0)
    )
    return str(owner)


def test_of_two_processes_one_creates_a_topic_like_the_sources_and_both_copy_to_it(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """KIP-3: the owner of partition 0 does, and the other one waits."""
    first, second, group = f"{unique}-first", f"{unique}-second", f"{unique}-g"
    assert not creates_by_itself(cluster_b)
    create_topic(cluster_a.bootstrap, first, partitions=PARTITIONS)
    with ExitStack() as stack:
        tools: list[Mirror] = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            include = ("--include", f"{first}|{second}")
            consumer = {"client.id": name}
            tool = legacy_tool(folder, cluster_a, cluster_b, group, *include, consumer=consumer)
            tools.append(stack.enter_context(tool))
        eventually(lambda: [stream_shares(each) for each in tools] == [{0: 1}] * 2)
        # Both are members by now, and hear of a topic of which each gets a partition.
        create_topic(cluster_a.bootstrap, second, partitions=PARTITIONS)
        for topic in (first, second):
            produce(cluster_a.bootstrap, topic, numbered(0, 100, PARTITIONS))
            copies_when(cluster_b, topic, 100)
        eventually(lambda: [stream_shares(each) for each in tools] == [{0: 2}] * 2)
        shares = members_with(cluster_a, group, second)
        assert sorted(shares.values()) == [1, 1], shares
        for topic in (first, second):
            produce(cluster_a.bootstrap, topic, numbered(100, 100, PARTITIONS))
            copies_when(cluster_b, topic, 200)
        assert [tool.stop() for tool in tools] == [0, 0]
        for topic in (first, second):
            assert created(tools, topic) == [PARTITIONS]
    counts = partition_counts(cluster_b)
    for topic in (first, second):
        assert counts[topic] == PARTITIONS
        copies = all_copies(cluster_b, topic, PARTITIONS)
        for partition in range(PARTITIONS):
            numbers = [int(each.value or b"") for each in copies if each.partition == partition]
            # Some may come twice, if the group takes partitions away from who is silent.
            assert list(dict.fromkeys(numbers)) == list(range(partition, 200, PARTITIONS))


def test_who_does_not_own_partition_0_waits_until_the_owner_has_created_the_topic(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """The owner is held up before it creates the topic; the other one does not create it."""
    first, group = f"{unique}-first", f"{unique}-g"
    for cluster in (cluster_a, cluster_b):
        create_topic(cluster.bootstrap, first, partitions=PARTITIONS)
    listener = f"{HeldCreation.__module__}:{HeldCreation.__name__}"
    folders = {name: tmp_path / name for name in ("one", "two")}
    with ExitStack() as stack:
        tools: dict[str, Mirror] = {}
        for name, folder in folders.items():
            folder.mkdir()
            words = ["--include", f"{unique}-.*", "--consumer.rebalance.listener", listener]
            words += ["--rebalance.listener.args", str(folder)]
            consumer = {"client.id": name}
            tool = legacy_tool(folder, cluster_a, cluster_b, group, *words, consumer=consumer)
            tools[name] = stack.enter_context(tool)
        balanced(tools.values(), 1)

        def asked(topic: str) -> list[str]:
            return [name for name, each in folders.items() if times(each, "asked", topic)]

        for number in count():
            second = f"{unique}-second-{number}"
            create_topic(cluster_a.bootstrap, second, partitions=PARTITIONS)
            produce(cluster_a.bootstrap, second, numbered(0, 100, PARTITIONS))
            (owner,) = eventually(partial(asked, second))
            if not times(folders[owner], "owned", f"{second}-1"):
                break
            # The other one saw the topic later, and waits for the group: once more.
            allow(folders[owner], second)
            balanced(tools.values(), 2 + number)
        (other,) = folders.keys() - {owner}
        eventually(lambda: times(folders[other], "looked", second) > 2)
        assert asked(second) == [owner]
        assert second not in partition_counts(cluster_b)
        allow(folders[owner], second)
        copies_when(cluster_b, second, 100)
        balanced(tools.values(), 2 + number)
        assert first_partition_owner(cluster_a, group, second).startswith(owner)
        assert [tool.stop() for tool in tools.values()] == [0, 0]
        assert created([tools[owner]], second) == [PARTITIONS]
        assert created([tools[other]], second) == []
        assert asked(second) == [owner]
