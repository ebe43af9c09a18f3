"""Whether consumer groups could go on reading on the target, from where they stand now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from mm2.core.checks import Verdict
from mm2.core.failover.group_partition import Accuracy, GroupPartition
from mm2.core.failover.moving_group import IDLE_STATES
from mm2.core.model import GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReadiness:
    """
    A group in one row.

    Attributes:
        verdict: of a move without the source, as far as its offsets tell: ``mm2 failover`` also
            looks at logs, and at which side committed last. A planned move waits for copies, and
            refuses what is not exact.
        reason: why, in a sentence.
        partitions: of the source that it has offsets of.
        lag: records that it has not read; None if not known of all partitions.
        mirror_lag: records of these partitions that the target has not; None if not known.
        checkpoint_age_ms: of the oldest of its last checkpoints; None if it has none.
    """

    group: GroupId
    verdict: Verdict
    reason: str
    partitions: int
    lag: int | None
    mirror_lag: int | None
    checkpoint_age_ms: int | None


def group_readiness(positions: Iterable[GroupPartition]) -> list[GroupReadiness]:
    """Judges groups whose positions come sorted by group; those first that are not ready."""
    groups = groupby(positions, key=lambda each: each.group or GroupId(""))
    found = [_readiness(group, list(places)) for group, places in groups]
    order = (Verdict.NO_GO, Verdict.CAUTION, Verdict.GO)
    return sorted(found, key=lambda each: (order.index(each.verdict), each.group))


def _readiness(group: GroupId, places: Sequence[GroupPartition]) -> GroupReadiness:
    verdict, reason = _verdict(places)
    ages = [each.checkpoint_age_ms for each in places if each.checkpoint_age_ms is not None]
    return GroupReadiness(
        group=group,
        verdict=verdict,
        reason=reason,
        partitions=len(places),
        lag=_sum(each.lag for each in places),
        mirror_lag=_sum(each.mirror_lag for each in places),
        checkpoint_age_ms=max(ages, default=None),
    )


def _verdict(places: Sequence[GroupPartition]) -> tuple[Verdict, str]:
    state = places[0].target_state
    if state is not None and state not in IDLE_STATES:
        return Verdict.NO_GO, f"is {state} on the target: its members read there already"
    if missing := [each for each in places if not each.is_known]:
        return Verdict.NO_GO, f"offsets of {_some(len(missing))} cannot be translated"
    if caution := _caution(places):
        return Verdict.CAUTION, caution
    return Verdict.GO, "goes on at its first unread record"


def _caution(places: Sequence[GroupPartition]) -> str | None:
    if guessed := [each for each in places if each.accuracy is Accuracy.APPROXIMATE]:
        return f"reads records of {_some(len(guessed))} again; a planned move is refused"
    if ahead := [each for each in places if _is_further_there(each)]:
        return f"has read further on the target in {_some(len(ahead))}"
    behind = _sum(each.mirror_lag for each in places)
    if behind is None:
        return "how far the copies are is not known"
    return "the last records are not copied yet" if behind else None


def _is_further_there(place: GroupPartition) -> bool:
    there, translated = place.target_offset, place.translated_offset
    return there is not None and translated is not None and there > translated


def _some(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(each or 0 for each in known)
