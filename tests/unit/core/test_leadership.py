"""How a node comes to lead a flow, stays its leader, and hands it over."""

from __future__ import annotations

import pytest

from mm2.core.leadership import PATIENCE_MS, RENEW_MS, Leadership, Role
from mm2.core.leadership_words import (
    LASTS_MS,
    Abandon,
    Action,
    Advance,
    Assigned,
    CaughtUp,
    Claim,
    Drain,
    Ended,
    Event,
    Lead,
    LeaseSeen,
    Leave,
    NotClaimed,
    Rejoin,
    Release,
    Released,
    Renew,
    Resume,
    Stop,
    Suspend,
    Tick,
)

ME, OTHER = "me", "other"
OURS = Assigned(is_ours=True, alive=frozenset({ME, OTHER}))
OURS_ALONE = Assigned(is_ours=True, alive=frozenset({ME}))
THEIRS = Assigned(is_ours=False, alive=frozenset({ME, OTHER}))


def seen(owner: str, epoch: int, *, released: bool = False, lasts_ms: int = LASTS_MS) -> LeaseSeen:
    return LeaseSeen(owner=owner, epoch=epoch, is_released=released, lasts_ms=lasts_ms)


def after(*events: Event, now_ms: int = 0) -> Leadership:
    machine = Leadership(ME)
    for event in events:
        machine.handle(event, now_ms)
    return machine


def leading() -> Leadership:
    machine = after(CaughtUp(), OURS, seen(ME, 1))
    assert machine.role is Role.LEADING
    return machine


def test_a_flow_that_nobody_has_led_is_claimed_once_the_log_is_read() -> None:
    machine = Leadership(ME)
    assert machine.handle(OURS, 0) == []
    assert machine.role is Role.WAITING
    assert machine.handle(CaughtUp(), 0) == [Claim(1)]
    assert machine.handle(Tick(), 1) == [], "one claim at a time"
    assert machine.handle(seen(ME, 1), 2) == [Lead(1)]
    assert (machine.role, machine.epoch) == (Role.LEADING, 1)


@pytest.mark.parametrize(
    ("lease", "assigned"),
    [
        (seen(OTHER, 7, released=True), OURS),
        (seen(OTHER, 7), OURS_ALONE),
        (seen(ME, 7), OURS),
    ],
)
def test_whoever_leads_no_more_is_not_waited_for(lease: LeaseSeen, assigned: Assigned) -> None:
    machine = after(lease, CaughtUp())
    assert machine.handle(assigned, 0) == [Claim(8)]


def test_a_living_leader_is_waited_for_until_it_has_drained() -> None:
    machine = after(seen(OTHER, 7), CaughtUp(), OURS)
    assert machine.handle(seen(OTHER, 7), 5) == []
    assert machine.handle(seen(OTHER, 7, released=True), 9) == [Claim(8)]


@pytest.mark.parametrize("lasts_ms", [LASTS_MS, 0])
def test_a_living_leader_that_says_nothing_is_waited_for_as_long_as_its_lease_lasts(
    lasts_ms: int,
) -> None:
    machine = after(seen(OTHER, 7, lasts_ms=lasts_ms), CaughtUp(), OURS)
    limit = lasts_ms or PATIENCE_MS
    assert machine.handle(Tick(), limit - 1) == []
    assert machine.handle(Tick(), limit) == [Claim(8)]


def test_a_living_leader_that_does_not_give_way_is_not_waited_for_for_ever() -> None:
    machine = after(seen(OTHER, 7), CaughtUp(), OURS)
    for now_ms in range(0, PATIENCE_MS, 1_000):
        assert machine.handle(seen(OTHER, 7), now_ms) == []
    assert machine.handle(Tick(), PATIENCE_MS) == [Claim(8)]


def test_a_claim_that_was_not_written_is_made_again_with_a_higher_epoch() -> None:
    machine = after(CaughtUp(), OURS)
    assert machine.handle(NotClaimed(), 0) == [Claim(2)]


def test_a_claim_that_the_log_has_lost_is_made_again_with_a_higher_epoch() -> None:
    machine = after(CaughtUp(), OURS)
    assert machine.handle(Tick(), PATIENCE_MS - 1) == []
    assert machine.handle(Tick(), PATIENCE_MS) == [Claim(2)]


