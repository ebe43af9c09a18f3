"""Which node leads which flow: kept, spread, and moved no more than is needed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.leadership.placement import Member, leader_of, placement

FLOWS = ("A->B", "A->C", "B->A", "B->C", "C->A", "C->B")


def node(name: str, *leads: str, eligible: tuple[str, ...] = FLOWS, epoch: int = 1) -> Member:
    return Member(node=name, leads=dict.fromkeys(leads, epoch), eligible=frozenset(eligible))


def test_flows_that_nobody_leads_are_spread_evenly() -> None:
    placed = placement([node("n2"), node("n1"), node("n3")])
    assert placed.keys() == set(FLOWS)
    assert Counter(placed.values()) == {"n1": 2, "n2": 2, "n3": 2}


def test_a_leader_keeps_its_flow() -> None:
    assert leader_of("B->C", [node("n1"), node("n2", "B->C")]) == "n2"


def test_of_two_leaders_the_higher_epoch_counts() -> None:
    members = [node("n1", "A->B", epoch=4), node("n2", "A->B", epoch=5)]
    assert leader_of("A->B", members) == "n2"
    assert leader_of("A->B", members[::-1]) == "n2"


def test_a_flow_goes_to_a_node_that_could_lead_it() -> None:
    near = node("n1", eligible=("A->C",))
    assert leader_of("A->B", [near, node("n2", "B->A", "C->A")]) == "n2"


def test_somebody_is_chosen_even_if_nobody_could() -> None:
    assert leader_of("A->B", [Member(node="n2"), Member(node="n1")]) == "n1"


def test_a_node_that_leads_too_much_gives_up_as_many_flows_as_makes_it_even() -> None:
    eligible = FLOWS[:4]
    members = [node("n1", *eligible, eligible=eligible), node("n2", eligible=eligible)]
    assert placement(members) == dict.fromkeys(eligible, "n1") | dict.fromkeys(eligible[:2], "n2")


def test_a_node_that_has_just_been_started_is_given_nothing_that_another_one_could_lead() -> None:
    cold = replace(node("n2"), is_warm=False)
    assert set(placement([node("n1", *FLOWS), cold]).values()) == {"n1"}
    assert set(placement([node("n1"), cold]).values()) == {"n1"}
    assert set(placement([cold]).values()) == {"n2"}
    assert Counter(placement([replace(node("n1"), is_warm=False), cold]).values()) == {
        "n1": 3,
        "n2": 3,
    }


def test_nothing_moves_for_a_difference_of_one() -> None:
    eligible = FLOWS[:3]
    members = [
        node("n1", *eligible[:2], eligible=eligible),
        node("n2", eligible[2], eligible=eligible),
    ]
    assert placement(members) == {eligible[0]: "n1", eligible[1]: "n1", eligible[2]: "n2"}


@st.composite
def groups(draw: st.DrawFn) -> list[Member]:
    names = draw(st.sets(st.sampled_from("abcde"), min_size=1))
    members = []
    for name in sorted(names):
        eligible = draw(st.frozensets(st.sampled_from(FLOWS)))
        leads = draw(st.dictionaries(st.sampled_from(FLOWS), st.integers(0, 3)))
        leads = {flow: epoch for flow, epoch in leads.items() if flow in eligible}
        is_warm = draw(st.booleans())
        members.append(Member(node=name, leads=leads, eligible=eligible, is_warm=is_warm))
    return draw(st.permutations(members))


@given(groups().flatmap(lambda members: st.tuples(st.just(members), st.permutations(members))))
def test_everybody_draws_the_same_conclusions(both: tuple[list[Member], list[Member]]) -> None:
    assert placement(both[0]) == placement(both[1])


@given(st.integers(0, 40), st.integers(0, 40), st.data())
def test_groups_that_decide_in_any_order_spread_the_flows_at_once(
    first: int, second: int, data: st.DataObject
) -> None:
    """A third node comes; each group decides once, in any order, from what is so by then."""
    flows = [f"F{number:02}->B" for number in range(first + second)]
    leads = {
        flow: "n1" if number < first else "n2"
        for number, flow in enumerate(data.draw(st.permutations(flows)))
    }
    before = dict(leads)
    for flow in data.draw(st.permutations(flows)):
        members = [
            node(name, *(each for each in flows if leads[each] == name), eligible=tuple(flows))
            for name in ("n1", "n2", "n3")
        ]
        leads[flow] = leader_of(flow, members)
    had, has = (Counter(each.values()) for each in (before, leads))
    names = ("n1", "n2", "n3")
    assert max(has[name] for name in names) - min(has[name] for name in names) <= 1
    moved = [flow for flow in flows if leads[flow] != before[flow]]
    assert len(moved) == sum(max(0, had[name] - has[name]) for name in names), "none in vain"


@given(groups())
def test_moves_end_with_no_node_leading_two_more_than_one_that_could(
    members: list[Member],
) -> None:
    for _ in range(2):
        placed = placement(members)
        members = [
            Member(
                node=each.node,
                leads={flow: 1 for flow, node in placed.items() if node == each.node},
                eligible=each.eligible,
                is_warm=each.is_warm,
            )
            for each in members
        ]
    assert placement(members) == placed, "nothing moves any more"
    loads = Counter(placed.values())
    for flow, leader in placed.items():
        for each in members:
            if flow in each.eligible and each.is_warm:
                assert loads[leader] - loads[each.node] < 2
