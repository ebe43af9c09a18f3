"""Behaviours section 8: the 64-slot store and its translation."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync_store import (
    SLOTS,
    TOO_OLD,
    OffsetSyncStore,
    invariant_b,
    invariant_c,
)

P0 = TopicPartition(TopicName("t"), 0)
Pairs = Iterable[tuple[int, int]]


def store_of(live: Pairs, *, backlog: Pairs = (), must_read_to_end: bool = True) -> OffsetSyncStore:
    store = OffsetSyncStore(must_read_to_end=must_read_to_end)
    feed(store, backlog)
    store.backlog_read()
    feed(store, live)
    return store


def feed(store: OffsetSyncStore, pairs: Pairs) -> None:
    for upstream, downstream in pairs:
        store.handle(OffsetSync(P0, upstream, downstream))
        assert_invariants(store)


def assert_invariants(store: OffsetSyncStore) -> None:
    """
    B and C between neighbours, and so between all (C249).

    Two syncs of the same upstream offset violate C, in Java too (C264).
    """
    slots = store.slots(P0)
    for i in range(SLOTS - 1):
        assert invariant_b(slots[i], slots[i + 1], i, i + 1)
        same = slots[i].upstream_offset == slots[i + 1].upstream_offset
        assert same or invariant_c(slots[i], slots[i + 1], i, i + 1)


def identity(offsets: Iterable[int]) -> Pairs:
    return [(offset, offset) for offset in offsets]


def layout(store: OffsetSyncStore) -> dict[int, int]:
    """The first slot of each sync, and the sync's upstream offset."""
    slots = store.slots(P0)
    return {
        slot: each.upstream_offset
        for slot, each in enumerate(slots)
        if slot == 0 or each is not slots[slot - 1]
    }


def distinct(store: OffsetSyncStore) -> list[int]:
    return list(dict.fromkeys(layout(store).values()))


def test_nothing_is_translated_before_the_backlog_is_read() -> None:
    """C239."""
    store = OffsetSyncStore(must_read_to_end=True)
    assert store.translate(P0, 0) is None
    store.handle(OffsetSync(P0, 100, 200))
    assert store.translate(P0, 100) is None
    store.backlog_read()
    found = [store.translate(P0, offset) for offset in (0, 100, 200)]
    assert found == [TOO_OLD, 200, 201]


def test_a_first_sync_fills_all_slots_and_later_ones_stand_before_it() -> None:
    """C244, C245, C248, C250."""
    store = store_of([(100, 200)])
    assert store.slots(P0) == (OffsetSync(P0, 100, 200),) * SLOTS
    store.handle(OffsetSync(P0, 400, 500))
    assert store.newest(P0) == store.slots(P0)[0] == OffsetSync(P0, 400, 500)
    assert store.slots(P0)[-1] == OffsetSync(P0, 100, 200)


def test_a_source_that_goes_back_overwrites_everything_and_standing_still_does_not() -> None:
    """C251."""
    store = store_of([(100, 200), (150, 251), (150, 260)])
    assert distinct(store) == [150, 100]
    store.handle(OffsetSync(P0, 149, 300))
    assert store.slots(P0) == (OffsetSync(P0, 149, 300),) * SLOTS


def test_a_new_sync_moves_older_ones_back_as_far_as_the_invariants_ask() -> None:
    """C247, C252, C253: values only move back, and the newer of two that fit stays."""
    store = store_of(identity([0, 100, 200, 300]))
    before = layout(store)
    store.handle(OffsetSync(P0, 400, 400))
    after = layout(store)
    assert (before, after) == (
        {0: 300, 8: 200, 9: 0},
        {0: 400, 8: 300, 9: 200, 10: 0},
    )


def test_nothing_is_translated_without_a_sync() -> None:
    """C240."""
    store = store_of([])
    assert store.translate(P0, 0) is None
    assert store.slots(P0) == ()


def test_translation_is_at_most_one_past_a_sync() -> None:
    """C241, C242."""
    store = store_of([(100, 200)])
    assert store.translate(P0, 150) == 201
    store.handle(OffsetSync(P0, 150, 251))
    assert store.translate(P0, 150) == 251
    assert store.translate(P0, 5) == TOO_OLD
    store.handle(OffsetSync(P0, 200, 10))
    assert store.translate(P0, 200) == 10
    store.handle(OffsetSync(P0, 20, 20))
    assert store.translate(P0, 20) == 20


