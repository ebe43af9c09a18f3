"""Translates single offsets, and those of groups, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mm2.client.group_status import GroupStatus
from mm2.core.failover.group_lag import UNKNOWN, accuracy_of
from mm2.core.model import GroupId, TopicPartition
from mm2.core.translation.offset_translation import OffsetTranslation
from mm2.errors import Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedOffset:
    """
    An offset on one cluster and what it is on the other.

    Attributes:
        group: whose offset it is, if it is a group's.
        here: the partition that it is of.
        offset: of the record to read next.
        there: the same partition on the other cluster; None: the flow does not follow it.
        translated: where to go on reading there; None if that cannot be said.
        accuracy: how good that is, see ``GroupPosition``.
        exact_since: source offset from which on translations are exact; None: nowhere.
    """

    group: GroupId | None = None
    here: TopicPartition
    offset: int
    there: TopicPartition | None
    translated: int | None
    accuracy: str
    exact_since: int | None


async def translate_offset(
    survey: GroupStatus, partition: TopicPartition, offset: int, *, reverse: bool
) -> TranslatedOffset:
    """
    Translates one offset, from the source to the target or the other way.

    Raises:
        Unavailable: the source does not answer, and what is needed is there.
        ClusterError: a cluster does not answer any more, or refuses.
    """
    translation = await _translation(survey)
    if reverse:
        return _reversed(survey, translation, partition, offset)
    there = survey.downstream(partition)
    answer = translation.explain(partition, offset) if there else None
    translated, accuracy = accuracy_of(answer)
    return TranslatedOffset(
        here=partition,
        offset=offset,
        there=there,
        translated=translated,
        accuracy=accuracy,
        exact_since=translation.exact_since(partition),
    )


async def translate_groups(
    survey: GroupStatus, wanted: Callable[[GroupId], bool], *, reverse: bool
) -> list[TranslatedOffset]:
    """
    Translates what groups have committed on the source, or with ``reverse`` on the target.

    Without the source, the last checkpoints say what groups had committed there.

    Raises:
        Unavailable: the source does not answer, and what is needed is there.
        ClusterError: a cluster does not answer any more, or refuses.
    """
    if reverse:
        return await _reversed_groups(survey, wanted)
    return [
        TranslatedOffset(
            group=each.group,
            here=each.partition,
            offset=each.committed,
            there=each.remote,
            translated=each.translated,
            accuracy=each.accuracy,
            exact_since=each.exact_since,
        )
        for each in await survey.standings(wanted)
    ]


async def _reversed_groups(
    survey: GroupStatus, wanted: Callable[[GroupId], bool]
) -> list[TranslatedOffset]:
    translation = await _translation(survey)
    committed = await survey.committed(wanted, on_source=False)
    return [
        _reversed(survey, translation, where, each.offset, group)
        for group, offsets in sorted(committed.items())
        for where, each in sorted(offsets.items())
        if survey.is_copy(where)
    ]


def _reversed(
    survey: GroupStatus,
    translation: OffsetTranslation,
    partition: TopicPartition,
    offset: int,
    group: GroupId | None = None,
) -> TranslatedOffset:
    there = survey.upstream(partition) if survey.is_copy(partition) else None
    translated, accuracy = (
        (None, UNKNOWN) if there is None else accuracy_of(translation.reverse(there, offset))
    )
    return TranslatedOffset(
        group=group,
        here=partition,
        offset=offset,
        there=there,
        translated=translated,
        accuracy=accuracy,
        exact_since=None if there is None else translation.exact_since(there),
    )


async def _translation(survey: GroupStatus) -> OffsetTranslation:
    found = await survey.translation()
    if found is None:
        source = survey.flow.source
        raise Unavailable(source, "it does not answer, and has the flow's offset syncs")
    return found
