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


@dataclass(frozen=True, slots=True)
class PartitionOwners:
    """A partition with the members that have it, in their order."""

    where: TopicPartition
    owners: tuple[str, ...]
    ownership: Ownership


def partition_owners(
    partitions: Collection[TopicPartition], assigned: Mapping[str, Iterable[TopicPartition]]
) -> list[PartitionOwners]:
    """
    Who owns the partitions of a group's topics, in the order of partitions.

    Args:
        partitions: that the cluster has.
        assigned: partitions of each member.
    """
    owners: dict[TopicPartition, list[str]] = {each: [] for each in partitions}
    for member, owned in assigned.items():
        for where in owned:
            owners.setdefault(where, []).append(member)
    existing = frozenset(partitions)
    return [
        PartitionOwners(where, tuple(names), _ownership(len(names), exists=where in existing))
        for where, names in sorted(owners.items())
    ]


def _ownership(owners: int, *, exists: bool) -> Ownership:
    if not exists:
        return Ownership.NO_PARTITION
    if owners == 0:
        return Ownership.NONE
    return Ownership.ONE if owners == 1 else Ownership.SEVERAL
