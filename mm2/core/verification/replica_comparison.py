"""What replicas of a partition have that they should not, or lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class ReplicaFault(StrEnum):
    """How a replica differs from the leader's."""

    MISSING = "missing"
    """The leader has it, the replica has not."""
    ADDED = "added"
    """The replica has it, the leader has not."""
    ALTERED = "altered"
    CORRUPT = "corrupt"
    """The checksum is wrong; found in the leader's log, too."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """
    A batch of a replica's log; where replicas are compacted, a record.

    Attributes:
        first: offset of its first record.
        last: offset of its last record.
        digest: of all that replicas must have in common.
        is_valid: whether its checksum is right.
    """

    first: int
    last: int
    digest: int
    is_valid: bool = True


@dataclass(frozen=True, slots=True, order=True)
class ReplicaDifference:
    """A difference, with the first and the last offset of what differs."""

    first: int
    last: int
    fault: ReplicaFault


def corrupt_entries(entries: Sequence[LogEntry], begin: int, end: int) -> list[ReplicaDifference]:
    """Those between two offsets whose checksum is wrong."""
    return [
        ReplicaDifference(each.first, each.last, ReplicaFault.CORRUPT)
        for each in entries
        if not each.is_valid and _is_between(each, begin, end)
    ]


def replica_differences(
    leader: Sequence[LogEntry],
    replica: Sequence[LogEntry],
    begin: int,
    end: int,
    *,
    is_compacted: bool,
) -> list[ReplicaDifference]:
    """
    What differs between the leader's log and a replica's, in the order of offsets.

    Args:
        leader: entries of the leader's log.
        replica: entries of the replica's log.
        begin: entries that end before it are not compared.
        end: entries that end there or behind it are not compared.
        is_compacted: each replica is compacted by itself, so that either may lack records.
    """
    here = {each.first: each for each in leader if _is_between(each, begin, end)}
    there = {each.first: each for each in replica if _is_between(each, begin, end)}
    found = corrupt_entries(replica, begin, end)
    corrupt = {each.first for each in found}
    found += [
        ReplicaDifference(first, each.last, ReplicaFault.ALTERED)
        for first, each in there.items()
        if first in here and first not in corrupt and here[first].is_valid
        if (here[first].last, here[first].digest) != (each.last, each.digest)
    ]
    if not is_compacted:
        found += _only_in(here, there, ReplicaFault.MISSING)
        found += _only_in(there, here, ReplicaFault.ADDED)
    return sorted(found)


def _is_between(entry: LogEntry, begin: int, end: int) -> bool:
    """Whether it ends there; of one that is corrupt, the last offset may be anything."""
    return begin <= entry.last < end or (not entry.is_valid and begin <= entry.first < end)


def _only_in(
    these: dict[int, LogEntry], those: dict[int, LogEntry], fault: ReplicaFault
) -> list[ReplicaDifference]:
    return [
        ReplicaDifference(first, each.last, fault)
        for first, each in these.items()
        if first not in those
    ]
