"""
What surrounds a move of consumer groups: heartbeats, what is copied, and what producers will need.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.core.failover.group_facts import TargetOffset
from mm2.core.failover.verdicts import Outcome, Verdict, some
from mm2.core.model import TopicPartition
from mm2.core.times import age_text

_EVERYBODY: Final = "User:*"


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


def stopped_verdict(flow: str, reason: str, *, is_needed: bool) -> Verdict:
    """
    Judges that operators have stopped the flow: nothing more is copied, however long one waits.

    Args:
        flow: its name.
        reason: theirs; may be empty.
        is_needed: whether something is still to be copied.
    """
    why = f"is stopped ({reason})" if reason else "is stopped"
    if not is_needed:
        return Verdict(check="flow", subject=flow, outcome=Outcome.CAUTION, reason=why)
    return Verdict(
        check="flow",
        subject=flow,
        outcome=Outcome.NO_GO,
        reason=f"{why}, and there is something left to copy: mm2 flows resume has it go on",
        cost="nothing more is copied",
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
        reason=f"up to {total} records are not copied: {some(map(str, sorted(behind)))}; "
        "have all producers stopped?",
        cost=f"up to {total} records are missing there until the flow goes on",
    )


def no_groups_verdict(flow: str, *, planned: bool) -> Verdict:
    """A move of all groups that finds none has not been made."""
    where = "no group has offsets of mirrored topics" if planned else "there are no checkpoints"
    return Verdict(
        check="groups",
        subject=flow,
        outcome=Outcome.NO_GO,
        reason=f"{where}, or none that may be seen or that the configuration asks for",
        cost=None,
    )


def origin_reachable_check(cluster: str, answer: str | None, *, given_up: bool) -> Verdict:
    """
    Judges an unplanned move by whether the origin is lost at all.

    Args:
        cluster: the origin.
        answer: what it does when it is asked; None if it does not answer.
        given_up: whether the user says that it is lost all the same.
    """
    if answer is None:
        return Verdict(
            check="origin", subject=cluster, outcome=Outcome.GO, reason="does not answer"
        )
    if given_up:
        return Verdict(
            check="origin",
            subject=cluster,
            outcome=Outcome.CAUTION,
            reason=f"{answer}, and is taken for lost",
            cost="what was committed after the last checkpoints is read again",
        )
    return Verdict(
        check="origin",
        subject=cluster,
        outcome=Outcome.NO_GO,
        reason=f"{answer}: a planned move (without --unplanned) reads nothing again; "
        "--lost takes the cluster for lost",
        cost=None,
    )


def last_contact_check(cluster: str, age_ms: int | None, *, most_ms: int) -> Verdict:
    """
    Says since when a lost cluster is silent.

    Args:
        cluster: the origin.
        age_ms: how long ago it was heard; None if nothing tells.
        most_ms: a cluster that was heard so short a time ago may live.
    """
    outcome, reason = Outcome.CAUTION, "nothing tells when it was last heard"
    if age_ms is not None:
        reason = f"was last heard {age_text(age_ms)} ago"
        outcome = Outcome.GO
        if age_ms <= most_ms:
            outcome, reason = Outcome.CAUTION, f"{reason}: is it lost, or only out of reach?"
    return Verdict(
        check="heard",
        subject=cluster,
        outcome=outcome,
        reason=reason,
        cost="if it lives, what is committed there from now on is read again",
    )


def checkpoint_verdict(group: str, places: Collection[TargetOffset]) -> Iterator[Verdict]:
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
            reason="nothing was behind when the cluster was last heard",
            cost="what was written after that is missing until the origin is back",
        )
    return Verdict(
        check="copied",
        subject=flow,
        outcome=Outcome.CAUTION,
        reason=f"{total} records were not copied when the cluster was last heard",
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
        yield f"no right to write: {some(sorted(missing))}"


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