def test_a_full_read_keeps_the_last_sync_of_the_backlog_only() -> None:
    """C254, C255, C256."""
    store = store_of([], backlog=identity(range(0, 1001, 10)))
    translated = [store.translate(P0, offset) for offset in (999, 1000, 1001, 1002)]
    assert translated == [TOO_OLD, 1000, 1001, 1001]
    feed(store, identity(range(1010, 10001, 10)))
    expected = [10000, 9990, 9970, 9940, 9880, 9640, 9160, 8680, 6760, 4840, 1000]
    assert distinct(store) == expected
    assert store.translate(P0, 999) == TOO_OLD
    feed(store, [(1500, 11000)])
    translated = [store.translate(P0, offset) for offset in (1499, 1500, 2000)]
    assert translated == [TOO_OLD, 11000, 11001]


def test_a_backlog_after_known_checkpoints_fills_the_store() -> None:
    """C257, C258; the offset 1000 comes twice and is two syncs (C449)."""
    backlog = identity(range(0, 1001, 10))
    store = store_of([], backlog=backlog, must_read_to_end=False)
    assert distinct(store) == [1000, 990, 960, 900, 840, 720, 480, 0]
    feed(store, identity(range(1000, 10001, 10)))
    expected = [10000, 9990, 9960, 9900, 9840, 9600, 9120, 8640, 7680, 3840, 0]
    assert distinct(store) == expected


@pytest.mark.parametrize("first", [0, 1, 29])
@pytest.mark.parametrize("step", [1, 3, 7, 15, 1023, 2**40 - 1, 2**56 - 1])
def test_evenly_spaced_syncs_expire_one_by_one(first: int, step: int) -> None:
    """C259."""
    store = store_of([(first, first)])
    before = set(distinct(store))
    for offset in range(first + step, min(first + step * 100, 2**63), step):
        feed(store, [(offset, offset)])
        after = set(distinct(store))
        assert len(before - after) <= 1
        assert store.slots(P0)[0].upstream_offset == offset
        assert store.slots(P0)[-1].upstream_offset == first
        before = after


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (identity(range(21)), {0: 20, 1: 19, 2: 18, 3: 16, 4: 8, 5: 0}),
        (identity(range(0, 2001, 100)), {0: 2000, 8: 1900, 9: 1800, 10: 1600, 11: 800, 12: 0}),
        ([(100, 200), (150, 251), (200, 10)], {0: 200, 7: 150, 8: 100}),
        ([(100, 200), (100, 50)], {0: 100, 1: 100}),
        ([*[(100, 200)] * 3, *[(200, 300)] * 2], {0: 200, 1: 200, 8: 100}),
        ([(0, 0), (2**63 - 2, 5), (2**63 - 1, 6)], {0: 2**63 - 1, 1: 2**63 - 2}),
    ],
)
def test_vectors_of_the_real_class(pairs: Pairs, expected: dict[int, int]) -> None:
    """C262-C264, C473."""
    store = OffsetSyncStore(must_read_to_end=False)
    for upstream, downstream in pairs:
        store.handle(OffsetSync(P0, upstream, downstream))
    assert layout(store) == expected


def test_a_downstream_rewind_alone_is_not_noticed() -> None:
    """C263, C264, C432."""
    store = store_of([(100, 200), (150, 251), (200, 10)])
    assert [store.translate(P0, offset) for offset in (160, 200, 250)] == [252, 10, 11]
    store = OffsetSyncStore(must_read_to_end=True)
    store.backlog_read()
    for downstream in (200, 50):
        store.handle(OffsetSync(P0, 100, downstream))
    assert [store.translate(P0, offset) for offset in (100, 150)] == [50, 51]


def test_bounds_beyond_64_bits() -> None:
    """C246-C248, C448."""
    high, low = OffsetSync(P0, 2**63 - 1, 0), OffsetSync(P0, 2**63 - 2, 0)
    assert invariant_b(high, low, 62, 63)
    assert not invariant_c(high, low, 62, 63)
    assert invariant_c(high, high, 62, 63)
