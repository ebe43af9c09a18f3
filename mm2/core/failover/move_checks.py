"""Checks of what surrounds a move of groups: the flow, the origin, the copy, and producers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.core.checks import Check, first_few
from mm2.core.failover.moving_group import MovingGroup
from mm2.core.model import TopicPartition
from mm2.core.times import age_text

_EVERYBODY: Final = "User:*"


def heartbeat_check(flow: str, age_ms: int | None, *, most_ms: int, is_needed: bool) -> Check:
    """
    Checks the age of the flow's last heartbeat, which is None if there is none.

    ``is_needed``: whether something is still to be copied.
    """
    sentence = "there are none" if age_ms is None else f"the last one is {age_text(age_ms)} old"
    if age_ms is not None and age_ms <= most_ms:
        return Check.go("heartbeats", flow, sentence)
    if not is_needed:
        return Check.caution("heartbeats", flow, sentence)
    sentence = f"{sentence}, and there is something left to copy"
    return Check.caution("heartbeats", flow, sentence, remedy="does the flow run?")


def stopped_check(flow: str, reason: str, *, is_needed: bool) -> Check:
    """
    Checks a flow that operators have stopped: nothing more is copied, however long one waits.

    ``reason`` is theirs and may be empty; ``is_needed`` as for ``heartbeat_check``.
    """
    sentence = f"is stopped ({reason})" if reason else "is stopped"
    if not is_needed:
        return Check.caution("flow", flow, sentence)
    return Check.no_go(
        "flow",
        flow,
        f"{sentence}, and there is something left to copy",
        remedy="mm2 flows resume has it go on",
        cost="nothing more is copied",
    )


def drain_check(flow: str, lag: Mapping[TopicPartition, int]) -> Check:
    """Checks whether everything is copied; ``lag`` counts offsets that are not."""
    behind = {where: count for where, count in lag.items() if count > 0}
    if not behind:
        return Check.go("drained", flow, "everything is copied")
    total = sum(behind.values())
    return Check.no_go(
        "drained",
        flow,
        f"up to {total} records are not copied: {first_few(map(str, sorted(behind)))}; "
        "have all producers stopped?",
        cost=f"up to {total} records are missing there until the flow goes on",
    )


def no_groups_check(flow: str, *, planned: bool) -> Check:
    """A move of all groups that finds none has not been made."""
    found = "no group has offsets of mirrored topics" if planned else "there are no checkpoints"
    sentence = f"{found}, or none that may be seen or that the configuration asks for"
    return Check.no_go("groups", flow, sentence)


def origin_reachable_check(cluster: str, answer: str | None, *, assume_lost: bool) -> Check:
    """
    Checks, for an unplanned move, whether the origin is lost at all.

    ``answer`` is what it does when it is asked, None if it does not answer.
    """
    if answer is None:
        return Check.go("origin", cluster, "does not answer")
    if assume_lost:
        cost = "what was committed after the last checkpoints is read again"
        return Check.caution("origin", cluster, f"{answer}, and is taken for lost", cost=cost)
    remedy = (
        "a planned move (without --unplanned) reads nothing again; --lost takes the cluster for "
        "lost"
    )
    return Check.no_go("origin", cluster, answer, remedy=remedy)


def last_contact_check(cluster: str, age_ms: int | None, *, most_ms: int) -> Check:
    """
    Shows how long ago something came from a lost cluster; None if that is not known.

    One of which something came at most ``most_ms`` ago may live.
    """
    cost = "if it lives, what is committed there from now on is read again"
    if age_ms is None:
        return Check.caution("last-contact", cluster, "the last contact is not known", cost=cost)
    sentence = f"the last contact was {age_text(age_ms)} ago"
    if age_ms > most_ms:
        return Check.go("last-contact", cluster, sentence)
    remedy = "is it lost, or only out of reach?"
    return Check.caution("last-contact", cluster, sentence, remedy=remedy, cost=cost)


def checkpoint_checks(group: MovingGroup) -> Iterator[Check]:
    """Shows what it costs to go on at checkpoints; nothing if there are none."""
    ages = [each.checkpoint_age_ms for each in group.partitions]
    known = [age_ms for age_ms in ages if age_ms is not None]
    if known:
        sentence = f"the last ones are {age_text(min(known))} to {age_text(max(known))} old"
        cost = "what the group committed after that is read again"
        yield Check.caution("checkpoint", group.group, sentence, cost=cost)


def lost_records_check(flow: str, lag: Mapping[TopicPartition, int] | None) -> Check:
    """
    Shows what the destination does not have of a lost origin.

    ``lag`` is the last known number of records that were not copied, None if nothing is known.
    """
    if lag is None:
        sentence = "how far the copy was behind is not known"
        cost = "records that were not copied are missing until the origin is back"
    elif total := sum(lag.values()):
        sentence = f"{total} records were not copied at the last contact"
        cost = "they, and what was written after that, are missing until the origin is back"
    else:
        sentence = "nothing was behind at the last contact"
        cost = "what was written after that is missing until the origin is back"
    return Check.caution("copied", flow, sentence, cost=cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerFacts:
    """
    What producers of one topic find on the destination.

    Attributes:
        there: how many it has on the destination; None if it is not there.
        writers: who may write to it on the origin; None if there are no such rules.
        writers_there: the same on the destination.
    """

    topic: str
    partitions: int
    there: int | None
    writers: frozenset[str] | None = None
    writers_there: frozenset[str] | None = None


def producer_checks(facts: Iterable[ProducerFacts]) -> Iterator[Check]:
    """Shows what producers will miss; consumers move all the same."""
    for each in facts:
        if problems := [*_topic_problems(each), *_right_problems(each)]:
            cost = "producers that move cannot go on as before"
            yield Check.caution("producers", each.topic, "; ".join(problems), cost=cost)


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
        yield f"no right to write: {first_few(sorted(missing))}"


def quota_checks(
    here: Mapping[str, Mapping[str, float]], there: Mapping[str, Mapping[str, float]]
) -> Iterator[Check]:
    """Shows which quotas of the origin's clients are missing or different on the destination."""
    for client, limits in sorted(here.items()):
        found = there.get(client, {})
        different = [
            f"{name} {limit:g} is {found[name]:g} there" if name in found else f"{name} {limit:g}"
            for name, limit in sorted(limits.items())
            if found.get(name) != limit
        ]
        if different:
            sentence = f"other quotas there; missing or different: {', '.join(different)}"
            cost = "the client is limited otherwise"
            yield Check.caution("quotas", client, sentence, cost=cost)
