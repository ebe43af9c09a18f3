"""KIP-3's list of offsets that the target has not acknowledged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.unacknowledged_offsets import BatchOffsets, UnacknowledgedOffsets


def test_the_smallest_that_is_missing_is_committed() -> None:
    offsets = UnacknowledgedOffsets(1)
    one, two = BatchOffsets([1, 2, 4, 5]), BatchOffsets([3])
    for batch in (one, two):
        offsets.begin(batch)
    offsets.reach(6)
    one.acknowledged = 4
    assert offsets.smallest == 3
    two.acknowledged = 1
    assert offsets.smallest == 6


def test_a_part_of_a_batch_counts() -> None:
    offsets, batch = UnacknowledgedOffsets(1), BatchOffsets([1, 5, 9])
    offsets.begin(batch)
    offsets.reach(10)
    batch.acknowledged = 2
    assert offsets.smallest == 9


def test_a_record_counts_when_all_its_copies_are_there() -> None:
    offsets = UnacknowledgedOffsets(7)
    batches = [BatchOffsets([7]), BatchOffsets([7])]
    for batch in batches:
        offsets.begin(batch)
    offsets.reach(8)
    batches[1].acknowledged = 1
    assert offsets.smallest == 7
    batches[0].acknowledged = 1
    assert offsets.smallest == 8


def test_what_is_added_to_a_batch_later_counts() -> None:
    offsets, collected = UnacknowledgedOffsets(7), [7]
    batch = BatchOffsets(collected)
    offsets.begin(batch)
    collected.append(9)
    offsets.reach(10)
    batch.acknowledged = 1
    assert offsets.smallest == 9


def test_offsets_without_records_count_once_nothing_is_missing() -> None:
    offsets, batch = UnacknowledgedOffsets(3), BatchOffsets([3])
    offsets.begin(batch)
    offsets.reach(10)
    assert offsets.smallest == 3
    batch.acknowledged = 1
    assert offsets.smallest == 10


def test_what_was_not_taken_yet_is_not_committed() -> None:
    offsets, batch = UnacknowledgedOffsets(0), BatchOffsets([5])
    offsets.begin(batch)
    batch.acknowledged = 1
    assert offsets.smallest == 0


@given(st.lists(st.lists(st.integers(0, 4)), min_size=1, max_size=30), st.randoms())
def test_nothing_before_the_committed_offset_is_ever_missing(
    targets_of: list[list[int]], order: object
) -> None:
    offsets = UnacknowledgedOffsets(0)
    collected: dict[int, list[int]] = {}
    batches: dict[int, BatchOffsets] = {}
    for offset, targets in enumerate(targets_of):
        for target in targets:
            if target in collected:
                collected[target].append(offset)
            else:
                collected[target] = [offset]
                batches[target] = BatchOffsets(collected[target])
                offsets.begin(batches[target])
        offsets.reach(offset + 1)
    missing = [target for target, copies in collected.items() for _ in copies]
    order.shuffle(missing)  # type: ignore[attr-defined]  # Hypothesis's random.Random
    while missing:
        assert offsets.smallest == min(batches[each].first for each in missing)
        batches[missing.pop()].acknowledged += 1
    assert offsets.smallest == len(targets_of)
