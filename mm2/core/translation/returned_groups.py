"""
Which groups have moved or returned by themselves, and which a flow has only synced.

Pure. What is asked here of a flow is answered by the checkpoints of the opposite one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from mm2.core.internal_records import Checkpoint
from mm2.core.model import NO_OFFSET, GroupId, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.group_sync_rules import is_echo
from mm2.core.translation.reverse_translation import Copies
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs

Commit = TypeVar("Commit", bound=CommittedOffset | None)


class _Reached(NamedTuple):
    source: int
    copy: int
    logs: Logs

    def and_then(self, latest: _Reached) -> _Reached:
        """The maximum of both offsets; if the topic was re-created, only the new topic's."""
        is_other_source = Logs(source=latest.logs.source).conflicts_with(self.logs)
        is_other_copy = Logs(remote=latest.logs.remote).conflicts_with(self.logs)
        return _Reached(
            latest.source if is_other_source else max(self.source, latest.source),
            latest.copy if is_other_copy else max(self.copy, latest.copy),
            latest.logs.fill_from(self.logs),
        )


_NOWHERE: Final = _Reached(NO_OFFSET, NO_OFFSET, UNKNOWN_LOGS)


class SyncedOffsets:
    """
    How far a flow has synced groups, which distinguishes those that read on by themselves.

    A flow that syncs group offsets gives groups of its target the offsets of its checkpoints. That
    such an offset stands there does not mean that the group has moved, and syncing it back would
    at best be useless; at worst it would undo what a user set at the source on purpose.

    The last checkpoint has that itself (``mm2.core.translation.group_sync_rules``). Those of Java's
    MirrorMaker do not: there, what is not beyond all of them was given. What was given in a topic
    counts no more once checkpoints are about another one of its name.
    """

    def __init__(self) -> None:
        self._furthest: dict[GroupId, dict[TopicPartition, _Reached]] = {}
        self._last: dict[GroupId, dict[TopicPartition, Checkpoint]] = {}
        self.is_read = False

    def backlog_read(self) -> None:
        """Notes that all checkpoints of before the start are known: answers begin."""
        self.is_read = True

    def note(self, checkpoint: Checkpoint) -> None:
        """Learns of a checkpoint of the flow, at its start or later."""
        latest = _Reached(checkpoint.upstream_offset, checkpoint.downstream_offset, checkpoint.logs)
        offsets = self._furthest.setdefault(checkpoint.group, {})
        before = offsets.get(checkpoint.partition)
        offsets[checkpoint.partition] = latest if before is None else before.and_then(latest)
        self._last.setdefault(checkpoint.group, {})[checkpoint.partition] = checkpoint

    def last(self, group: GroupId, partition: TopicPartition) -> Checkpoint | None:
        """The flow's last checkpoint of a group for a partition of its target."""
        return self._last.get(group, {}).get(partition)

    @property
    def is_empty(self) -> bool:
        """Whether the flow has synced no group at all."""
        return not self._furthest

    def knows(self, group: GroupId) -> bool:
        """Whether the flow has ever synced a group."""
        return group in self._furthest

    def is_passed(self, group: GroupId, partition: TopicPartition, offset: int) -> bool:
        """Whether ``offset`` in a copy lies beyond what the group was given there."""
        return self.is_read and offset > self._reached(group, partition).copy

    def has_been_at(self, group: GroupId, partition: TopicPartition, offset: int) -> bool:
        """Whether the group has once committed ``offset`` of the copy's original, or more."""
        return self._reached(group, partition).source >= offset

    def _reached(self, group: GroupId, partition: TopicPartition) -> _Reached:
        return self._furthest.get(group, {}).get(partition, _NOWHERE)


class ReturningGroups:
    """
    Which offsets of groups are their own, and not echoes of what the opposite flow gave them.

    Args:
        copies: knows which partitions are copies that the opposite flow has made.
    """

    def __init__(self, copies: Copies, synced: SyncedOffsets) -> None:
        self._copies = copies
        self._synced = synced

    def opposite(self, group: GroupId, partition: TopicPartition) -> Checkpoint | None:
        """The opposite flow's last checkpoint for a partition of the flow's source."""
        return self._synced.last(group, partition)

    def own_commits(
        self,
        group: GroupId,
        committed: Mapping[TopicPartition, Commit],
        last: Callable[[TopicPartition], Checkpoint | None],
    ) -> dict[TopicPartition, Commit]:
        """
        Leaves out what a group did not commit itself, but was given.

        Where the opposite flow's checkpoints do not have what they gave, only copies can be
        distinguished: a group that has once read on in one stays on its way while it goes back
        there.

        Args:
            last: gives its last checkpoint for a partition of the source.
        """
        return {
            partition: commit
            for partition, commit in committed.items()
            if commit is None or self._is_own(group, partition, commit, last(partition))
        }

    def _is_own(
        self,
        group: GroupId,
        partition: TopicPartition,
        commit: CommittedOffset,
        last: Checkpoint | None,
    ) -> bool:
        opposite = self.opposite(group, partition)
        if opposite is not None and opposite.target_commit is not None:
            return self._synced.is_read and not is_echo(commit.offset, opposite, last)
        if self._copies.original_partition(partition) is None:
            return True
        return self._synced.is_passed(group, partition, _furthest(commit, last))

    def may_be_given(self, checkpoint: Checkpoint) -> bool:
        """
        Whether a group of the target may be given the offset of its last checkpoint.

        Where the offset there was not read, not once the group has come back and gone on, by the
        flow's checkpoints: they have passed its place in the copy or, where they are only safe
        guesses, in the original.
        """
        copy = self._copies.copied_partition(checkpoint.partition)
        if copy is None or checkpoint.target_commit is not None:
            return True
        group = checkpoint.group
        return self._synced.is_passed(
            group, copy, checkpoint.upstream_offset
        ) and not self._synced.has_been_at(group, copy, checkpoint.downstream_offset)


def _furthest(commit: CommittedOffset, last: Checkpoint | None) -> int:
    return commit.offset if last is None else max(commit.offset, last.upstream_offset)
