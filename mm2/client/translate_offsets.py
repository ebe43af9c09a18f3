"""Translates single offsets, and those of groups, in both directions."""

from __future__ import annotations

from collections.abc import Callable

from mm2.client.group_status import GroupStatus
from mm2.core.failover.group_partition import GroupPartition
from mm2.core.model import GroupId, TopicPartition
from mm2.core.translation.offset_translation import OffsetTranslation
from mm2.errors import Unavailable


async def translate_offset(
    status: GroupStatus, partition: TopicPartition, offset: int, *, reverse: bool
) -> GroupPartition:
    """
    Translates one offset, from the source to the target or with ``reverse`` the other way.

    Raises:
        Unavailable: the source does not answer, and what is needed is there.
        ClusterError: a cluster does not answer any more, or refuses.
    """
    translation = await _translation(status)
    if reverse:
        return _reversed(status, translation, partition, offset)
    destination = status.downstream(partition)
    return GroupPartition(
        origin=partition,
        destination=destination,
        committed=offset,
        translated=translation.explain(partition, offset) if destination else None,
        exact_since=translation.exact_since(partition),
    )


async def translate_groups(
    status: GroupStatus, is_meant: Callable[[GroupId], bool], *, reverse: bool
) -> list[GroupPartition]:
    """
    Translates what groups have committed on the source, or with ``reverse`` on the target.

    Without the source, the last checkpoints have what groups had committed there.

    Raises:
        Unavailable: the source does not answer, and what is needed is there.
        ClusterError: a cluster does not answer any more, or refuses.
    """
    if not reverse:
        return await status.partitions(is_meant)
    translation = await _translation(status)
    committed = await status.committed(is_meant, on_source=False)
    return [
        _reversed(status, translation, where, each.offset, group)
        for group, offsets in sorted(committed.items())
        for where, each in sorted(offsets.items())
        if status.is_copy(where)
    ]


def _reversed(
    status: GroupStatus,
    translation: OffsetTranslation,
    copy: TopicPartition,
    offset: int,
    group: GroupId | None = None,
) -> GroupPartition:
    original = status.upstream(copy) if status.is_copy(copy) else None
    return GroupPartition(
        group=group,
        origin=copy,
        destination=original,
        committed=offset,
        translated=None if original is None else translation.reverse(original, offset),
        exact_since=None if original is None else translation.exact_since(original),
    )


async def _translation(status: GroupStatus) -> OffsetTranslation:
    found = await status.translation()
    if found is None:
        source = status.flow.source
        raise Unavailable(source, "it does not answer, and has the flow's offset syncs")
    return found
