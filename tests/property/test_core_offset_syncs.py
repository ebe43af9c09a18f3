"""Offset syncs: runs are the records they stand for, and translation never skips."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync import OffsetSyncQueue, PartitionState
from mm2.core.translation.offset_sync_store import SLOTS, OffsetSyncStore, invariant_b, invariant_c

P0 = TopicPartition(TopicName("t"), 0)
RUNS = st.lists(st.tuples(st.integers(-3, 4), st.integers(-3, 4), st.integers(1, 40)), max_size=10)


@given(lag=st.integers(0, 20), runs=RUNS)
def test_a_run_is_due_where_its_records_are(lag: int, runs: list[tuple[int, int, int]]) -> None:
    """C225, C452."""
    at_once, one_by_one = PartitionState(lag), PartitionState(lag)
    upstream = downstream = 50
    for up, down, count in runs:
        upstream, downstream = max(upstream + up, 0), max(downstream + down, 0)
        due = []
        for index in range(count):
            if one_by_one.update(upstream + index, downstream + index):
                due.append(index)
                one_by_one.reset()
        assert list(at_once.update_range(upstream, downstream, count)) == due
        upstream, downstream = upstream + count, downstream + count


@given(lag=st.integers(0, 20), runs=RUNS)
def test_after_a_commit_the_last_position_is_published(
    lag: int, runs: list[tuple[int, int, int]]
) -> None:
    """C235."""
    queue = OffsetSyncQueue(lag)
    upstream = downstream = 50
    sent: list[OffsetSync] = []
    for up, down, count in runs:
        upstream, downstream = max(upstream + up, 0), max(downstream + down, 0)
        queue.acknowledged(P0, upstream, downstream, count)
        upstream, downstream = upstream + count, downstream + count
        for sync in queue.fire():
            sent.append(sync)
            queue.completed()
    queue.promote_delayed()
    sent.extend(queue.fire())
    assert not runs or sent[-1] == OffsetSync(P0, upstream - 1, downstream - 1)


@given(
    gaps=st.lists(st.tuples(st.integers(1, 2**30), st.integers(1, 2**30)), min_size=1, max_size=60),
    data=st.data(),
)
def test_translation_is_monotonic_and_never_ahead(
    gaps: list[tuple[int, int]], data: st.DataObject
) -> None:
    """C243; where each record has one copy, no translation passes the copy of the next record."""
    store = OffsetSyncStore(must_read_to_end=False)
    upstream = downstream = 0
    known = []
    for up, down in gaps:
        upstream, downstream = upstream + up, downstream + max(up, down)
        known.append((upstream, downstream))
        store.handle(OffsetSync(P0, upstream, downstream))
    store.backlog_read()
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, upstream + 10)] * 2)))
    translations = store.translate(P0, first), store.translate(P0, second)
    assert translations[0] is not None
    assert translations[1] is not None
    assert translations[0] <= translations[1]
    bound = max([down for up, down in known if up <= first], default=-2) + 1
    assert translations[0] <= bound


@given(
    gaps=st.lists(st.integers(1, 2**53) | st.integers(100, 200), min_size=1, max_size=80),
)
def test_invariants_hold_and_few_syncs_expire(gaps: list[int]) -> None:
    """C244-C249, C260, C261."""
    store = OffsetSyncStore(must_read_to_end=False)
    upstream, before = 0, set[int]()
    largest = 1
    for gap in gaps:
        upstream = min(upstream + gap, 2**63 - 1)
        largest = max(largest, gap)
        store.handle(OffsetSync(P0, upstream, upstream))
        slots = store.slots(P0)
        assert slots[0].upstream_offset == upstream
        for i in range(SLOTS - 1):
            assert invariant_b(slots[i], slots[i + 1], i, i + 1)
            assert invariant_c(slots[i], slots[i + 1], i, i + 1)
        after = {sync.upstream_offset for sync in slots}
        assert len(before - after) <= largest.bit_length() + 2
        before = after
