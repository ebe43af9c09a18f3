"""
Whether a consumer group may move to another cluster, and what that costs: facts in, verdicts out.

A planned move finds every offset exactly or is refused. An unplanned one, after the origin is lost,
takes the last checkpoints and says what is read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mm2.core.failover.group_facts import IDLE_STATES, GroupFacts, TargetOffset, WithoutCheckpoint
from mm2.core.failover.verdicts import Outcome, Verdict, some
from mm2.core.translation.group_sync_rules import Order


def group_verdicts(facts: GroupFacts, *, planned: bool) -> Iterator[Verdict]:
    """
    Judges one group: its state on both sides, and each of its partitions.

    Args:
        facts: what is known of it.
        planned: whether the origin answers, so that nothing but exact offsets will do.
    """
    if facts.is_of_other_type:
        yield _other_type(facts)
    yield _origin_state(facts, planned=planned)
    yield _destination_state(facts)
    if not facts.places:
        yield Verdict(
            check="offsets",
            subject=facts.group,
            outcome=Outcome.NO_GO,
            reason="has no offsets of mirrored topics" if planned else "has no checkpoints",
            cost=None,
        )
    if facts.left_behind:
        yield Verdict(
            check="offsets",
            subject=facts.group,
            outcome=Outcome.CAUTION,
            reason=f"also reads what is not mirrored: {some(map(str, facts.left_behind))}",
        )
    if facts.unplaced:
        yield Verdict(
            check="unplaced",
            subject=facts.group,
            outcome=_unless_refused(facts),
            reason=f"has no checkpoint of {some(facts.unplaced)}: if it reads there, it begins "
            "where auto.offset.reset says",
            cost="with latest, what is there already is never read",
        )
    for place in facts.places:
        if place.is_guessed:
            yield _guess(facts, place)
        else:
            yield from _place_verdicts(facts.group, place, planned=planned)


def _unless_refused(facts: GroupFacts) -> Outcome:
    refused = facts.without is WithoutCheckpoint.REFUSE
    return Outcome.NO_GO if refused else Outcome.CAUTION


def _guess(facts: GroupFacts, place: TargetOffset) -> Verdict:
    count = place.end - place.start
    where, cost = "start", f"up to {count} records are read again"
    if facts.without is WithoutCheckpoint.LATEST:
        where, cost = "end", f"up to {count} records are never read"
    return Verdict(
        check="unplaced",
        subject=f"{facts.group} {place.destination}",
        outcome=_unless_refused(facts),
        reason=f"there is no checkpoint: the group begins at the {where} of the log",
        cost=cost,
    )


def _other_type(facts: GroupFacts) -> Verdict:
    """Whether it has members is not known either: such groups are described otherwise."""
    return Verdict(
        check="type",
        subject=facts.group,
        outcome=Outcome.NO_GO,
        reason="is a share or streams group: what it commits is not ours to move",
        cost=None,
    )


def _origin_state(facts: GroupFacts, *, planned: bool) -> Verdict:
    state = facts.origin_state
    if state is None:
        reason = "not known: the origin does not answer" if not planned else "has no members"
        outcome = Outcome.GO if planned else Outcome.CAUTION
        return Verdict(check="origin", subject=facts.group, outcome=outcome, reason=reason)
    if state in IDLE_STATES:
        return Verdict(
            check="origin", subject=facts.group, outcome=Outcome.GO, reason="has no members"
        )
    return Verdict(
        check="origin",
        subject=facts.group,
        outcome=Outcome.NO_GO,
        reason=f"is {state} where it comes from: stop its consumers first",
        cost="what its members read from now on is read again",
    )


def _destination_state(facts: GroupFacts) -> Verdict:
    state = facts.destination_state
    if state is None or state in IDLE_STATES:
        return Verdict(
            check="destination", subject=facts.group, outcome=Outcome.GO, reason="has no members"
        )
    return Verdict(
        check="destination",
        subject=facts.group,
        outcome=Outcome.NO_GO,
        reason=f"is {state} where it goes: only its members can commit there; stop them first",
        cost=None,
    )


def _place_verdicts(group: str, place: TargetOffset, *, planned: bool) -> Iterator[Verdict]:
    subject = f"{group} {place.destination}"
    if not place.is_there:
        yield Verdict(
            check="copied",
            subject=subject,
            outcome=Outcome.NO_GO,
            reason="the copy is not there yet: does the flow run?",
            cost=None,
        )
        return
    if place.stays:
        yield _staying(subject, place)
        return
    if place.to_copy:
        yield Verdict(
            check="copied",
            subject=subject,
            outcome=Outcome.NO_GO,
            reason=f"up to {place.to_copy} records that the group has read are not copied yet",
            cost=f"they are read again: up to {place.to_copy} records",
        )
    else:
        yield _translation(subject, place, planned=planned)
    if place.is_known:
        yield from _log_verdicts(subject, place)
    if place.current is not None and place.current > place.offset:
        yield _setting_back(subject, place, place.current)


_STAYS: Final = {
    Order.LATER: "was committed later",
    Order.UNSURE: "was committed at about the same time",
    Order.UNKNOWN: "may have been committed later",
}
_IS_FURTHER: Final = {
    Order.GIVEN: "it was only carried there, and has read nothing",
    Order.EARLIER: "it had committed that before it went back",
    Order.UNSURE: "both were committed at about the same time",
    Order.UNKNOWN: "whether it has read so far there, or has gone back since, is not known",
    Order.LATER: "that was committed later",
}


def _staying(subject: str, place: TargetOffset) -> Verdict:
    """The group goes on where it stands on the destination."""
    why = _STAYS.get(place.order, "")
    if place.is_carried:
        why = "is where it has read: where it comes from, it was only carried along"
    again = 0 if place.current is None else place.found - place.current
    is_open = place.order in (Order.UNKNOWN, Order.UNSURE)
    return Verdict(
        check="progress",
        subject=subject,
        outcome=Outcome.NO_GO if is_open and place.origin is not None else Outcome.CAUTION,
        reason=f"the group stays there at {place.current}, not at {place.found}: that {why}",
        cost=f"up to {again} records are read again" if is_open else None,
    )


def _setting_back(subject: str, place: TargetOffset, current: int) -> Verdict:
    """The group stands further on the destination than where it is to go on."""
    further = f"the group is further there, at {current}, than {place.offset}"
    again = f"up to {current - place.offset} records are read again"
    return Verdict(
        check="progress",
        subject=subject,
        outcome=Outcome.CAUTION if place.may_go_back else Outcome.NO_GO,
        reason=f"{further}: {_IS_FURTHER[place.order]}",
        cost=None if place.order is Order.GIVEN else again,
    )


def _translation(subject: str, place: TargetOffset, *, planned: bool) -> Verdict:
    again = f"up to {max(0, place.end - place.offset)} records are read again"
    if not place.is_known:
        return Verdict(
            check="translation",
            subject=subject,
            outcome=Outcome.NO_GO,
            reason=f"offset {place.committed} cannot be translated: it is older than all that is "
            "known of the copy, or nothing is",
            cost=f"the group begins at the start of the log: {again}",
        )
    if place.is_exact:
        return Verdict(
            check="translation",
            subject=subject,
            outcome=Outcome.GO,
            reason=f"offset {place.committed} is exactly {place.offset} there",
        )
    reason = f"offset {place.committed} is {place.offset} there or later: not known exactly"
    return Verdict(
        check="translation",
        subject=subject,
        outcome=Outcome.NO_GO if planned else Outcome.CAUTION,
        reason=reason,
        cost=again,
    )


def _log_verdicts(subject: str, place: TargetOffset) -> Iterator[Verdict]:
    assert place.translated is not None  # noqa: S101 - the caller has looked
    wanted = place.translated.offset
    if wanted < place.start:
        yield Verdict(
            check="log",
            subject=subject,
            outcome=Outcome.NO_GO,
            reason=f"offset {wanted} is gone: the log begins at {place.start}",
            cost=f"up to {place.start - wanted} records are never read",
        )
    elif wanted > place.end:
        yield Verdict(
            check="log",
            subject=subject,
            outcome=Outcome.NO_GO,
            reason=f"offset {wanted} is not there: the log ends at {place.end}; "
            "was the topic made anew?",
            cost="records may be read again, or never",
        )