def test_a_claim_that_turns_up_late_is_taken_back() -> None:
    machine = after(CaughtUp(), OURS, THEIRS)
    assert machine.role is Role.FOLLOWING
    assert machine.handle(seen(ME, 1), 0) == [Release(1)]
    assert machine.handle(seen(ME, 1, released=True), 0) == []


def test_what_was_taken_back_ends_no_later_term() -> None:
    machine = after(CaughtUp(), OURS, THEIRS)
    assert machine.handle(seen(ME, 1), 0) == [Release(1)]
    assert machine.handle(OURS, 0) == [Claim(2)]
    assert machine.handle(seen(ME, 2), 0) == [Lead(2)]
    machine.handle(Released(), 0)
    assert machine.role is Role.LEADING


def test_a_claim_that_a_later_one_outdoes_is_not_taken_back() -> None:
    machine = after(CaughtUp(), OURS, THEIRS, OURS)
    assert machine.handle(seen(ME, 1), 0) == []
    assert machine.handle(seen(ME, 2), 0) == [Lead(2)]


def test_of_two_claims_of_one_epoch_neither_overlooks_the_other() -> None:
    machine = after(CaughtUp(), OURS)
    machine.handle(seen(OTHER, 1), 0)
    assert machine.handle(seen(ME, 1), 0) == [], "it was second, and waits"
    assert machine.role is Role.WAITING
    assert machine.handle(seen(OTHER, 1, released=True), 1) == [Claim(2)]


def test_a_leader_renews_its_lease_again_and_again() -> None:
    machine = leading()
    assert machine.handle(Tick(), RENEW_MS - 1) == []
    assert machine.handle(Tick(), RENEW_MS) == [Renew(1)]
    assert machine.handle(Tick(), RENEW_MS + 1) == []
    assert machine.handle(Tick(), 2 * RENEW_MS) == [Renew(1)]


def test_a_leader_that_reads_its_lease_no_more_goes_on_trying_and_holds_still() -> None:
    machine = leading()
    for now_ms in range(RENEW_MS, LASTS_MS, RENEW_MS):
        assert machine.handle(Tick(), now_ms) == [Renew(1)], "none of these can be written, or read"
    assert machine.handle(Tick(), LASTS_MS) == [Suspend(), Renew(1)]
    for now_ms in range(LASTS_MS + RENEW_MS, 10 * LASTS_MS, RENEW_MS):
        assert machine.handle(Tick(), now_ms) == [Renew(1)]
    assert (machine.role, machine.epoch) == (Role.LEADING, 1)


def test_a_leader_that_reads_its_renewals_again_goes_on() -> None:
    machine = leading()
    machine.handle(Tick(), 10 * LASTS_MS)
    for _ in range(10):
        assert machine.handle(seen(ME, 1), 10 * LASTS_MS) == [], "these may be old"
    assert machine.handle(Tick(), 10 * LASTS_MS + 1) == []
    assert machine.handle(seen(ME, 1), 10 * LASTS_MS + 2_000) == []
    assert machine.handle(Tick(), 10 * LASTS_MS + 2_000) == [Resume(), Renew(1)]
    assert (machine.role, machine.epoch) == (Role.LEADING, 1)


def test_a_renewed_lease_holds_nothing_up() -> None:
    machine = leading()
    for now_ms in range(RENEW_MS, 10 * LASTS_MS, RENEW_MS):
        assert machine.handle(Tick(), now_ms) == [Renew(1)]
        assert machine.handle(seen(ME, 1), now_ms) == []


def test_a_new_term_begins_without_the_doubts_of_the_last_one() -> None:
    machine = leading()
    now_ms = 10 * LASTS_MS
    assert Suspend() in machine.handle(Tick(), now_ms)
    machine.handle(seen(OTHER, 2), now_ms)
    machine.handle(Ended(), now_ms)
    machine.handle(OURS_ALONE, now_ms)
    assert machine.handle(seen(ME, 3), now_ms) == [Lead(3)]
    assert machine.handle(Tick(), now_ms + 1) == []


def test_a_leader_that_was_cut_off_ends_when_it_reads_who_leads_now() -> None:
    machine = leading()
    machine.handle(Tick(), 10 * LASTS_MS)
    actions = machine.handle(seen(OTHER, 2), 10 * LASTS_MS)
    assert actions == [Abandon("other leads with epoch 2"), Rejoin()]
    assert machine.role is Role.FOLLOWING


