"""Behaviours section 7: which acknowledgements become offset syncs."""

from __future__ import annotations

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync import OffsetSyncQueue, PartitionState

P0 = TopicPartition(TopicName("t"), 0)
P1 = TopicPartition(TopicName("t"), 1)


def sync(upstream: int, downstream: int, partition: TopicPartition = P0) -> OffsetSync:
    return OffsetSync(partition, upstream, downstream)


def test_when_a_sync_is_due() -> None:
    """C225, C226."""
    state = PartitionState(50)
    steps = [
        ((0, 100), True),
        ((2, 102), True),
        ((3, 152), False),
        ((4, 153), True),
        ((5, 154), False),
        ((6, 203), False),
        ((7, 204), True),
        ((2, 206), True),
        ((3, 207), False),
        ((4, 3), True),
        ((5, 4), False),
    ]
    for (upstream, downstream), due in steps:
        assert state.update(upstream, downstream) is due, (upstream, downstream)
        state.reset()
    for upstream, downstream in ((7, 6), (7, 6), (8, 7), (10, 57)):
        assert state.update(upstream, downstream)
    state.reset()
    assert not state.update(11, 58)


def test_without_lag_every_record_is_due() -> None:
    """C227."""
    assert list(PartitionState(0).update_range(5, 9, 4)) == [0, 1, 2, 3]


def test_a_run_is_due_at_its_start_and_whenever_the_lag_is_reached() -> None:
    """C225."""
    state = PartitionState(10)
    assert list(state.update_range(0, 0, 30)) == [0, 11, 22]
    assert list(state.update_range(30, 30, 10)) == [3]
    assert list(state.update_range(40, 40, 4)) == []
    assert list(state.update_range(44, 44, 1)) == [0]
    assert list(state.update_range(45, 45, 0)) == []


def test_a_gap_on_the_source_makes_the_next_record_due() -> None:
    """C228, C452."""
    state = PartitionState(100)
    state.update_range(0, 0, 10)
    assert list(state.update_range(11, 10, 5)) == [0]


def test_a_due_sync_is_pending_and_another_is_delayed() -> None:
    """C229, C231."""
    queue = OffsetSyncQueue(2)
    queue.acknowledged(P0, 0, 1)
    queue.acknowledged(P0, 1, 2)
    assert list(queue.fire()) == [sync(0, 1)]
    assert list(queue.fire()) == []
    queue.promote_delayed()
    assert list(queue.fire()) == [sync(1, 2)]
    queue.promote_delayed()
    assert list(queue.fire()) == []


def test_a_promoted_sync_replaces_the_pending_one_of_its_partition() -> None:
    """C231."""
    queue = OffsetSyncQueue(50)
    queue.acknowledged(P0, 0, 100)
    queue.acknowledged(P0, 1, 101)
    queue.promote_delayed()
    assert list(queue.fire()) == [sync(1, 101)]


def test_a_due_sync_replaces_the_delayed_one() -> None:
    """C230."""
    queue = OffsetSyncQueue(50)
    queue.acknowledged(P0, 0, 0, 10)
    queue.acknowledged(P0, 11, 11)
    queue.promote_delayed()
    assert list(queue.fire()) == [sync(11, 11)]


def test_a_newer_sync_keeps_the_place_of_its_partition() -> None:
    """C230."""
    queue = OffsetSyncQueue(0)
    queue.acknowledged(P0, 0, 0)
    queue.acknowledged(P1, 0, 0)
    queue.acknowledged(P0, 1, 1)
    assert list(queue.fire()) == [sync(1, 1), sync(0, 0, P1)]


def test_a_run_gives_all_its_due_syncs_and_delays_its_end() -> None:
    """C230, C235."""
    queue = OffsetSyncQueue(100)
    queue.acknowledged(P0, 0, 1000, 250)
    assert list(queue.fire()) == [sync(0, 1000), sync(101, 1101), sync(202, 1202)]
    queue.promote_delayed()
    assert list(queue.fire()) == [sync(249, 1249)]


def test_a_run_that_ends_with_a_due_record_delays_nothing() -> None:
    queue = OffsetSyncQueue(100)
    queue.acknowledged(P0, 0, 0, 102)
    assert list(queue.fire()) == [sync(0, 0), sync(101, 101)]
    queue.promote_delayed()
    assert list(queue.fire()) == []


def test_an_empty_run_changes_nothing() -> None:
    queue = OffsetSyncQueue(100)
    queue.acknowledged(P0, 7, 7, 0)
    queue.promote_delayed()
    assert list(queue.fire()) == []


def test_permits_bound_what_is_in_flight() -> None:
    """C232, C233."""
    queue = OffsetSyncQueue(0, max_in_flight=1)
    queue.acknowledged(P0, 0, 0, 2)
    assert list(queue.fire()) == [sync(0, 0)]
    assert list(queue.fire()) == []
    queue.completed()
    assert list(queue.fire()) == [sync(1, 1)]


def test_a_partition_that_moved_away_is_forgotten() -> None:
    queue = OffsetSyncQueue(100)
    queue.acknowledged(P0, 0, 0, 50)
    queue.forget(P0)
    queue.promote_delayed()
    assert list(queue.fire()) == []
    queue.acknowledged(P0, 50, 50)
    assert list(queue.fire()) == [sync(50, 50)]
