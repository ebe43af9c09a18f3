"""Whether each partition that a group reads has one owner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from mm2.core.model import TopicPartition


class Ownership(StrEnum):
    """How many members have a partition."""

    ONE = "one"
    NONE = "none"
    SEVERAL = "several"
    NO_PARTITION = "no such partition"
    """Members have it, and the cluster has not."""

    NO_MEMBER = "no member"
    """Who has it is no member of the group."""


@dataclass(frozen=True, slots=True)
class PartitionOwners:
    """A partition with the members that have it, in their order."""

    where: TopicPartition
    owners: tuple[str, ...]
    ownership: Ownership


def partition_owners(
    partitions: Collection[TopicPartition],
    assigned: Mapping[str, Iterable[TopicPartition]],
    members: Collection[str] | None = None,
) -> list[PartitionOwners]:
    """
    Who owns the partitions of a group's topics, in the order of partitions.

    Args:
        partitions: that the cluster has.
        assigned: partitions of each member.
        members: who they are, where others may have partitions.
    """
    owners: dict[TopicPartition, list[str]] = {each: [] for each in partitions}
    for member, owned in assigned.items():
        for where in owned:
            owners.setdefault(where, []).append(member)
    existing = frozenset(partitions)
    alive = frozenset(assigned if members is None else members)
    return [
        PartitionOwners(where, tuple(names), _ownership(names, alive, exists=where in existing))
        for where, names in sorted(owners.items())
    ]


def _ownership(owners: Collection[str], alive: Collection[str], *, exists: bool) -> Ownership:
    if not exists:
        return Ownership.NO_PARTITION
    if not owners:
        return Ownership.NONE
    if not all(each in alive for each in owners):
        return Ownership.NO_MEMBER
    return Ownership.ONE if len(owners) == 1 else Ownership.SEVERAL