def test_a_leader_that_was_cut_off_drains_when_the_group_names_another() -> None:
    machine = leading()
    machine.handle(Tick(), 10 * LASTS_MS)
    assert machine.handle(THEIRS, 10 * LASTS_MS) == [Drain()]


def test_a_higher_epoch_ends_a_leader_until_the_group_says_otherwise() -> None:
    machine = leading()
    (abandon, _) = machine.handle(seen(OTHER, 2), 5)
    assert abandon == Abandon("other leads with epoch 2")
    assert machine.handle(OURS_ALONE, 6) == [], "not before the work has ended"
    assert machine.handle(Ended(), 7) == [Claim(3)]


def test_a_rebalance_interrupts_nothing() -> None:
    machine = leading()
    assert machine.handle(OURS, 1) == []
    assert machine.role is Role.LEADING


def test_an_older_leaders_late_word_is_corrected() -> None:
    machine = after(seen(OTHER, 1, released=True), CaughtUp(), OURS, seen(ME, 2))
    assert machine.handle(seen(OTHER, 1), 5) == [Renew(2)]


def test_new_epochs_are_claimed_while_leading() -> None:
    machine = leading()
    assert machine.handle(Advance(), 1) == [Claim(2)]
    assert machine.handle(Tick(), RENEW_MS) == []
    assert machine.handle(NotClaimed(), RENEW_MS) == [Claim(3)]
    assert machine.handle(seen(ME, 3), RENEW_MS) == [Lead(3)]
    assert machine.handle(seen(ME, 3), RENEW_MS) == []


def test_who_stops_hands_over_before_it_leaves() -> None:
    machine = leading()
    assert machine.handle(Stop(), 1) == [Drain(), Rejoin()], "the group looks for another one"
    assert machine.handle(THEIRS, 2) == []
    assert machine.handle(Tick(), RENEW_MS) == [Renew(1)], "while it drains, it leads"
    assert machine.handle(Ended(), 3) == [Release(1)]
    assert machine.handle(Released(), 4) == [Leave()]


def test_who_has_drained_says_no_more_that_it_leads() -> None:
    machine = after(seen(OTHER, 1, released=True), CaughtUp(), OURS, seen(ME, 2))
    machine.handle(Stop(), 1)
    assert machine.handle(Ended(), 2) == [Release(2)]
    assert machine.handle(Tick(), RENEW_MS) == []
    assert machine.handle(seen(OTHER, 1), RENEW_MS) == []
    assert machine.handle(Released(), RENEW_MS) == [Leave()]


def test_who_follows_leaves_at_once() -> None:
    assert after(CaughtUp(), THEIRS).handle(Stop(), 1) == [Leave()]


def test_who_hears_of_no_leader_for_long_has_the_group_decide_again() -> None:
    machine = after(CaughtUp(), seen(OTHER, 1, released=True), THEIRS)
    assert machine.handle(Tick(), PATIENCE_MS - 1) == []
    assert machine.handle(Tick(), PATIENCE_MS) == [Rejoin()]
    assert machine.handle(Tick(), 2 * PATIENCE_MS - 1) == [], "not all the time"
    assert machine.handle(seen(OTHER, 2), 2 * PATIENCE_MS) == []
    assert machine.handle(Tick(), 3 * PATIENCE_MS - 1) == [], "somebody leads"


def test_who_is_in_no_group_has_none_to_ask() -> None:
    assert after(CaughtUp()).handle(Tick(), PATIENCE_MS) == []


def test_every_interrupted_handover_ends_with_another_leader() -> None:
    """The leader is gone after each of its actions; the heir leads all the same."""
    steps: list[Event] = [THEIRS, Ended(), Released()]
    for count in range(len(steps) + 1):
        leader, log = leading(), [seen(ME, 1)]
        for event in steps[:count]:
            log += [
                seen(ME, each.epoch, released=True)
                for each in leader.handle(event, 1)
                if isinstance(each, Release)
            ]
        heir = Leadership("heir")
        actions: list[Action] = []
        alone = Assigned(is_ours=True, alive=frozenset({"heir"}))
        heard: list[Event] = [*log, CaughtUp(), alone]
        for event in heard:
            actions += heir.handle(event, 2)
        assert actions == [Claim(2)]
        assert heir.handle(seen("heir", 2), 3) == [Lead(2)]
