"""Emits checkpoints: groups' offsets on the source as those of the target (behaviours 9.2, 9.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from flows.checkpoint.checkpoint_store import CheckpointStore
from flows.checkpoint.followed_groups import FollowedGroups
from mm2.clock import now_ms
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, TopicPartition
from mm2.core.translation.checkpoint_rules import (
    CommittedOffset,
    Renaming,
    Translator,
    checkpoints_for_group,
    is_more_recent,
    noted,
    offset_of,
)
from mm2.core.translation.group_sync_rules import TargetCommit, inverted, new_target_commit
from mm2.core.translation.returned_groups import ReturningGroups
from mm2.errors import ClusterError
from mm2.kafka.chunks import chunks
from mm2.kafka.groups.protocols import Offsets

log = structlog.get_logger()

_GROUPS_AT_ONCE: Final = 500
"""Groups whose offsets are in memory at the same time."""


UntilCaughtUp = Callable[[], Awaitable[bool]]
_Listed = Mapping[str, Mapping[TopicPartition, CommittedOffset] | ClusterError]


class CheckpointWriter(Protocol):
    """What writes the checkpoints that are due."""

    async def write(self) -> int:
        """Writes all that is due, and returns how many records that were."""


class CheckpointSelector:
    """
    Chooses what is to be emitted.

    Args:
        renaming: decides which partitions count, and names them downstream.
        returning: recognises offsets that mm2 itself set; None if no groups are led back.
    """

    def __init__(
        self,
        renaming: Renaming,
        translator: Translator,
        store: CheckpointStore,
        returning: ReturningGroups | None = None,
    ) -> None:
        self._renaming = renaming
        self._translator = translator
        self._store = store
        self._returning = returning
        self._no_news: dict[tuple[GroupId, TopicPartition], int] = {}

    def found(
        self, group: GroupId, committed: Mapping[TopicPartition, CommittedOffset]
    ) -> list[Found]:
        """What a group has committed since its last checkpoints; confirms the others."""
        last = self._store.of_group(group)

        def last_of(where: TopicPartition) -> Checkpoint | None:
            downstream = self._renaming.of(where)
            return None if downstream is None else last.get(downstream)

        if self._returning is not None:
            committed = self._returning.own_commits(group, committed, last_of)
        self._confirm(committed, last_of)
        checkpoints = checkpoints_for_group(
            group, committed, renaming=self._renaming, translator=self._translator, last=last
        )
        news = [each for each in checkpoints if self._may_be_news(each, last.get(each.partition))]
        upstream = {self._renaming.of(where): where for where in committed} if news else {}
        return [
            Found(each, last.get(each.partition), self._opposite(group, upstream[each.partition]))
            for each in news
        ]

    def _may_be_news(self, checkpoint: Checkpoint, last: Checkpoint | None) -> bool:
        looked_at = self._no_news.get((checkpoint.group, checkpoint.partition))
        return looked_at != checkpoint.upstream_offset or is_more_recent(checkpoint, last)

    def take(
        self,
        found: Found,
        there: Mapping[TopicPartition, CommittedOffset] | None,
        now_ms: int,
    ) -> bool:
        """
        Puts a commit into the store if it is news, and returns whether it is.

        ``there`` is what the group has committed on the target since; None if it is not known.
        """
        new, where = found.checkpoint, found.checkpoint.partition
        if self._store.of_group(new.group).get(where) is not found.last:
            return False  # Its topic was re-created meanwhile: the next round uses the new one.
        target_commit = None if there is None else found.target_commit(offset_of(there.get(where)))
        checkpoint = noted(new, found.last, target_commit)
        if checkpoint is None:
            self._no_news[new.group, where] = new.upstream_offset
            return False
        self._no_news.pop((new.group, where), None)
        self._store.add(checkpoint, now_ms)
        return True

    def _confirm(
        self,
        committed: Mapping[TopicPartition, CommittedOffset],
        last_of: Callable[[TopicPartition], Checkpoint | None],
    ) -> None:
        """The source has not committed since the target was last read."""
        for where, commit in committed.items():
            last = last_of(where)
            if last is not None and commit.offset == last.upstream_offset:
                self._store.confirm(last)

    def _opposite(self, group: GroupId, where: TopicPartition) -> Checkpoint | None:
        return None if self._returning is None else self._returning.opposite(group, where)


@dataclass(frozen=True, slots=True)
class Found:
    """
    What a group has committed.

    Attributes:
        checkpoint: the committed offset, translated.
        opposite: the opposite flow's last checkpoint.
    """

    checkpoint: Checkpoint
    last: Checkpoint | None
    opposite: Checkpoint | None

    def target_commit(self, current: int | None) -> TargetCommit:
        """What stands on the target, as checkpoints note it."""
        upstream = self.checkpoint.upstream_offset
        return new_target_commit(
            self.last, upstream, current, inverted(self.opposite, upstream, current)
        )


class Emission:
    """
    Rounds of checkpoints, one at a time: what an earlier round saw must not be emitted later.

    Args:
        until_caught_up: waits for all that the opposite flow has written up to now, and returns
            whether it was read; None if there is no such flow.

    Attributes:
        one_at_a_time: held while a round reads both sides; no offsets may be synced meanwhile.
    """

    def __init__(
        self,
        source: Offsets,
        target: Offsets,
        *,
        groups: FollowedGroups,
        choice: CheckpointSelector,
        outbox: CheckpointWriter,
        until_caught_up: UntilCaughtUp | None = None,
    ) -> None:
        self.one_at_a_time = asyncio.Lock()
        self._source = source
        self._target = target
        self._groups = groups
        self._choice = choice
        self._outbox = outbox
        self._until_caught_up = until_caught_up

    async def round(self) -> None:
        """
        Emits what is new of all groups that are followed, and what could not be written before.

        Raises:
            ClusterError: not all could be written; the others stay due.
        """
        await self.emit(self._groups.current)

    async def emit(self, groups: Iterable[GroupId]) -> None:
        """
        Emits what is new of some groups, and what could not be written before.

        A group whose offsets cannot be listed is left out this time (C282).

        Raises:
            ClusterError: not all could be written; the others stay due.
        """
        async with self.one_at_a_time:
            asked = sorted(groups)
            failures: list[ClusterError] = []
            for some in chunks(asked, _GROUPS_AT_ONCE):
                failures += await self._choose(some)
            if failures:
                log.warning("checkpoint.skipped", groups=len(failures), error=str(failures[0]))
            if records := await self._outbox.write():
                log.debug("checkpoint.emitted", groups=len(asked), records=records)

    async def _choose(self, groups: list[GroupId]) -> list[ClusterError]:
        committed = await self._source.list_offsets_of_groups(groups)
        if self._until_caught_up is not None and not await self._until_caught_up():
            return []
        failures = [each for each in committed.values() if isinstance(each, ClusterError)]
        found: dict[GroupId, list[Found]] = {}
        for group in groups:
            offsets = committed[group]
            if not isinstance(offsets, ClusterError) and (
                some := self._choice.found(group, offsets)
            ):
                found[group] = some
            # A group may have many partitions; others want to go on too.
            await asyncio.sleep(0)
        if found and self._until_caught_up is not None:
            again = await self._source.list_offsets_of_groups(sorted(found))
            failures += [each for each in again.values() if isinstance(each, ClusterError)]
            found = self._without_set_back(found, committed, again)
        await self._take(found)
        return failures

    def _without_set_back(
        self, groups: Iterable[GroupId], committed: _Listed, again: _Listed
    ) -> dict[GroupId, list[Found]]:
        """
        Leaves out what the opposite flow may have set back between two listings.

        Its last checkpoint tells of that, and not of what it had given before.
        """
        left: dict[GroupId, list[Found]] = {}
        for group in groups:
            before, after = committed[group], again[group]
            if not isinstance(before, ClusterError) and not isinstance(after, ClusterError):
                kept = {w: each for w, each in before.items() if _stands(each, after.get(w))}
                left[group] = self._choice.found(group, kept)
        return left

    async def _take(self, found: Mapping[GroupId, list[Found]]) -> None:
        there = await self._target_commits(found)
        for group, some in found.items():
            time_ms = now_ms()
            if count := sum(self._choice.take(each, there.get(group), time_ms) for each in some):
                log.debug("checkpoint.chosen", group=group, records=count)
            await asyncio.sleep(0)

    async def _target_commits(
        self, groups: Collection[GroupId]
    ) -> Mapping[GroupId, Mapping[TopicPartition, CommittedOffset]]:
        """What stands on the target; without it, checkpoints are as Java's."""
        if not groups:
            return {}
        try:
            answers = await self._target.list_offsets_of_groups(groups)
        except ClusterError as error:
            log.warning("group_offsets.not_listed", groups=len(groups), error=str(error))
            return {}
        return {
            GroupId(group): offsets
            for group, offsets in answers.items()
            if not isinstance(offsets, ClusterError)
        }


def _stands(before: CommittedOffset, after: CommittedOffset | None) -> bool:
    return after is not None and after.offset >= before.offset
