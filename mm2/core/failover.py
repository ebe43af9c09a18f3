"""
Whether a consumer group may move to another cluster, and what that costs: facts in, verdicts out.

A group moves from the cluster where it has committed, its origin, to the one where it is to go on,
its destination. A planned move finds every offset exactly or is refused. An unplanned one, after
the origin is lost, takes the last checkpoints and says what is read again. No move loses or repeats
records unless it is forced, and what forcing costs is part of the verdict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mm2.core.checkpoint import CommittedOffset
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.times import age_text
from mm2.core.translation import Translated


class Outcome(StrEnum):
    """What a check comes to; only the last one stops a move."""

    GO = "go"
    CAUTION = "caution"
    NO_GO = "no-go"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What one check found.

    Attributes:
        check: its name.
        subject: what was looked at: a group, a partition, a topic, a flow.
        outcome: whether to go.
        reason: why, in a sentence.
        cost: of a move that goes on all the same; None for a no-go that cannot be forced.
    """

    check: str
    subject: str
    outcome: Outcome
    reason: str
    cost: str | None = ""

    def stops(self, *, forced: bool) -> bool:
        """Whether this verdict forbids the move."""
        return self.outcome is Outcome.NO_GO and not (forced and self.cost is not None)


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
    """

    group: str
    origin_state: str | None
    destination_state: str | None
    places: tuple[Place, ...]
    left_behind: tuple[TopicPartition, ...] = ()


IDLE_STATES: Final = frozenset({"EMPTY", "DEAD"})
"""States of groups without members."""

_EVERYBODY: Final = "User:*"
_NAMED: Final = 5
"""A sentence names so many topics or partitions."""


def group_verdicts(facts: GroupFacts, *, planned: bool) -> Iterator[Verdict]:
    """
    Judges one group: its state on both sides, and each of its partitions.

    Args:
        facts: what is known of it.
        planned: whether the origin answers, so that nothing but exact offsets will do.
    """
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
            reason=f"also reads what is not mirrored: {_some(map(str, facts.left_behind))}",
        )
    for place in facts.places:
        yield from _place_verdicts(facts.group, place, planned=planned)


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
    if place.committed < 0:
        reason = "there is no checkpoint: the group begins at the start of the log"
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


def heartbeat_verdict(flow: str, age_ms: int | None, *, most_ms: int, is_needed: bool) -> Verdict:
    """
    Judges whether somebody runs the flow.

    Args:
        flow: its name.
        age_ms: age of its last heartbeat; None if there is none.
        most_ms: how old it may be.
        is_needed: whether something is still to be copied.
    """
    if age_ms is not None and age_ms <= most_ms:
        return Verdict(
            check="heartbeats",
            subject=flow,
            outcome=Outcome.GO,
            reason=f"the last one is {age_text(age_ms)} old",
        )
    found = "there are none" if age_ms is None else f"the last one is {age_text(age_ms)} old"
    if not is_needed:
        return Verdict(check="heartbeats", subject=flow, outcome=Outcome.CAUTION, reason=found)
    return Verdict(
        check="heartbeats",
        subject=flow,
        outcome=Outcome.CAUTION,
        reason=f"{found}, and there is something left to copy: does the flow run?",
    )


def drain_verdict(flow: str, lag: Mapping[TopicPartition, int]) -> Verdict:
    """
    Judges whether everything is copied.

    Args:
        flow: its name.
        lag: offsets of each source partition that are not copied.
    """
    behind = {where: count for where, count in lag.items() if count > 0}
    if not behind:
        return Verdict(
            check="drained", subject=flow, outcome=Outcome.GO, reason="everything is copied"
        )
    total = sum(behind.values())
    return Verdict(
        check="drained",
        subject=flow,
        outcome=Outcome.NO_GO,
        reason=f"up to {total} records are not copied: {_some(map(str, sorted(behind)))}; "
        "have all producers stopped?",
        cost=f"up to {total} records are missing there until the flow goes on",
    )


def reachable_origin_verdict(cluster: str, *, answers: bool) -> Verdict:
    """Judges an unplanned move by whether the origin is lost at all."""
    if not answers:
        return Verdict(
            check="origin", subject=cluster, outcome=Outcome.GO, reason="does not answer"
        )
    return Verdict(
        check="origin",
        subject=cluster,
        outcome=Outcome.NO_GO,
        reason="answers: a planned move (without --unplanned) reads nothing again",
        cost="what was committed after the last checkpoints is read again",
    )


def checkpoint_verdict(group: str, places: Collection[Place]) -> Iterator[Verdict]:
    """Says what it costs to go on at checkpoints; none if there are none."""
    ages = [place.age_ms for place in places if place.age_ms is not None]
    if ages:
        yield Verdict(
            check="checkpoint",
            subject=group,
            outcome=Outcome.CAUTION,
            reason=f"the last ones are {age_text(min(ages))} to {age_text(max(ages))} old",
            cost="what the group committed after that is read again",
        )


def lost_verdict(flow: str, lag: Mapping[TopicPartition, int] | None) -> Verdict:
    """
    Says what the destination does not have of a lost origin.

    Args:
        flow: its name.
        lag: last known number of records of each partition that were not copied; None if nothing
            is known.
    """
    if lag is None:
        return Verdict(
            check="copied",
            subject=flow,
            outcome=Outcome.CAUTION,
            reason="how far the copy was behind is not known",
            cost="records that were not copied are missing until the origin is back",
        )
    total = sum(lag.values())
    if not total:
        return Verdict(
            check="copied",
            subject=flow,
            outcome=Outcome.CAUTION,
            reason="nothing was behind when the flow last reported",
            cost="what was written after that is missing until the origin is back",
        )
    return Verdict(
        check="copied",
        subject=flow,
        outcome=Outcome.CAUTION,
        reason=f"{total} records were not copied when the flow last reported",
        cost="they, and what was written after that, are missing until the origin is back",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerFacts:
    """
    What producers of one topic find on the other side.

    Attributes:
        topic: that they write to.
        partitions: how many it has where they are now.
        there: how many it has where they go; None if it is not there.
        writers: who may write to it where they are now; None if there are no such rules.
        writers_there: the same where they go; None if nobody needs leave there.
    """

    topic: str
    partitions: int
    there: int | None
    writers: frozenset[str] | None = None
    writers_there: frozenset[str] | None = None


def producer_verdicts(facts: Iterable[ProducerFacts]) -> Iterator[Verdict]:
    """Says what producers will miss; consumers move all the same."""
    for each in facts:
        problems = [*_topic_problems(each), *_right_problems(each)]
        if problems:
            yield Verdict(
                check="producers",
                subject=each.topic,
                outcome=Outcome.CAUTION,
                reason="; ".join(problems),
                cost="producers that move cannot go on as before",
            )


def _topic_problems(facts: ProducerFacts) -> Iterator[str]:
    if facts.there is None:
        yield f"the topic is not there ({facts.partitions} partitions)"
    elif facts.there < facts.partitions:
        yield f"the topic has only {facts.there} of {facts.partitions} partitions"


def _right_problems(facts: ProducerFacts) -> Iterator[str]:
    there = facts.writers_there
    if not facts.writers or there is None or _EVERYBODY in there:
        return
    if missing := facts.writers - there:
        yield f"no right to write: {_some(sorted(missing))}"


def quota_verdicts(
    here: Mapping[str, Mapping[str, float]], there: Mapping[str, Mapping[str, float]]
) -> Iterator[Verdict]:
    """
    Says which client quotas are missing or different on the destination.

    Args:
        here: limits by the client that they are for, on the origin.
        there: the same on the destination.
    """
    for client, limits in sorted(here.items()):
        found = there.get(client, {})
        different = [
            f"{name} {limit:g} is {found[name]:g} there" if name in found else f"{name} {limit:g}"
            for name, limit in sorted(limits.items())
            if found.get(name) != limit
        ]
        if different:
            yield Verdict(
                check="quotas",
                subject=client,
                outcome=Outcome.CAUTION,
                reason=f"other quotas there; missing or different: {', '.join(different)}",
                cost="the client is limited otherwise",
            )


def is_go(verdicts: Iterable[Verdict], *, forced: bool = False, strict: bool = False) -> bool:
    """
    Whether the move may be made.

    Args:
        verdicts: of all checks.
        forced: whether costs are accepted.
        strict: whether cautions count as a no.
    """
    return not any(
        each.stops(forced=forced) or (strict and each.outcome is Outcome.CAUTION)
        for each in verdicts
    )


def offsets_to_write(facts: GroupFacts) -> dict[TopicPartition, CommittedOffset]:
    """What the group is to have on the destination."""
    return {
        place.destination: CommittedOffset(place.offset, place.metadata) for place in facts.places
    }


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    rest = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
