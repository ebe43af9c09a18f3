"""How a node comes to lead a flow, stays its leader, and hands it over."""

from __future__ import annotations

import pytest

from mm2.core.leadership import leadership_events as events
from mm2.core.leadership.lease_timing import LASTS_MS
from mm2.core.leadership.state_machine import PATIENCE_MS, RENEW_MS, Leadership, Role

ME, OTHER = "me", "other"
_EVERY_MS = 2_000
"""Ticks come each second; each second one renews."""

OURS = events.Elected(is_ours=True, alive=frozenset({ME, OTHER}))
OURS_ALONE = events.Elected(is_ours=True, alive=frozenset({ME}))
THEIRS = events.Elected(is_ours=False, alive=frozenset({ME, OTHER}))


def seen(
    owner: str, epoch: int, *, released: bool = False, lasts_ms: int = LASTS_MS
) -> events.LeaseSeen:
    return events.LeaseSeen(owner=owner, epoch=epoch, is_released=released, lasts_ms=lasts_ms)


def after(*events: events.Event, now_ms: int = 0) -> Leadership:
    machine = Leadership(ME)
    for event in events:
        machine.handle(event, now_ms)
    return machine


def leading() -> Leadership:
    machine = after(events.CaughtUp(), OURS, seen(ME, 1))
    assert machine.role is Role.LEADING
    return machine


def test_a_flow_that_nobody_has_led_is_claimed_once_the_log_is_read() -> None:
    machine = Leadership(ME)
    assert machine.handle(OURS, 0) == []
    assert machine.role is Role.WAITING
    assert machine.handle(events.CaughtUp(), 0) == [events.Claim(1)]
    assert machine.handle(events.Tick(), 1) == [], "one claim at a time"
    assert machine.handle(seen(ME, 1), 2) == [events.Lead(1)]
    assert (machine.role, machine.epoch) == (Role.LEADING, 1)


@pytest.mark.parametrize(
    ("lease", "assigned"),
    [
        (seen(OTHER, 7, released=True), OURS),
        (seen(OTHER, 7), OURS_ALONE),
        (seen(ME, 7), OURS),
    ],
)
def test_whoever_leads_no_more_is_not_waited_for(
    lease: events.LeaseSeen, assigned: events.Elected
) -> None:
    machine = after(lease, events.CaughtUp())
    assert machine.handle(assigned, 0) == [events.Claim(8)]


def test_a_living_leader_is_waited_for_until_it_has_drained() -> None:
    machine = after(seen(OTHER, 7), events.CaughtUp(), OURS)
    assert machine.handle(seen(OTHER, 7), 5) == []
    assert machine.handle(seen(OTHER, 7, released=True), 9) == [events.Claim(8)]


@pytest.mark.parametrize("lasts_ms", [LASTS_MS, 0])
def test_a_living_leader_that_says_nothing_is_waited_for_as_long_as_its_lease_lasts(
    lasts_ms: int,
) -> None:
    machine = after(seen(OTHER, 7, lasts_ms=lasts_ms), events.CaughtUp(), OURS)
    limit = lasts_ms or PATIENCE_MS
    assert machine.handle(events.Tick(), limit - 1) == []
    assert machine.handle(events.Tick(), limit) == [events.Claim(8)]


def test_a_living_leader_that_does_not_give_way_is_not_waited_for_for_ever() -> None:
    machine = after(seen(OTHER, 7), events.CaughtUp(), OURS)
    for now_ms in range(0, PATIENCE_MS, 1_000):
        assert machine.handle(seen(OTHER, 7), now_ms) == []
    assert machine.handle(events.Tick(), PATIENCE_MS) == [events.Claim(8)]


def test_a_claim_that_was_not_written_is_made_again_with_a_higher_epoch() -> None:
    machine = after(events.CaughtUp(), OURS)
    assert machine.handle(events.NotClaimed(), 0) == [events.Claim(2)]


def test_a_claim_that_the_log_has_lost_is_made_again_with_a_higher_epoch() -> None:
    machine = after(events.CaughtUp(), OURS)
    assert machine.handle(events.Tick(), PATIENCE_MS - 1) == []
    assert machine.handle(events.Tick(), PATIENCE_MS) == [events.Claim(2)]


def test_a_claim_that_turns_up_late_is_taken_back() -> None:
    machine = after(events.CaughtUp(), OURS, THEIRS)
    assert machine.role is Role.FOLLOWING
    assert machine.handle(seen(ME, 1), 0) == [events.Release(1)]
    assert machine.handle(seen(ME, 1, released=True), 0) == []


