"""
``kafka-mirror-maker`` with clusters of several brokers, as Kafka's own system tests had it.

The whitelist and blacklist cases of KAFKA-1012's mirror maker tests have two source clusters and a
target of two brokers each; its cases 7001 and 7002 kill leaders of a source of three and of four
brokers. All end alike: each record is once in the target, and no group has a lag.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.cluster import Cluster, KafkaCluster, running
from tests.support.eventually import eventually
from tests.support.legacy_tool import (
    all_copies,
    committed_offsets,
    copies_when,
    legacy_tool,
)
from tests.support.mirror import Mirror
from tests.support.records import create_topic, numbered, produce
from tests.support.topics import partition_counts
from tests.support.traffic import Traffic

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.thorough,
    pytest.mark.timeout(600),
]

_PARTITIONS = 6
_REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
}
_PATIENT = {"session.timeout.ms": "45000"}
"""A member outlives the time for which a group has no coordinator, and keeps its partitions."""

_KEYS = 30
"""A multiple of the partitions, so that a key has one of them on the source."""

_COMMITS = ("--offset.commit.interval.ms", "500")


def _admin(cluster: Cluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


def _leaders(cluster: Cluster, topics: Mapping[str, int]) -> list[int]:
    """The nodes (from 0) that lead the partitions of some topics."""
    admin = _admin(cluster)
    found = admin.list_topics(timeout=30).topics
    leaders = [part.leader for topic in topics for part in found[topic].partitions.values()]
    assert min(leaders) > 0, "some have no leader"
    return [leader - 1 for leader in leaders]


def _coordinator(cluster: Cluster, group: str) -> int:
    """The node (from 0) that leads the group's partition of the offsets topic."""
    admin = _admin(cluster)
    found = admin.describe_consumer_groups([group])[group].result(30).coordinator
    return int(found.id) - 1


def _bounce(cluster: KafkaCluster, node: int, topics: Mapping[str, int]) -> None:
    """Kills a node with -9, starts it again when others lead in its place, and waits for it."""
    cluster.kill(node)
    eventually(lambda: node not in _leaders(cluster, topics))
    cluster.restart(node)
    eventually(lambda: _is_replicated(cluster, topics))


def _is_replicated(cluster: Cluster, topics: Mapping[str, int]) -> bool:
    admin = _admin(cluster)
    found = admin.list_topics(timeout=30).topics
    return all(
        len(part.isrs) == len(part.replicas)
        for topic in topics
        for part in found[topic].partitions.values()
    )


def _once_each(target: Cluster, topic: str, partitions: int, count: int) -> None:
    """Each record is there, none came twice, and each partition has them in their order."""
    copied = all_copies(target, topic, partitions)
    for number in range(partitions):
        mine = [int(each.value or b"") for each in copied if each.partition == number]
        assert mine == list(range(number, count, partitions))


def _each_key_in_order(target: Cluster, topic: str, partitions: int, count: int) -> None:
    """Each record is there once; a key's are all in one partition, in their order."""
    copied = all_copies(target, topic, partitions)
    for key in range(_KEYS):
        mine = [each for each in copied if each.key == b"%d" % key]
        assert [int(each.value or b"") for each in mine] == list(range(key, count, _KEYS))
        assert len({each.partition for each in mine}) == 1


def _without_lag(source: Cluster, group: str, topic: str, partitions: int, count: int) -> None:
    ends = [len(range(number, count, partitions)) for number in range(partitions)]
    eventually(lambda: committed_offsets(source, group, topic, partitions) == ends)


def _all_committed(
    source: Cluster, group: str, topics: Mapping[str, int], traffic: Traffic
) -> None:
    for topic, partitions in topics.items():
        _without_lag(source, group, topic, partitions, traffic.sent[topic])


