"""Behaviours 5.4: who copies what."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st

from mm2.core.balancing.assignment import Bundle, is_even, pack, round_robin
from mm2.core.model import TopicName, TopicPartition


def partitions(**topics: int) -> list[TopicPartition]:
    return [
        TopicPartition(TopicName(topic), number)
        for topic, count in topics.items()
        for number in range(count)
    ]


def moved(before: tuple[Bundle, ...], after: tuple[Bundle, ...]) -> int:
    """How many partitions stand in another bundle than before."""
    return sum(
        len(set(bundle).difference(before[number] if number < len(before) else ()))
        for number, bundle in enumerate(after)
    )


def test_partitions_are_dealt_out_in_turn() -> None:
    """C172."""
    dealt = round_robin(partitions(t0=8, t1=2, t2=2), 3)
    assert [",".join(map(str, bundle)) for bundle in dealt] == [
        "t0-0,t0-3,t0-6,t1-1",
        "t0-1,t0-4,t0-7,t2-0",
        "t0-2,t0-5,t1-0,t2-1",
    ]


def test_the_order_of_discovery_plays_no_part() -> None:
    """C174."""
    found = partitions(t0=3, t1=2)
    assert round_robin(reversed(found), 2) == round_robin(found, 2)


def test_there_are_no_more_tasks_than_partitions() -> None:
    """C173."""
    assert len(round_robin(partitions(t=2), 5)) == 2
    assert round_robin([], 5) == ()


def test_unweighed_partitions_are_spread_by_number() -> None:
    assert [len(bundle) for bundle in pack(partitions(t=10), 3, {})] == [4, 3, 3]
    assert pack([], 3, {}) == ()
    assert len(pack(partitions(t=2), 3, {})) == 2


def test_a_heavy_partition_has_a_bundle_of_its_own() -> None:
    found = partitions(t=5)
    weights = {each: 100.0 if each.partition == 2 else 10.0 for each in found}
    packed = pack(found, 2, weights)
    assert sorted(len(bundle) for bundle in packed) == [1, 4]


def test_idle_partitions_are_spread_too() -> None:
    found = partitions(t=8)
    packed = pack(found, 2, {found[0]: 1.0, **dict.fromkeys(found[1:], 0.0)})
    assert {len(bundle) for bundle in packed} != {1, 7} or len(packed[0]) + len(packed[1]) == 8
    assert [len(bundle) for bundle in pack(found, 2, dict.fromkeys(found, 0.0))] == [4, 4]


def test_nothing_moves_while_loads_are_about_equal() -> None:
    found = partitions(t=8)
    before = pack(found, 3, {})
    noisy = {each: 100.0 + each.partition for each in found}
    assert pack(found, 3, noisy, before) == before


def test_a_new_partition_goes_to_the_lightest_bundle_and_no_other_moves() -> None:
    before = pack(partitions(t=6), 3, {})
    after = pack(partitions(t=7), 3, {}, before)
    assert moved(before, after) == 1


def test_a_partition_that_is_gone_leaves_the_others_in_place() -> None:
    before = pack(partitions(t=6), 3, {})
    after = pack(partitions(t=5), 3, {}, before)
    assert moved(before, after) == 0
    assert sum(map(len, after)) == 5


def test_a_bundle_less_moves_its_partitions_only() -> None:
    before = pack(partitions(t=9), 3, {})
    after = pack(partitions(t=9), 2, {}, before)
    assert moved(before, after) == len(before[2])


def test_a_bundle_more_takes_its_share_only() -> None:
    before = pack(partitions(t=12), 3, {})
    after = pack(partitions(t=12), 4, {}, before)
    assert [len(bundle) for bundle in after] == [3, 3, 3, 3]
    assert moved(before, after) == 3


def test_a_bundle_that_has_become_heavy_gives_some_away() -> None:
    found = partitions(t=6)
    before = pack(found, 2, {})
    weights = {each: 10.0 if each in before[0] else 1.0 for each in found}
    after = pack(found, 2, weights, before)
    assert moved(before, after) == 1
    assert pack(found, 2, weights, after) == after


def test_one_heavy_partition_alone_does_not_stop_the_others_from_levelling() -> None:
    found = partitions(t=7)
    weights = {each: 1000.0 if each.partition == 0 else 200.0 for each in found}
    before = ((found[0],), tuple(found[1:]), ())
    after = pack(found, 3, weights, before)
    assert after[0] == (found[0],)
    assert [len(bundle) for bundle in after] == [1, 3, 3]


def test_a_load_that_cannot_be_split_stays() -> None:
    found = partitions(t=2)
    weights = {found[0]: 1000.0, found[1]: 1.0}
    before = ((found[0],), (found[1],))
    assert pack(found, 2, weights, before) == before


@given(
    bundles=st.integers(1, 5),
    weights=st.lists(st.floats(0, 1e6), min_size=1, max_size=30),
    unknown=st.integers(0, 10),
    before=st.lists(st.integers(0, 4), min_size=40, max_size=40),
)
def test_bundles_that_are_even_stay_as_they_are(
    bundles: int, weights: list[float], unknown: int, before: list[int]
) -> None:
    found = partitions(t=len(weights) + unknown)
    known = dict(zip(found, weights, strict=False))
    previous: list[list[TopicPartition]] = [[] for _ in range(min(bundles, len(found)))]
    for each, place in zip(found, before, strict=False):
        previous[place % len(previous)].append(each)
    of_each = [[known[each] for each in bundle if each in known] for bundle in previous]
    event(f"even: {is_even(of_each, list(map(len, previous)))}")
    if is_even(of_each, list(map(len, previous))):
        assert pack(found, bundles, known, previous) == tuple(map(tuple, previous))


@given(
    bundles=st.integers(1, 6),
    weights=st.lists(st.integers(0, 50), min_size=1, max_size=40),
    before=st.lists(st.integers(0, 7), min_size=40, max_size=40),
)
def test_no_single_move_would_bring_loads_closer_that_differ_too_much(
    bundles: int, weights: list[int], before: list[int]
) -> None:
    found = partitions(t=len(weights))
    known = dict(zip(found, map(float, weights), strict=True))
    previous: list[list[TopicPartition]] = [[] for _ in range(8)]
    for each, place in zip(found, before, strict=False):
        previous[place].append(each)
    packed = pack(found, bundles, known, previous)
    assert sorted(each for bundle in packed for each in bundle) == found
    mean = sum(weights) / len(weights)
    cost = {each: max(known[each], mean / 100) if mean else 1.0 for each in found}
    loads = [sum(cost[each] for each in bundle) for bundle in packed]
    light = min(loads)
    for bundle, load in zip(packed, loads, strict=True):
        if load - light > 0.5 * sum(loads) / len(loads) + 1e-6:
            assert all(cost[each] >= (load - light) * 0.999 - 1e-6 for each in bundle)