def test_what_was_taken_back_ends_no_later_term() -> None:
    machine = after(events.CaughtUp(), OURS, THEIRS)
    assert machine.handle(seen(ME, 1), 0) == [events.Release(1)]
    assert machine.handle(OURS, 0) == [events.Claim(2)]
    assert machine.handle(seen(ME, 2), 0) == [events.Lead(2)]
    machine.handle(events.Released(), 0)
    assert machine.role is Role.LEADING


def test_a_claim_that_a_later_one_outdoes_is_not_taken_back() -> None:
    machine = after(events.CaughtUp(), OURS, THEIRS, OURS)
    assert machine.handle(seen(ME, 1), 0) == []
    assert machine.handle(seen(ME, 2), 0) == [events.Lead(2)]


def test_of_two_claims_of_one_epoch_neither_overlooks_the_other() -> None:
    machine = after(events.CaughtUp(), OURS)
    machine.handle(seen(OTHER, 1), 0)
    assert machine.handle(seen(ME, 1), 0) == [], "it was second, and waits"
    assert machine.role is Role.WAITING
    assert machine.handle(seen(OTHER, 1, released=True), 1) == [events.Claim(2)]


def test_a_leader_renews_its_lease_again_and_again() -> None:
    machine = leading()
    assert machine.handle(events.Tick(), RENEW_MS - 1) == []
    assert machine.handle(events.Tick(), RENEW_MS) == [events.Renew(1)]
    assert machine.handle(events.Tick(), RENEW_MS + 1) == []
    assert machine.handle(events.Tick(), 2 * RENEW_MS) == [events.Renew(1)]


def test_a_leader_that_reads_its_lease_no_more_goes_on_trying_and_holds_still() -> None:
    machine = leading()
    for now_ms in range(_EVERY_MS, LASTS_MS, _EVERY_MS):
        assert machine.handle(events.Tick(), now_ms) == [events.Renew(1)], (
            "none of these can be written, or read"
        )
    assert machine.handle(events.Tick(), LASTS_MS) == [events.Suspend(), events.Renew(1)]
    for now_ms in range(LASTS_MS + _EVERY_MS, 10 * LASTS_MS, _EVERY_MS):
        assert machine.handle(events.Tick(), now_ms) == [events.Renew(1)]
    assert (machine.role, machine.epoch) == (Role.LEADING, 1)


def test_a_leader_that_reads_its_renewals_again_goes_on() -> None:
    machine = leading()
    machine.handle(events.Tick(), 10 * LASTS_MS)
    for _ in range(10):
        assert machine.handle(seen(ME, 1), 10 * LASTS_MS) == [], "these may be old"
    assert machine.handle(events.Tick(), 10 * LASTS_MS + 1) == []
    assert machine.handle(seen(ME, 1), 10 * LASTS_MS + 2_000) == []
    assert machine.handle(events.Tick(), 10 * LASTS_MS + 2_000) == [
        events.Resume(),
        events.Renew(1),
    ]
    assert (machine.role, machine.epoch) == (Role.LEADING, 1)


def test_a_renewed_lease_holds_nothing_up() -> None:
    machine = leading()
    for now_ms in range(_EVERY_MS, 10 * LASTS_MS, _EVERY_MS):
        assert machine.handle(events.Tick(), now_ms) == [events.Renew(1)]
        assert machine.handle(seen(ME, 1), now_ms) == []


def test_a_new_term_begins_without_the_doubts_of_the_last_one() -> None:
    machine = leading()
    now_ms = 10 * LASTS_MS
    assert events.Suspend() in machine.handle(events.Tick(), now_ms)
    machine.handle(seen(OTHER, 2), now_ms)
    machine.handle(events.Ended(), now_ms)
    machine.handle(OURS_ALONE, now_ms)
    assert machine.handle(seen(ME, 3), now_ms) == [events.Lead(3)]
    assert machine.handle(events.Tick(), now_ms + 1) == []


def test_a_leader_that_was_cut_off_ends_when_it_reads_who_leads_now() -> None:
    machine = leading()
    machine.handle(events.Tick(), 10 * LASTS_MS)
    actions = machine.handle(seen(OTHER, 2), 10 * LASTS_MS)
    assert actions == [events.Abandon("other leads with epoch 2"), events.Rejoin()]
    assert machine.role is Role.FOLLOWING


def test_a_leader_that_was_cut_off_drains_when_the_group_names_another() -> None:
    machine = leading()
    machine.handle(events.Tick(), 10 * LASTS_MS)
    assert machine.handle(THEIRS, 10 * LASTS_MS) == [events.Drain()]