class _Tools:
    """Processes of the tool, which all end well."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._running: list[Mirror] = []

    def start(self, source: Cluster, target: Cluster, group: str, *arguments: str) -> Mirror:
        folder = self._folder / str(len(self._running))
        folder.mkdir()
        words = (*arguments, *_COMMITS)
        tool = legacy_tool(folder, source, target, group, *words, consumer=_PATIENT)
        self._running.append(self._stack.enter_context(tool))
        return tool

    def stop(self) -> None:
        assert [tool.stop() for tool in self._running] == [0] * len(self._running)


def test_a_whitelist_and_a_blacklist_choose_the_topics_of_two_source_clusters(
    unique: str, tmp_path: Path
) -> None:
    sources = [KafkaCluster(name, brokers=2, heap="320m") for name in ("S1", "S2")]
    target = KafkaCluster("T", brokers=2, heap="320m")
    with running(*sources, target), ExitStack() as stack:
        tools = _Tools(tmp_path, stack)
        wanted: list[tuple[KafkaCluster, str, str]] = []
        for number, (source, flags) in enumerate(
            zip(
                sources,
                (("--whitelist", "white.*"), ("--whitelist", ".*", "--blacklist", "black.*")),
                strict=True,
            )
        ):
            group = f"{unique}-{number}"
            for kind in ("white", "black"):
                for of_kind in range(2):
                    topic = f"{kind}topic{number}{of_kind}"
                    create_topic(source.bootstrap, topic, 2)
                    produce(source.bootstrap, topic, numbered(0, 500, 2))
                    if kind == "white":
                        wanted.append((source, group, topic))
            for _ in range(2):
                tools.start(source, target, group, *flags, "--num.streams", "2")
        for source, group, topic in wanted:
            copies_when(target, topic, 500)
            _without_lag(source, group, topic, 2, 500)
            _once_each(target, topic, 2, 500)
        tools.stop()
        copied = {name for name in partition_counts(target) if not name.startswith("__")}
        assert copied == {topic for _, _, topic in wanted}


def test_killed_leaders_of_source_and_target_lose_and_repeat_nothing(
    unique: str, tmp_path: Path
) -> None:
    source = KafkaCluster("S", brokers=3, heap="320m", properties=_REPLICATED)
    target = KafkaCluster("T", brokers=3, heap="320m", properties=_REPLICATED)
    topics, group = {unique: _PARTITIONS}, f"{unique}-g"
    with running(source, target), ExitStack() as stack:
        for each in (source, target):
            create_topic(each.bootstrap, unique, _PARTITIONS, replication_factor=3)
        tools = _Tools(tmp_path, stack)
        for _ in range(2):
            tools.start(source, target, group, "--include", unique, "--num.streams", "2")
        traffic = Traffic(source.bootstrap, topics, at_once=3)
        with traffic.running():
            copies_when(target, unique, 300)
            _bounce(source, _coordinator(source, group), topics)
            _bounce(target, _leaders(target, topics)[0], topics)
            _bounce(source, _leaders(source, topics)[0], topics)
        _all_committed(source, group, topics, traffic)
        tools.stop()
        _once_each(target, unique, _PARTITIONS, traffic.sent[unique])


def test_keys_keep_their_order_while_leaders_are_killed_and_partitions_chosen_anew(
    unique: str, tmp_path: Path
) -> None:
    source = KafkaCluster("S", brokers=3, heap="320m", properties=_REPLICATED)
    target = KafkaCluster("T", brokers=3, heap="320m", properties=_REPLICATED)
    topics, there = {unique: _PARTITIONS}, _PARTITIONS + 3
    group = f"{unique}-g"
    with running(source, target), ExitStack() as stack:
        create_topic(source.bootstrap, unique, _PARTITIONS, replication_factor=3)
        create_topic(target.bootstrap, unique, there, replication_factor=3)
        tools = _Tools(tmp_path, stack)
        for _ in range(2):
            tools.start(source, target, group, "--include", unique, "--repartition")
        traffic = Traffic(source.bootstrap, topics, at_once=3, keys=_KEYS)
        with traffic.running():
            copies_when(target, unique, 300)
            for _ in range(2):
                _bounce(target, _leaders(target, topics)[0], topics)
            _bounce(source, _leaders(source, topics)[0], topics)
        _all_committed(source, group, topics, traffic)
        tools.stop()
        _each_key_in_order(target, unique, there, traffic.sent[unique])


def test_four_brokers_serve_several_groups_while_leaders_of_offsets_and_records_are_killed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source = KafkaCluster("S", brokers=4, heap="320m", properties=_REPLICATED)
    topics = {f"{unique}-{number}": 3 for number in range(3)}
    with running(source), ExitStack() as stack:
        for topic, partitions in topics.items():
            create_topic(source.bootstrap, topic, partitions, replication_factor=3)
        tools = _Tools(tmp_path, stack)
        targets = {
            f"{unique}-g{number}": each for number, each in enumerate((cluster_a, cluster_b))
        }
        for group, target in targets.items():
            for _ in range(2):
                tools.start(
                    source, target, group, "--whitelist", f"{unique}-.*", "--num.streams", "2"
                )
        traffic = Traffic(source.bootstrap, topics, at_once=3)
        with traffic.running():
            for group, target in targets.items():
                copies_when(target, next(iter(topics)), 100)
                _bounce(source, _coordinator(source, group), topics)
            _bounce(source, _leaders(source, topics)[0], topics)
        for group in targets:
            _all_committed(source, group, topics, traffic)
        tools.stop()
        for target in targets.values():
            for topic, partitions in topics.items():
                _once_each(target, topic, partitions, traffic.sent[topic])
