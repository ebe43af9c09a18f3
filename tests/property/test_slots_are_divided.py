"""Flows that come, change their minds and go: each has its part of the slots, and none too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mm2.core.balancing.spark_slots import SlotLedger, fair_shares

_FLOWS = "abc"
_flow = st.sampled_from(_FLOWS)
_bundle = st.integers(0, 5)


@given(st.integers(0, 40), st.dictionaries(st.text("abcdefg", max_size=1), st.integers(0, 20)))
def test_shares_are_as_even_as_can_be(slots: int, wanted: dict[str, int]) -> None:
    shares = fair_shares(slots, wanted)
    assert sum(shares.values()) == min(slots, sum(wanted.values())), "all that can be used is given"
    assert all(shares[flow] <= number for flow, number in wanted.items())
    hungry = [share for flow, share in shares.items() if share < wanted[flow]]
    assert all(share <= least + 1 for share in shares.values() for least in hungry)
    assert hungry == sorted(hungry, reverse=True), "who came first has no less"


@given(
    st.integers(0, 40),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 20)),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 20)),
)
def test_nobody_gives_up_what_another_one_gets_where_both_would_be_as_even(
    slots: int, wanted: dict[str, int], held: dict[str, int]
) -> None:
    shares = fair_shares(slots, wanted, held)
    assert sorted(shares.values()) == sorted(fair_shares(slots, wanted).values())
    for loser, share in shares.items():
        if share < min(wanted[loser], held.get(loser, 0)):
            for each, more in shares.items():
                assert more <= share or held.get(each, 0) >= more


class Ledger(RuleBasedStateMachine):
    """Flows that obey their shares, at their leisure."""

    def __init__(self) -> None:
        super().__init__()
        self.slots = 4
        self.ledger = SlotLedger(self.slots)
        self.held: dict[str, set[int]] = {flow: set() for flow in _FLOWS}
        self.shares = dict.fromkeys(_FLOWS, 0)
        self.here: set[str] = set()

    def told(self, flow: str, others: set[object]) -> None:
        """Who is told sees its share; nobody else's has changed."""
        for each in {flow, *others}:
            assert isinstance(each, str)
            self.shares[each] = self.ledger.share(each)

    @rule(flow=_flow, number=st.integers(1, 6))
    def request(self, flow: str, number: int) -> None:
        """A flow comes, or changes its mind."""
        self.here.add(flow)
        self.told(flow, set(self.ledger.request(flow, number)))

    @rule(flow=_flow)
    def leave(self, flow: str) -> None:
        """A flow goes; its bundles are still there."""
        self.here.discard(flow)
        self.told(flow, set(self.ledger.leave(flow)))

    @rule(flow=_flow, bundle=_bundle)
    def take(self, flow: str, bundle: int) -> None:
        """A bundle gets a slot, if its flow has one left."""
        had = bundle in self.held[flow]
        if self.ledger.take(flow, bundle):
            assert had or len(self.held[flow]) < self.shares[flow]
            self.held[flow].add(bundle)
        else:
            assert not had

    @precondition(lambda self: any(self.held.values()))
    @rule(data=st.data())
    def give(self, data: st.DataObject) -> None:
        """A bundle ends."""
        flow = data.draw(st.sampled_from([each for each in _FLOWS if self.held[each]]))
        bundle = data.draw(st.sampled_from(sorted(self.held[flow])))
        self.held[flow].discard(bundle)
        self.ledger.give(flow, bundle)

    @invariant()
    def no_more_slots_are_promised_or_held_than_there_are(self) -> None:
        """And whoever is here has one at least, where there are enough."""
        assert sum(map(len, self.held.values())) <= self.slots
        assert sum(self.ledger.share(flow) for flow in _FLOWS) <= self.slots
        assert self.shares == {flow: self.ledger.share(flow) for flow in _FLOWS}
        assert all(self.shares[flow] >= 1 for flow in self.here)

    def teardown(self) -> None:
        """Once all have drained what is too much, each gets its share."""
        for flow in _FLOWS:
            for bundle in sorted(self.held[flow])[self.shares[flow] :]:
                self.held[flow].discard(bundle)
                self.ledger.give(flow, bundle)
        for flow in _FLOWS:
            for bundle in range(6):
                self.take(flow, bundle)
            assert len(self.held[flow]) == self.shares[flow]


TestLedger = Ledger.TestCase