def test_a_higher_epoch_ends_a_leader_until_the_group_says_otherwise() -> None:
    machine = leading()
    (abandon, _) = machine.handle(seen(OTHER, 2), 5)
    assert abandon == events.Abandon("other leads with epoch 2")
    assert machine.handle(OURS_ALONE, 6) == [], "not before the work has ended"
    assert machine.handle(events.Ended(), 7) == [events.Claim(3)]


def test_a_rebalance_interrupts_nothing() -> None:
    machine = leading()
    assert machine.handle(OURS, 1) == []
    assert machine.role is Role.LEADING


def test_an_older_leaders_late_word_is_corrected() -> None:
    machine = after(seen(OTHER, 1, released=True), events.CaughtUp(), OURS, seen(ME, 2))
    assert machine.handle(seen(OTHER, 1), 5) == [events.Renew(2)]


def test_new_epochs_are_claimed_while_leading() -> None:
    machine = leading()
    assert machine.handle(events.Advance(), 1) == [events.Claim(2)]
    assert machine.handle(events.Tick(), RENEW_MS) == []
    assert machine.handle(events.NotClaimed(), RENEW_MS) == [events.Claim(3)]
    assert machine.handle(seen(ME, 3), RENEW_MS) == [events.Lead(3)]
    assert machine.handle(seen(ME, 3), RENEW_MS) == []


def test_who_stops_hands_over_before_it_leaves() -> None:
    machine = leading()
    assert machine.handle(events.Stop(), 1) == [events.Drain(), events.Rejoin()], (
        "the group looks for another one"
    )
    assert machine.handle(THEIRS, 2) == []
    assert machine.handle(events.Tick(), RENEW_MS) == [events.Renew(1)], "while it drains, it leads"
    assert machine.handle(events.Ended(), 3) == [events.Release(1)]
    assert machine.handle(events.Released(), 4) == [events.Leave()]


def test_who_has_drained_says_no_more_that_it_leads() -> None:
    machine = after(seen(OTHER, 1, released=True), events.CaughtUp(), OURS, seen(ME, 2))
    machine.handle(events.Stop(), 1)
    assert machine.handle(events.Ended(), 2) == [events.Release(2)]
    assert machine.handle(events.Tick(), RENEW_MS) == []
    assert machine.handle(seen(OTHER, 1), RENEW_MS) == []
    assert machine.handle(events.Released(), RENEW_MS) == [events.Leave()]


def test_who_stops_and_cannot_tell_any_more_whether_it_leads_leaves_without_a_word() -> None:
    machine = leading()
    machine.handle(events.Stop(), 1)
    assert machine.handle(events.Ended(), LASTS_MS) == [events.Leave()]


def test_who_gives_a_flow_away_says_so_although_its_lease_is_over() -> None:
    """It goes on following, and may lead again."""
    machine = leading()
    machine.handle(THEIRS, 1)
    assert machine.handle(events.Ended(), LASTS_MS) == [events.Release(1)]


def test_who_follows_leaves_at_once() -> None:
    assert after(events.CaughtUp(), THEIRS).handle(events.Stop(), 1) == [events.Leave()]


def test_who_hears_of_no_leader_for_long_has_the_group_decide_again() -> None:
    machine = after(events.CaughtUp(), seen(OTHER, 1, released=True), THEIRS)
    assert machine.handle(events.Tick(), PATIENCE_MS - 1) == []
    assert machine.handle(events.Tick(), PATIENCE_MS) == [events.Rejoin()]
    assert machine.handle(events.Tick(), 2 * PATIENCE_MS - 1) == [], "not all the time"
    assert machine.handle(seen(OTHER, 2), 2 * PATIENCE_MS) == []
    assert machine.handle(events.Tick(), 3 * PATIENCE_MS - 1) == [], "somebody leads"


def test_who_is_in_no_group_has_none_to_ask() -> None:
    assert after(events.CaughtUp()).handle(events.Tick(), PATIENCE_MS) == []


def test_every_interrupted_handover_ends_with_another_leader() -> None:
    """The leader is gone after each of its actions; the heir leads all the same."""
    steps: list[events.Event] = [THEIRS, events.Ended(), events.Released()]
    for count in range(len(steps) + 1):
        leader, log = leading(), [seen(ME, 1)]
        for event in steps[:count]:
            log += [
                seen(ME, each.epoch, released=True)
                for each in leader.handle(event, 1)
                if isinstance(each, events.Release)
            ]
        heir = Leadership("heir")
        actions: list[events.Action] = []
        alone = events.Elected(is_ours=True, alive=frozenset({"heir"}))
        heard: list[events.Event] = [*log, events.CaughtUp(), alone]
        for event in heard:
            actions += heir.handle(event, 2)
        assert actions == [events.Claim(2)]
        assert heir.handle(seen("heir", 2), 3) == [events.Lead(2)]
