"""When partitions move, and when they do not."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.model import TopicName, TopicPartition

P = [TopicPartition(TopicName("t"), number) for number in range(6)]
EVEN = dict.fromkeys(P, 1e6)
UNEVEN = {**dict.fromkeys(P, 1e5), P[0]: 5e6, P[2]: 5e6}


def test_partitions_move_after_two_uneven_looks_in_a_row() -> None:
    balance = Balance(Strategy.LOAD, 2)
    assert balance.place(P) == ((P[0], P[2], P[4]), (P[1], P[3], P[5]))
    assert [balance.look(rates) for rates in (UNEVEN, EVEN, UNEVEN)] == [False, False, False]
    assert balance.look(UNEVEN)
    assert sum(P[0] in bundle or P[2] in bundle for bundle in balance.planned) == 2
    assert [balance.look(UNEVEN) for _ in range(5)] == [False] * 5


def test_moves_bring_the_loads_so_close_that_a_small_change_moves_nothing() -> None:
    balance = Balance(Strategy.LOAD, 2)
    balance.place(P)
    rates = {each: 3e6 if each in balance.planned[0] else 1e6 for each in P}
    balance.look(rates)
    assert balance.look(rates)
    loads = [sum(rates[each] for each in bundle) for bundle in balance.planned]
    assert max(loads) - min(loads) <= 2e6
    noisy = {
        each: rate * (1.1 if each in balance.planned[0] else 0.9) for each, rate in rates.items()
    }
    assert not any(balance.look(noisy) for _ in range(4))


def test_noise_on_idle_partitions_moves_nothing() -> None:
    balance = Balance(Strategy.LOAD, 2)
    balance.place(P)
    rates = {each: 300.0 if each in balance.planned[0] else 0.0 for each in P}
    assert not any(balance.look(rates) for _ in range(4))


def test_without_reports_nothing_moves() -> None:
    balance = Balance(Strategy.LOAD, 2)
    balance.place(P)
    assert not any(balance.look({}) for _ in range(4))


def test_new_partitions_move_no_others() -> None:
    balance = Balance(Strategy.LOAD, 3)
    balance.place(P[:1])
    assert balance.place(P[:3]) == ((P[0],), (P[1],), (P[2],))
    before = balance.place(P)
    assert balance.place(P[1:]) == ((), *before[1:]) or P[0] not in balance.planned[0]


def test_what_an_earlier_leader_decided_is_kept() -> None:
    earlier = [[P[5], P[4], P[3]], [P[0], P[1], P[2]]]
    balance = Balance(Strategy.LOAD, 2, earlier)
    assert balance.place(P) == ((P[3], P[4], P[5]), (P[0], P[1], P[2]))


def test_more_tasks_than_an_earlier_leader_had_are_used_from_the_start() -> None:
    balance = Balance(Strategy.LOAD, 3, [P[:3], P[3:]])
    assert sorted(len(bundle) for bundle in balance.place(P)) == [2, 2, 2]


def test_fewer_tasks_than_an_earlier_leader_had_take_over_the_rest() -> None:
    balance = Balance(Strategy.LOAD, 2, [P[:2], P[2:4], P[4:]])
    first, second = balance.place(P)
    assert {P[0], P[1]} <= set(first)
    assert {P[2], P[3]} <= set(second)


def test_round_robin_deals_out_by_number_whatever_the_load() -> None:
    balance = Balance(Strategy.ROUND_ROBIN, 2, [P, []])
    assert balance.place(P) == ((P[0], P[2], P[4]), (P[1], P[3], P[5]))
    assert not any(balance.look(UNEVEN) for _ in range(4))
    assert balance.place(P[1:]) == ((P[1], P[3], P[5]), (P[2], P[4]))


def test_fewer_bundles_move_only_what_was_in_those_that_go() -> None:
    balance = Balance(Strategy.LOAD, 3)
    before = balance.place(P)
    balance.reshape(Strategy.LOAD, 2, {})
    assert len(balance.planned) == 2
    for place in (0, 1):
        assert set(before[place]) <= set(balance.planned[place])
    assert sorted(each for bundle in balance.planned for each in bundle) == P


def test_more_bundles_get_their_share_of_the_load_with_few_moves() -> None:
    balance = Balance(Strategy.LOAD, 1)
    balance.place(P)
    rates = {**dict.fromkeys(P, 1e5), P[3]: 5e5}
    balance.reshape(Strategy.LOAD, 2, rates)
    loads = [sum(rates[each] for each in bundle) for bundle in balance.planned]
    assert sorted(loads) == [5e5, 5e5]
    assert P[3] in balance.planned[1], "one move, not five"
    assert balance.place(P) == balance.planned, "which nothing takes back"


def test_another_strategy_divides_as_it_would_have_from_the_start() -> None:
    balance = Balance(Strategy.LOAD, 2, [[P[5], P[4], P[3]], [P[0], P[1], P[2]]])
    balance.place(P)
    balance.reshape(Strategy.ROUND_ROBIN, 3, {})
    assert balance.planned == Balance(Strategy.ROUND_ROBIN, 3).place(P)
    assert not balance.look(UNEVEN)


def _sums(balance: Balance, rates: Mapping[TopicPartition, float]) -> dict[int, float]:
    return {
        number: sum(rates.get(each, 0.0) for each in bundle)
        for number, bundle in enumerate(balance.planned)
    }


@given(
    st.lists(st.floats(0, 1e9), min_size=1, max_size=30),
    st.integers(1, 5),
)
def test_what_sums_of_bundles_say_is_even_is_even(found: list[float], bundles: int) -> None:
    partitions = [TopicPartition(TopicName("t"), number) for number in range(len(found))]
    rates = dict(zip(partitions, found, strict=True))
    balance = Balance(Strategy.LOAD, bundles)
    balance.place(partitions)
    if balance.is_certainly_even(_sums(balance, rates)):
        assert not any(balance.look(rates) for _ in range(3))


def test_sums_of_bundles_tell_even_loads_from_others() -> None:
    balance = Balance(Strategy.LOAD, 2)
    assert balance.is_certainly_even({})
    balance.place(P)
    assert balance.is_certainly_even({})
    assert balance.is_certainly_even(_sums(balance, EVEN))
    assert not balance.is_certainly_even(_sums(balance, UNEVEN))


def test_sums_that_are_even_again_end_the_doubt() -> None:
    balance = Balance(Strategy.LOAD, 2)
    balance.place(P)
    assert not balance.look(UNEVEN)
    assert balance.is_certainly_even(_sums(balance, EVEN))
    assert not balance.look(UNEVEN)
    assert balance.look(UNEVEN)
