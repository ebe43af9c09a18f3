"""Which replica is asked: the leader, or one that it has named."""

from __future__ import annotations

from flows.source.fetch.read_replicas import NO_NODE, ReadReplicas
from mm2.core.model import TopicName, TopicPartition

A, B = (TopicPartition(TopicName(name), 0) for name in "ab")


class _World:
    """A cluster of nodes 1 and 2, which 1 leads."""

    def __init__(self) -> None:
        self.now = 0.0
        self.nodes = {1, 2}
        self.replicas = ReadReplicas(
            own_rack="east",
            leader=lambda _: 1,
            is_known=lambda node: node in self.nodes,
            lease_s=10,
            clock=lambda: self.now,
        )


def test_a_named_replica_is_asked_until_its_time_is_over() -> None:
    world = _World()
    assert world.replicas.reader(A) == 1
    assert world.replicas.prefer(A, 2)
    assert (world.replicas.reader(A), world.replicas.reader(B)) == (2, 1)
    world.now = 10
    assert world.replicas.reader(A) == 1


def test_no_news_is_no_reason_to_go_elsewhere() -> None:
    world = _World()
    assert not world.replicas.prefer(A, NO_NODE)
    assert not world.replicas.prefer(A, 1)
    assert not world.replicas.prefer(A, 3)
    assert world.replicas.prefer(A, 2)
    assert not world.replicas.prefer(A, 2)


def test_a_replica_that_is_gone_is_not_asked() -> None:
    world = _World()
    world.replicas.prefer(A, 2)
    world.nodes.remove(2)
    assert world.replicas.reader(A) == 1


def test_trouble_leads_back_to_the_leader() -> None:
    world = _World()
    world.replicas.prefer(A, 2)
    assert world.replicas.forsake(A)
    assert not world.replicas.forsake(A)
    world.replicas.prefer(A, 2)
    world.replicas.prefer(B, 2)
    world.replicas.forsake_node(2)
    assert (world.replicas.reader(A), world.replicas.reader(B)) == (1, 1)


def test_after_trouble_we_hide_our_rack_so_that_leaders_give_records() -> None:
    world = _World()
    world.replicas.prefer(A, 2)
    assert world.replicas.rack == "east"
    world.replicas.forsake(A)
    assert world.replicas.rack == ""
    world.now = 5
    assert world.replicas.rack == "east"


def test_a_replica_that_we_do_not_know_yet_is_not_asked_for_now() -> None:
    world = _World()
    assert not world.replicas.prefer(A, 3)
    assert (world.replicas.reader(A), world.replicas.rack) == (1, "")
    world.nodes.add(3)
    assert world.replicas.prefer(A, 3)
