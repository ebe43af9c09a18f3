"""Behaviours section 9: checkpoints and the offsets of groups on the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from mm2.core.checkpoint import (
    CommittedOffset,
    checkpoints_for_group,
    downstream_partition,
    group_offsets_to_sync,
)
from mm2.core.codec import Checkpoint, OffsetSync
from mm2.core.filters import TopicFilter, build_topic_filter
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicName, TopicPartition
from mm2.core.offset_sync_store import OffsetSyncStore
from mm2.core.policy import DefaultReplicationPolicy

FLOW = SourceAndTarget(ClusterAlias("source1"), ClusterAlias("target2"))
POLICY = DefaultReplicationPolicy()
GROUP = GroupId("group9")


def at(topic: str, partition: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), partition)


def store_of(*syncs: OffsetSync) -> OffsetSyncStore:
    store = OffsetSyncStore(must_read_to_end=False)
    for sync in syncs:
        store.handle(sync)
    store.backlog_read()
    return store


def checkpoints(
    store: OffsetSyncStore,
    committed: Mapping[TopicPartition, int | None],
    last: Iterable[Checkpoint] = (),
    topic_filter: TopicFilter | None = None,
) -> list[Checkpoint]:
    return list(
        checkpoints_for_group(
            GROUP,
            {
                partition: None if offset is None else CommittedOffset(offset, "meta")
                for partition, offset in committed.items()
            },
            flow=FLOW,
            policy=POLICY,
            topic_filter=topic_filter or build_topic_filter({}),
            translator=store,
            last={each.partition: each for each in last},
        )
    )


@pytest.mark.parametrize(
    ("upstream", "downstream"),
    [
        ("topic3", "source1.topic3"),
        ("target2.topic3", "topic3"),
        ("target2.other.topic3", "topic3"),
        ("source6.topic7", "source1.source6.topic7"),
    ],
)
def test_topics_are_renamed_for_the_target(upstream: str, downstream: str) -> None:
    """C285, C286."""
    assert downstream_partition(POLICY, FLOW, at(upstream, 4)) == at(downstream, 4)


def test_a_checkpoint_is_what_the_group_committed_translated() -> None:
    """C287, C290."""
    store = store_of(OffsetSync(at("topic1", 2), 3, 4), OffsetSync(at("target2.topic5", 6), 7, 8))
    assert checkpoints(store, {at("topic1", 2): 10, at("target2.topic5", 6): 12}) == [
        Checkpoint(GROUP, at("source1.topic1", 2), 10, 5, "meta"),
        Checkpoint(GROUP, at("topic5", 6), 12, 9, "meta"),
    ]
    assert checkpoints(store, {at("target2.topic5", 6): 7}) == [
        Checkpoint(GROUP, at("topic5", 6), 7, 8, "meta")
    ]


def test_no_checkpoint_without_a_translation() -> None:
    """C284, C288, C289."""
    store = store_of(OffsetSync(at("topic1", 0), 5, 4))
    committed = {at("topic1", 0): 4, at("topic1", 1): 9, at("topic2"): None}
    assert checkpoints(store, committed) == []


def test_no_checkpoint_for_a_topic_that_is_filtered_out() -> None:
    """C284."""
    store = store_of(OffsetSync(at("topic1"), 5, 4))
    none = build_topic_filter({"topics": ""})
    assert checkpoints(store, {at("topic1"): 5}, topic_filter=none) == []


def test_checkpoints_do_not_go_back_when_the_store_does() -> None:
    """C291, C292."""
    store = store_of(OffsetSync(at("t"), 11, 4), OffsetSync(at("t"), 12, 5))
    first = checkpoints(store, {at("t"): 13})
    assert [each.downstream_offset for each in first] == [6]
    assert checkpoints(store, {at("t"): 13}, last=first) == []
    for upstream in range(13, 18):
        store.handle(OffsetSync(at("t"), upstream, upstream - 7))
    assert store.translate(at("t"), 13) == 5
    assert checkpoints(store, {at("t"): 13}, last=first) == []
    rewound = checkpoints(store, {at("t"): 12}, last=first)
    assert [(each.upstream_offset, each.downstream_offset) for each in rewound] == [(12, 5)]


def test_a_restart_goes_on_from_the_last_checkpoints() -> None:
    """C293, C294."""
    before = store_of(*(OffsetSync(at("t"), offset, offset - 100) for offset in (100, 200, 300)))
    first = checkpoints(before, {at("t"): 250})
    assert [(each.upstream_offset, each.downstream_offset) for each in first] == [(250, 101)]
    after = store_of(*(OffsetSync(at("t"), offset, offset - 100) for offset in (175, 475)))
    assert checkpoints(after, {at("t"): 250}, last=first) == []
    assert checkpoints(after, {at("t"): 370}, last=first) == []
    further = checkpoints(after, {at("t"): 476}, last=first)
    assert [each.downstream_offset for each in further] == [376]


def checkpoint(topic: str, offset: int) -> Checkpoint:
    return Checkpoint(GROUP, at(topic), 0, offset, "meta")


def test_offsets_of_an_idle_group_go_forward() -> None:
    """C301, C302, C307."""
    found = group_offsets_to_sync(
        [checkpoint("t1", 101), checkpoint("t2", 51), checkpoint("t3", 7), checkpoint("t4", 8)],
        {at("t1"): CommittedOffset(100), at("t2"): CommittedOffset(51), at("t3"): None},
    )
    assert found == {
        at("t1"): CommittedOffset(101, "meta"),
        at("t3"): CommittedOffset(7, "meta"),
        at("t4"): CommittedOffset(8, "meta"),
    }


def test_a_group_unknown_on_the_target_gets_all_offsets() -> None:
    """C301, C305, C309."""
    found = group_offsets_to_sync([checkpoint("t1", 1), checkpoint("t2", 2)], None)
    assert found == {at("t1"): CommittedOffset(1, "meta"), at("t2"): CommittedOffset(2, "meta")}
