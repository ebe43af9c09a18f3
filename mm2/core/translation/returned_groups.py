"""
Which groups have moved or returned by themselves, and which were only carried along.

Pure. What is asked here of a flow is answered by the checkpoints of the opposite one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from mm2.core.mirror_records import Checkpoint
from mm2.core.model import NO_OFFSET, GroupId, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.group_sync_rules import is_echo
from mm2.core.translation.reverse_translation import Copies
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs

Commit = TypeVar("Commit", bound=CommittedOffset | None)


class _Reached(NamedTuple):
    """How far checkpoints have come on either side, and in which topics."""

    source: int
    copy: int
    logs: Logs

    def and_then(self, told: _Reached) -> _Reached:
        """The maximum of both offsets; if the topic was re-created, only the new topic's."""
        is_other_source = Logs(source=told.logs.source).conflicts_with(self.logs)
        is_other_copy = Logs(remote=told.logs.remote).conflicts_with(self.logs)
        return _Reached(
            told.source if is_other_source else max(self.source, told.source),
            told.copy if is_other_copy else max(self.copy, told.copy),
            told.logs.fill_from(self.logs),
        )


_NOWHERE: Final = _Reached(NO_OFFSET, NO_OFFSET, UNKNOWN_LOGS)


class SyncedOffsets:
    """
    How far a flow has carried groups along, which tells those that read on by themselves.

    A flow that syncs group offsets gives groups of its target the offsets of its checkpoints. That
    such an offset stands there does not mean that the group has moved, and carrying it back would
    at best say nothing; at worst it would undo what somebody set at the source on purpose.

    The last checkpoint says so itself (``mm2.core.translation.group_sync_rules``). Those of Java's
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
        told = _Reached(checkpoint.upstream_offset, checkpoint.downstream_offset, checkpoint.logs)
        offsets = self._furthest.setdefault(checkpoint.group, {})
        before = offsets.get(checkpoint.partition)
        offsets[checkpoint.partition] = told if before is None else before.and_then(told)
        self._last.setdefault(checkpoint.group, {})[checkpoint.partition] = checkpoint

    def last(self, group: GroupId, partition: TopicPartition) -> Checkpoint | None:
        """The flow's last checkpoint of a group for a partition of its target."""
        return self._last.get(group, {}).get(partition)

    @property
    def is_empty(self) -> bool:
        """Whether the flow has carried no group at all."""
        return not self._furthest

    def knows(self, group: GroupId) -> bool:
        """Whether the flow has ever carried a group."""
        return group in self._furthest

    def is_passed(self, group: GroupId, partition: TopicPartition, offset: int) -> bool:
        """Tells whether ``offset`` in a copy lies beyond what the group was given there."""
        return self.is_read and offset > self._reached(group, partition).copy

    def has_been_at(self, group: GroupId, partition: TopicPartition, offset: int) -> bool:
        """Tells whether the group has once committed ``offset`` of the copy's original, or more."""
        return self._reached(group, partition).source >= offset

    def _reached(self, group: GroupId, partition: TopicPartition) -> _Reached:
        return self._furthest.get(group, {}).get(partition, _NOWHERE)


class ReturningGroups:
    """
    Tells which offsets of groups are their own, and not echoes of what the opposite flow gave them.

    Args:
        copies: says which partitions are copies that the opposite flow has made.
        carried: how far that one has carried groups.
    """

    def __init__(self, copies: Copies, carried: SyncedOffsets) -> None:
        self._copies = copies
        self._carried = carried

    def opposite(self, group: GroupId, partition: TopicPartition) -> Checkpoint | None:
        """The opposite flow's last checkpoint for a partition of the flow's source."""
        return self._carried.last(group, partition)

    def own_commits(
        self,
        group: GroupId,
        committed: Mapping[TopicPartition, Commit],
        last: Callable[[TopicPartition], Checkpoint | None],
    ) -> dict[TopicPartition, Commit]:
        """
        Leaves out what a group did not commit itself, but was given.

        Where the opposite flow's checkpoints do not say what they gave, only copies can be told: a
        group that has once read on in one stays on its way while it goes back there.

        Args:
            group: the group.
            committed: its offsets on the flow's source.
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
            return self._carried.is_read and not is_echo(commit.offset, opposite, last)
        if self._copies.original_partition(partition) is None:
            return True
        return self._carried.is_passed(group, partition, _furthest(commit, last))

    def may_be_given(self, checkpoint: Checkpoint) -> bool:
        """
        Tells whether a group of the target may be given the offset of its last checkpoint.

        Where nobody has looked at what stands there, not once the group has come back and gone on,
        which the flow's checkpoints tell: they have passed its place in the copy or, where they are
        only safe guesses, in the original.
        """
        copy = self._copies.copied_partition(checkpoint.partition)
        if copy is None or checkpoint.target_commit is not None:
            return True
        group = checkpoint.group
        return self._carried.is_passed(
            group, copy, checkpoint.upstream_offset
        ) and not self._carried.has_been_at(group, copy, checkpoint.downstream_offset)


def _furthest(commit: CommittedOffset, last: Checkpoint | None) -> int:
    return commit.offset if last is None else max(commit.offset, last.upstream_offset)
