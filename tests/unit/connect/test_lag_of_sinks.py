"""Where a sink is, is told in a consumer group, unless that is somebody else's."""

from __future__ import annotations

import pytest

from mm2.connect.connector import read_connector
from mm2.connect.sink_group import SinkGroup
from mm2.connect.worker_config import WorkerConfig
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import ClusterError
from tests.support.fake_groups import FakeGroups

_GROUP = "connect-m"
_FIRST, _SECOND = (TopicPartition(TopicName("t"), number) for number in (0, 1))
_CONFIG = {
    "name": "m",
    "connector.class": "MirrorSinkConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "target.cluster.bootstrap.servers": "b:1",
}


def _lag_group() -> SinkGroup:
    raw = {"bootstrap.servers": "a:1"}
    worker = WorkerConfig(raw=raw, is_distributed=False, environment={})
    found = SinkGroup.of(read_connector(_CONFIG, worker))
    assert found is not None
    return found


def _there(groups: FakeGroups) -> dict[TopicPartition, int]:
    return {where: each.offset for where, each in groups.offsets[_GROUP].items()}


async def test_a_group_follows_its_sink_and_the_next_leader() -> None:
    groups = FakeGroups("A")
    for at, lag_group in ((5, _lag_group()), (9, _lag_group())):
        await lag_group.commit(groups, {_FIRST: at})
        assert _there(groups) == {_FIRST: at}


async def test_positions_of_others_are_left_alone_until_they_are_gone() -> None:
    """Whoever owned a group without members for a moment went on from where the sink was."""
    groups, lag_group = FakeGroups("A"), _lag_group()
    groups.put(_GROUP, {_FIRST: 3})
    with pytest.raises(ClusterError, match="connect-m has positions that others committed"):
        await lag_group.commit(groups, {_FIRST: 5, _SECOND: 5})
    assert _there(groups) == {_FIRST: 3}
    groups.offsets.clear()
    groups.groups.clear()
    await lag_group.commit(groups, {_FIRST: 5, _SECOND: 5})
    assert _there(groups) == {_FIRST: 5, _SECOND: 5}


async def test_whoever_takes_a_group_over_later_keeps_it() -> None:
    groups, lag_group = FakeGroups("A"), _lag_group()
    await lag_group.commit(groups, {_FIRST: 5, _SECOND: 5})
    groups.offsets[_GROUP][_SECOND] = CommittedOffset(3)
    with pytest.raises(ClusterError, match="others"):
        await lag_group.commit(groups, {_FIRST: 6, _SECOND: 6})
    assert _there(groups) == {_FIRST: 5, _SECOND: 3}


async def test_a_group_of_which_nothing_is_known_is_left_alone() -> None:
    groups, lag_group = FakeGroups("A"), _lag_group()
    groups.failing.add(_GROUP)
    with pytest.raises(ClusterError):
        await lag_group.commit(groups, {_FIRST: 5})
    assert groups.offsets == {}
