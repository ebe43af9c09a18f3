"""What a flow finds to mirror, look after look: behaviours 5.1 and 5.3, on clusters in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

import pytest
from structlog.testing import capture_logs

from mm2.core.model import TopicName, TopicPartition
from mm2.core.topics.acls import AclBinding, AclOperation
from mm2.core.topics.remote_configs import ConfigEntry
from mm2.core.topics.topic_plan import CreateTopic, GrowTopic, TopicDescription
from mm2.errors import ClusterError, NotAuthorized, Unavailable
from mm2.herder.topics.discovery import Assigned, Discovery
from mm2.herder.topics.topic_sync import TopicSync
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import TopicExists
from mm2.kafka.flow_clusters import FlowClusters
from tests.support.configs import config_of
from tests.support.eventually import eventually_async


@dataclass
class _Cluster:
    """
    A cluster's topics, and what was asked of it.

    Attributes:
        alias: its alias, and its id.
        topics: numbers of partitions.
        failure: what it answers to everything; None if it works.
        secret: topics whose settings it does not show.
        unlisted: topics that it does not list.
        configs: settings of each topic.
        acls: rules about topics.
        asked: what was described, look after look.
        changes: what was created and grown.
    """

    alias: str
    topics: dict[str, int] = field(default_factory=dict)
    failure: ClusterError | None = None
    secret: frozenset[str] = frozenset()
    unlisted: frozenset[str] = frozenset()
    configs: list[ConfigEntry] = field(default_factory=list)
    acls: list[AclBinding] = field(default_factory=list)
    asked: list[set[str]] = field(default_factory=list)
    changes: list[CreateTopic | GrowTopic] = field(default_factory=list)

    def _answers(self) -> None:
        if self.failure is not None:
            raise self.failure

    async def cluster_id(self) -> str:
        self._answers()
        return self.alias

    async def list_topics(self) -> set[TopicName]:
        self._answers()
        return {TopicName(name) for name in self.topics if name not in self.unlisted}

    async def describe_topics(
        self, names: Iterable[TopicName]
    ) -> dict[TopicName, TopicDescription]:
        self._answers()
        found = set(names)
        self.asked.append({*found})
        return {n: TopicDescription(n, self.topics[n]) for n in found if n in self.topics}

    async def describe_configs(
        self, names: Iterable[TopicName]
    ) -> dict[TopicName, list[ConfigEntry]]:
        self._answers()
        found = list(names)
        if self.secret.intersection(found):
            raise NotAuthorized(self.alias, "describe configs")
        return dict.fromkeys(found, self.configs)

    async def describe_topic_acls(self) -> list[AclBinding]:
        self._answers()
        return list(self.acls)

    async def create_acls(self, rules: Iterable[AclBinding]) -> dict[AclBinding, ClusterError]:
        self._answers()
        self.acls.extend(rules)
        return {}

    async def create_topics(self, topics: Iterable[CreateTopic]) -> dict[TopicName, ClusterError]:
        self._answers()
        failures: dict[TopicName, ClusterError] = {}
        for topic in topics:
            if topic.name in self.topics:
                failures[topic.name] = TopicExists(self.alias, topic.name)
            else:
                self.changes.append(topic)
                self.topics[topic.name] = topic.partitions
        return failures

    async def create_partitions(self, topics: Iterable[GrowTopic]) -> dict[TopicName, ClusterError]:
        self._answers()
        for topic in topics:
            self.changes.append(topic)
            self.topics[topic.name] = topic.partitions
        return {}


class _Flow:
    """The flow A->B."""

    def __init__(
        self, source: dict[str, int], target: dict[str, int] | None = None, **of_flow: str
    ) -> None:
        self.source, self.target = _Cluster("A", source), _Cluster("B", target or {})
        raw = {
            "A->B.topics": "orders.*",
            "A->B.sync.topic.acls.enabled": "false",
            "A->B.sync.topic.configs.enabled": "false",
            **{f"A->B.{key.replace('_', '.')}": value for key, value in of_flow.items()},
        }
        self.config = config_of(raw)
        self.clusters = FlowClusters(cast("Admin", self.source), cast("Admin", self.target))
        self.discovery = Discovery(self.config, self.clusters)

    def look(self) -> set[tuple[str, int, str]]:
        """Looks once; what can be copied, as source topic, partition and remote topic."""
        found: dict[TopicPartition, TopicName] = asyncio.run(self.discovery.refresh())
        return {(where.topic, where.partition, remote) for where, remote in found.items()}


def test_accepted_topics_are_described_and_all_their_partitions_copied() -> None:
    """C161: what the filter does not want is not even described."""
    flow = _Flow({"orders": 2, "orders.eu": 1, "other": 5, "A.orders": 1, "B.orders": 1})
    assert flow.look() == {
        ("orders", 0, "A.orders"),
        ("orders", 1, "A.orders"),
        ("orders.eu", 0, "A.orders.eu"),
    }
    assert flow.source.asked == [{"orders", "orders.eu"}]


SLOW, HOSTILE = "(a|aa)+", "a" * 40 + "!"


def test_a_setting_that_takes_too_long_to_match_is_not_copied_and_topics_are() -> None:
    flow = _Flow({"orders": 1}, config_properties_exclude=SLOW)
    flow.source.configs = [ConfigEntry(HOSTILE, "1"), ConfigEntry("retention.ms", "2")]
    with capture_logs() as events:
        assert flow.look() == {("orders", 0, "A.orders")}
        del flow.target.topics["A.orders"]
        assert flow.look() == {("orders", 0, "A.orders")}
    (made, _) = flow.target.changes
    assert isinstance(made, CreateTopic)
    assert made.configs == {"retention.ms": "2"}
    assert [each["name"] for each in events if each["event"] == "pattern.timed_out"] == [HOSTILE]


def test_a_rule_about_a_name_that_takes_too_long_to_match_does_not_keep_others_back() -> None:
    flow = _Flow({"orders": 1, HOSTILE: 1}, topics=f"{SLOW}, orders")
    flow.source.acls = [
        AclBinding(name=name, principal="User:x", operation=AclOperation.READ)
        for name in (HOSTILE, "orders")
    ]
    assert flow.look() == {("orders", 0, "A.orders")}
    asyncio.run(flow.discovery.sync_acls())
    assert [rule.name for rule in flow.target.acls] == ["A.orders"]


def test_copies_exist_before_anything_is_copied() -> None:
    """C148: Java assigns what could not be created as well, and its tasks fail."""
    flow = _Flow({"orders": 1, "orders-secret": 1})
    flow.source.secret = frozenset({"orders-secret"})
    assert flow.look() == {("orders", 0, "A.orders")}
    assert flow.target.topics == {"A.orders": 1}


def test_a_topic_that_is_there_and_not_listed_is_told_once_if_it_stays_so() -> None:
    """A broker does not know at once what its controller has created."""
    flow = _Flow({"orders": 1}, {"A.orders": 1})
    flow.target.unlisted = frozenset({"A.orders"})
    told = []
    for _ in range(3):
        with capture_logs() as logs:
            assert flow.look() == set()
        assert not flow.discovery.is_complete
        told.append([each["error"] for each in logs if each["event"] == "remote_topic.not_created"])
    assert [len(each) for each in told] == [0, 1, 0]
    assert "allow us to describe it" in told[1][0]
    flow.target.unlisted = frozenset()
    assert flow.look() == {("orders", 0, "A.orders")}
    assert flow.discovery.is_complete


def test_a_look_at_what_has_not_changed_changes_nothing() -> None:
    """C165."""
    flow = _Flow({"orders": 2})
    first = flow.look()
    changes = list(flow.target.changes)
    assert len(changes) == 1
    assert flow.look() == first
    assert flow.target.changes == changes


def test_what_differs_on_either_side_is_acted_on() -> None:
    """C165, C166: partitions and topics that came, that went, and copies that went."""
    flow = _Flow({"orders": 1, "orders.eu": 1})
    flow.look()
    flow.source.topics["orders"] = 3
    assert {partition for topic, partition, _ in flow.look() if topic == "orders"} == {0, 1, 2}
    assert flow.target.changes[-1] == GrowTopic(name=TopicName("A.orders"), partitions=3)
    del flow.source.topics["orders"]
    assert flow.look() == {("orders.eu", 0, "A.orders.eu")}
    assert flow.target.topics == {"A.orders": 3, "A.orders.eu": 1}, "nothing is deleted"
    del flow.target.topics["A.orders.eu"]
    assert flow.look() == {("orders.eu", 0, "A.orders.eu")}
    assert "A.orders.eu" in flow.target.topics


@pytest.mark.parametrize("side", ["source", "target"])
def test_after_a_look_that_failed_the_next_one_finds_everything_new(side: str) -> None:
    """C151."""
    flow = _Flow({"orders": 1})
    cluster: _Cluster = getattr(flow, side)
    cluster.failure = Unavailable(cluster.alias, "away")
    with pytest.raises(Unavailable):
        flow.look()
    assert flow.target.topics == {}
    cluster.failure = None
    assert flow.look() == {("orders", 0, "A.orders")}
    assert flow.target.topics == {"A.orders": 1}


async def test_a_topic_must_be_missed_twice_before_its_partitions_are_revoked() -> None:
    """A broker that has just started may not know all topics; new ones count at once."""
    flow = _Flow({"orders": 1, "orders.gone": 1})
    topics = TopicSync(flow.config, flow.clusters)
    told: list[tuple[int, set[str]]] = []

    async def assign(found: Assigned) -> None:
        told.append((len(flow.source.asked), {where.topic for where in found}))

    async def has_told(count: int) -> bool:
        topics.refresh()
        return len(told) == count

    task = asyncio.create_task(topics.run(assign))
    await eventually_async(lambda: has_told(1))
    del flow.source.topics["orders.gone"]
    flow.source.topics["orders.new"] = 1
    await eventually_async(lambda: has_told(3))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [topics for _, topics in told[1:]] == [
        {"orders", "orders.gone", "orders.new"},
        {"orders", "orders.new"},
    ]
    assert told[2][0] == told[1][0] + 1
