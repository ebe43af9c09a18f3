"""What clients are shown of a cluster, and which broker gets what they ask."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.ensemble import Ensemble, Instance
from mm2.kafka.wire.requests.metadata import (
    BrokerMetadata,
    Metadata,
    PartitionMetadata,
    TopicMetadata,
)
from mm2.offset_manager.server.cluster_view import ClusterView

BROKERS = [BrokerMetadata(node, f"kafka-{node}", 9092, "") for node in (1, 2, 3)]
INSTANCES = [
    Instance(name=f"i{n}", host=f"offsets-{n}", port=9192, node=(1 << 30) + n) for n in (1, 2)
]
ENSEMBLE = Ensemble(instances=INSTANCES, leaders=[0, 1])


class FakeCluster:
    """One topic, whose partition is led by ``leader``."""

    def __init__(self) -> None:
        self.leader = 2
        self.asked = 0

    async def ask(self, _request: object) -> Any:
        self.asked += 1
        partition = PartitionMetadata(0, 0, self.leader, 5, (1, 2), (2,))
        topic = TopicMetadata("t", 0, None, False, {0: partition})
        return SimpleNamespace(metadata=Metadata("id", BROKERS, 1, [topic]))


async def test_all_brokers_are_where_instances_are_and_instances_are_brokers() -> None:
    answer = await ClusterView().metadata_answer(FakeCluster().ask, ENSEMBLE, ["t"])
    shown = {each["node_id"]: (each["host"], each["port"]) for each in answer["brokers"]}
    addresses = {(each.host, each.port) for each in INSTANCES}
    assert shown.keys() == {1, 2, 3, *(each.node for each in INSTANCES)}
    assert set(shown.values()) == addresses
    assert all(shown[each.node] == (each.host, each.port) for each in INSTANCES)


async def test_partitions_have_the_leaders_of_the_cluster() -> None:
    answer = await ClusterView().metadata_answer(FakeCluster().ask, ENSEMBLE, ["t"])
    (partition,) = answer["topics"][0]["partitions"]
    assert (partition["leader_id"], partition["leader_epoch"]) == (2, 5)


async def test_no_broker_is_shown_while_no_instance_is_known() -> None:
    answer = await ClusterView().metadata_answer(FakeCluster().ask, Ensemble(), ["t"])
    assert answer["brokers"] == []


async def test_a_request_goes_to_the_leader_of_the_last_answer_about_its_topic() -> None:
    cluster, view = FakeCluster(), ClusterView()
    where = TopicPartition(TopicName("t"), 0)
    assert await view.leader(cluster.ask, where) == BROKERS[1]
    assert await view.leader(cluster.ask, where) == BROKERS[1]
    assert cluster.asked == 1
    cluster.leader = 3
    await view.metadata_answer(cluster.ask, ENSEMBLE, ["t"])
    assert await view.leader(cluster.ask, where) == BROKERS[2]


async def test_nobody_leads_a_partition_that_is_not_there() -> None:
    view = ClusterView()
    assert await view.leader(FakeCluster().ask, TopicPartition(TopicName("t"), 7)) is None
    assert await view.leader(FakeCluster().ask, TopicPartition(TopicName("u"), 0)) is None


def test_a_broker_stays_where_it_is_when_an_instance_it_is_not_at_goes() -> None:
    gone, stays = INSTANCES
    alone = Ensemble(instances=[stays])
    assert {ENSEMBLE.host_of(n) for n in range(20)} == {gone, stays}
    assert all(alone.host_of(n) == stays for n in range(20))
    more = Ensemble(instances=[*INSTANCES, Instance(name="i3", host="h", port=1, node=9)])
    moved = [n for n in range(20) if more.host_of(n) != ENSEMBLE.host_of(n)]
    assert all(more.host_of(n) == more.instances[2] for n in moved)


def test_no_broker_is_at_an_instance_that_serves_no_clients() -> None:
    assert Ensemble(instances=[Instance(name="library")]).host_of(1) is None
