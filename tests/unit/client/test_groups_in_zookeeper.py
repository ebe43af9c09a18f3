"""Groups of consumers before Kafka 0.9, as ZooKeeper has them."""

from __future__ import annotations

import pytest

from mm2.client import zookeeper_groups as groups
from mm2.client.zookeeper_groups import OwnedOffset
from mm2.core.model import TopicName, TopicPartition
from tests.support.zookeeper_tree import ZooKeeperTree


def test_a_partition_is_shown_that_has_an_offset_or_an_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = ZooKeeperTree(
        {
            "/consumers/g/offsets/t/0": "7",
            "/consumers/g/offsets/t/1": "8",
            "/consumers/g/owners/t/1": "c-0",
            "/consumers/g/owners/t/2": "c-1",
            "/consumers/g/owners/new/0": "c-0",
            "/consumers/g/offsets/t/3": "nothing",
            "/consumers/g/offsets/t/x": "9",
        }
    )
    monkeypatch.setattr(groups, "KazooClient", lambda **_: tree)
    found = groups.zookeeper_groups("z:1", ["g", "h"])
    assert found == {
        "g": {
            TopicPartition(TopicName("t"), 0): OwnedOffset(7, None),
            TopicPartition(TopicName("t"), 1): OwnedOffset(8, "c-0"),
            TopicPartition(TopicName("t"), 2): OwnedOffset(None, "c-1"),
            TopicPartition(TopicName("new"), 0): OwnedOffset(None, "c-0"),
        },
        "h": {},
    }
