"""
Whether a consumer group may move to another cluster, and what that costs: facts in, verdicts out.

A group moves from the cluster where it has committed, its origin, to the one where it is to go on,
its destination. A planned move finds every offset exactly or is refused. An unplanned one, after
the origin is lost, takes the last checkpoints and says what is read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mm2.core.checkpoint import CommittedOffset
from mm2.core.model import NO_OFFSET, TopicName, TopicPartition
from mm2.core.translation import Translated
from mm2.core.verdicts import Outcome, Verdict, some


class WithoutCheckpoint(StrEnum):
    """
    Where a group goes on that has committed nothing, as far as is known, when its origin is lost.

    Other partitions of a topic that it has read are taken for ones that it would have read: there
    it begins at the start if nothing else is said. Whether it reads other topics nobody knows.
    """

    LEAVE = "leave"
    """Other topics are left to the consumers' ``auto.offset.reset``."""

    EARLIEST = "earliest"
    """At the start of each copy, of all topics."""

    LATEST = "latest"
    """At the end of each copy, of all topics."""

    REFUSE = "refuse"
    """It does not move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """
    Where a group stands in one partition, and where it is to go on.

    Attributes:
        origin: the partition that it has read; None if only the destination's name is known.
        destination: the same records on the destination.
        committed: next offset to read on the origin; negative if only that of other partitions
            is known.
        translated: that offset on the destination; None if it is not known.
        to_copy: offsets before ``committed`` that the destination does not have yet.
        current: what the group has committed on the destination; None for nothing.
        start: first offset of the destination's log.
        end: the offset after its last.
        metadata: what the group has committed beside its offset.
        age_ms: age of the checkpoint that all this comes from; None if it comes from the origin.
        is_there: whether the destination has this partition at all.
        never_goes_back: whether the group stays where it is there if that is further on.
    """

    origin: TopicPartition | None
    destination: TopicPartition
    committed: int
    translated: Translated | None
    to_copy: int = 0
    current: int | None = None
    start: int
    end: int
    metadata: str = ""
    age_ms: int | None = None
    is_there: bool = True
    never_goes_back: bool = False

    @property
    def stays(self) -> bool:
        """Whether nothing is written, because the group has read further there already."""
        return self.never_goes_back and self.current is not None and self.current > self._found

    @property
    def is_guessed(self) -> bool:
        """Whether the group has committed nothing that is known, and somebody else decides."""
        return self.origin is None and self.committed < 0

    @property
    def is_known(self) -> bool:
        """Whether there is an offset to go on at, be it exact or not."""
        return self.translated is not None and self.translated.offset > NO_OFFSET

    @property
    def is_exact(self) -> bool:
        """Whether the record there is the first unread one."""
        return self.translated is not None and self.is_known and self.translated.exact

    @property
    def offset(self) -> int:
        """Where the group is to go on; never after its first unread record that is there."""
        return self.current if self.current is not None and self.stays else self._found

    @property
    def _found(self) -> int:
        if self.translated is None or not self.is_known:
            return self.start
        return min(max(self.translated.offset, self.start), self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """
    All about one group that moves.

    Attributes:
        group: its id.
        origin_state: Kafka's name of its state where it comes from; None if it is not known.
        destination_state: the same where it goes; None if the group is not there.
        places: where it stands.
        left_behind: its partitions that have no counterpart on the destination.
        is_of_other_type: whether it is a share or streams group on either side.
        unplaced: copies that it may read, of which it has no checkpoint.
        without: what becomes of a group without checkpoints.
    """

    group: str
    origin_state: str | None
    destination_state: str | None
    places: tuple[Place, ...]
    left_behind: tuple[TopicPartition, ...] = ()
    is_of_other_type: bool = False
    unplaced: tuple[TopicName, ...] = ()
    without: WithoutCheckpoint = WithoutCheckpoint.LEAVE


IDLE_STATES: Final = frozenset({"EMPTY", "DEAD"})
"""States of groups without members."""


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


def _guess(facts: GroupFacts, place: Place) -> Verdict:
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


def _place_verdicts(group: str, place: Place, *, planned: bool) -> Iterator[Verdict]:
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
        yield Verdict(
            check="progress",
            subject=subject,
            outcome=Outcome.CAUTION,
            reason=f"the group is further there, at {place.current}, and stays there",
        )
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
        yield Verdict(
            check="progress",
            subject=subject,
            outcome=Outcome.NO_GO,
            reason=f"the group is further there, at {place.current}, than {place.offset}",
            cost=f"up to {place.current - place.offset} records are read again",
        )


def _translation(subject: str, place: Place, *, planned: bool) -> Verdict:
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


def _log_verdicts(subject: str, place: Place) -> Iterator[Verdict]:
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


def offsets_to_write(facts: GroupFacts) -> dict[TopicPartition, CommittedOffset]:
    """What the group is to have on the destination; not where it stays as it is."""
    return {
        place.destination: CommittedOffset(place.offset, place.metadata)
        for place in facts.places
        if not place.stays
    }
