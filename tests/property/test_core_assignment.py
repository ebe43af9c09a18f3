"""Bundles: every partition has one place, loads are level, and little moves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.balancing.assignment import DEFAULT_TOLERANCE, pack, round_robin
from mm2.core.model import TopicName, TopicPartition

PARTITIONS = st.builds(TopicPartition, st.sampled_from("abc").map(TopicName), st.integers(0, 12))
SETS = st.sets(PARTITIONS, max_size=30)
WEIGHTS = st.dictionaries(PARTITIONS, st.floats(0, 1e9))


@given(partitions=SETS, tasks=st.integers(1, 8))
def test_partitions_are_dealt_out_evenly(partitions: set[TopicPartition], tasks: int) -> None:
    """C172, C173."""
    dealt = round_robin(partitions, tasks)
    assert sorted(each for bundle in dealt for each in bundle) == sorted(partitions)
    sizes = [len(bundle) for bundle in dealt]
    assert len(sizes) == min(tasks, len(partitions))
    assert not sizes or max(sizes) - min(sizes) <= 1


@given(partitions=SETS, bundles=st.integers(1, 6), weights=WEIGHTS, before=SETS)
def test_every_partition_has_one_place_and_keeps_it(
    partitions: set[TopicPartition],
    bundles: int,
    weights: dict[TopicPartition, float],
    before: set[TopicPartition],
) -> None:
    previous = pack(before, 3, {})
    packed = pack(partitions, bundles, weights, previous)
    assert sorted(each for bundle in packed for each in bundle) == sorted(partitions)
    assert len(packed) == min(bundles, max(len(partitions), len(previous)))
    assert pack(partitions, bundles, weights, packed) == packed


@given(partitions=st.sets(PARTITIONS, min_size=1), bundles=st.integers(1, 6), old=st.integers(1, 6))
def test_equal_partitions_end_up_level(
    partitions: set[TopicPartition], bundles: int, old: int
) -> None:
    packed = pack(partitions, bundles, {}, pack(partitions, old, {}))
    sizes = [len(bundle) for bundle in packed]
    mean = len(partitions) / len(packed)
    assert max(sizes) - min(sizes) <= max(1, DEFAULT_TOLERANCE * mean)


@given(partitions=SETS, bundles=st.integers(1, 5))
def test_a_bundle_more_moves_no_more_than_its_share(
    partitions: set[TopicPartition], bundles: int
) -> None:
    before = pack(partitions, bundles, {})
    after = pack(partitions, bundles + 1, {}, before)
    stayed = sum(len(set(new) & set(old)) for new, old in zip(after, before, strict=False))
    share = len(after[-1]) if len(after) > len(before) else 0
    assert len(partitions) - stayed <= share
