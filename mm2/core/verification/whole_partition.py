"""Where the comparison of a partition begins and ends, and by which rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mm2.core.model import TopicName, TopicPartition
from mm2.core.verification.last_values import LastValueRules
from mm2.core.verification.ranges import ComparedRange, Draw, Translate, divided, sampled
from mm2.core.verification.stream_comparison import ComparisonRules

Part: TypeAlias = tuple[ComparedRange, LastValueRules | None]
"""Offsets, and rules if only the last records of keys are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBounds:
    """
    What both clusters say of a partition.

    Attributes:
        source: the first offset of its log, and the one behind the last.
        remote: the same of its copy.
        position: the source offset behind the last copy; None if there is no position.
        begins_late: whether the flow may have begun behind the first record.
        is_compacted: whether either log is.
    """

    source: tuple[int, int]
    remote: tuple[int, int]
    position: int | None
    begins_late: bool
    is_compacted: bool


def parts_of(
    bounds: PartitionBounds, translate: Translate, reverse: Translate, draw: Draw | None
) -> list[Part]:
    """
    The parts in which a partition is compared; some of it only if ``draw`` is given.

    Args:
        reverse: says the source offset that belongs exactly to a remote one.
    """
    whole = _whole(bounds, translate, reverse)
    if draw is not None:
        ranges = sampled(whole, translate, draw)
    elif bounds.is_compacted:
        ranges = [whole]
    else:
        ranges = divided(whole, translate)
    by_key = _last_value_rules(bounds, whole.rules) if bounds.is_compacted else None
    return [(each, by_key if each == whole else None) for each in ranges]


def without_source(
    topics: Mapping[TopicName, TopicName],
    sources: Iterable[TopicPartition],
    remotes: Iterable[TopicPartition],
) -> Iterator[tuple[TopicPartition, TopicPartition]]:
    """
    Remote partitions that the source's topic does not have, each behind what it would be there.

    Args:
        topics: of the source, with the names of their copies.
        sources: the source's partitions, asked for after the remote ones: a copy that is being
            mirrored is then in both.
    """
    counts = Counter(where.topic for where in sources)
    originals = {topics[topic]: topic for topic in counts}
    for remote in sorted(remotes):
        topic = originals.get(remote.topic)
        if topic is not None and remote.partition >= counts[topic]:
            yield TopicPartition(topic, remote.partition), remote


def all_added(remote: tuple[int, int]) -> ComparedRange:
    """Offsets of a remote partition that has no source: whatever is there is no copy."""
    return ComparedRange(source=(0, 0), remote=remote, rules=ComparisonRules())


def _last_value_rules(bounds: PartitionBounds, rules: ComparisonRules) -> LastValueRules:
    return LastValueRules(
        pending_from=bounds.position,
        open_source_start=rules.open_source_start,
        open_remote_start=rules.open_remote_start,
    )


def _whole(bounds: PartitionBounds, translate: Translate, reverse: Translate) -> ComparedRange:
    """All of a partition that both sides still have."""
    starts = _known_starts(bounds, translate, reverse)
    first, remote_first = starts or (bounds.source[0], bounds.remote[0])
    rules = ComparisonRules(
        open_source_start=not starts and (bounds.remote[0] > 0 or bounds.begins_late),
        open_remote_start=not starts and bounds.source[0] > 0,
        pending_from=bounds.position or 0,
        tolerates_compaction=bounds.is_compacted,
    )
    return ComparedRange(
        source=(min(first, bounds.source[1]), bounds.source[1]),
        remote=(min(remote_first, bounds.remote[1]), bounds.remote[1]),
        rules=rules,
    )


def _known_starts(
    bounds: PartitionBounds, translate: Translate, reverse: Translate
) -> tuple[int, int] | None:
    """The first offsets of both sides that belong together, if that is known exactly."""
    start, remote_start = bounds.source[0], bounds.remote[0]
    ahead = translate(start)
    if ahead is not None and ahead >= remote_start:
        return start, ahead if start > 0 else remote_start
    if ahead is None and not remote_start and not bounds.begins_late:
        return None  # What is missing before the first copy is lost.
    back = reverse(remote_start)
    return (back, remote_start) if back is not None and back >= start else None
