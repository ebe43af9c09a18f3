"""
The way back: groups of a target that read what a flow has copied there (KIP-1098's purpose).

A group that moved from A to B reads on in the copies that the flow A->B has made and commits there.
When it returns, its offsets in a copy have to become offsets of the original. What the flow A->B
knows says so when it is read the other way round; the flow B->A, which never copies those topics,
knows nothing of them.

Everything here is pure. ``flows.checkpoint.reverse`` feeds it for the flow B->A, and failback asks
it directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol, TypeVar

from mm2.core.checkpoint import CommittedOffset, Renaming, Translator
from mm2.core.codec import Checkpoint
from mm2.core.filters import TopicFilter
from mm2.core.model import (
    NO_OFFSET,
    ClusterAlias,
    GroupId,
    SourceAndTarget,
    TopicName,
    TopicPartition,
)
from mm2.core.policy import ReplicationPolicy
from mm2.core.runs import UNKNOWN_LOGS, Logs
from mm2.core.translation import Translated

Commit = TypeVar("Commit", bound=CommittedOffset | None)


class Reverser(Protocol):
    """What knows where copies came from, as ``OffsetTranslation`` does."""

    def reverse(self, partition: TopicPartition, downstream: int) -> Translated | None:
        """Returns the offset in the original ``partition`` for one in its copy."""

    def logs(self, partition: TopicPartition) -> Logs:
        """Returns the ids of the original's topic and of the copy's, as far as they are known."""


class Copies:
    """
    Tells which topics of a cluster may be copies that a flow has made, and of what.

    Names alone decide. Under a policy that does not rename, every topic that the flow mirrors may
    be one; whether it is, the flow's runs and syncs tell (``BothWays``). The same few topics are
    asked for over and over, so the answers are kept.

    Args:
        source: where the originals are, the source of the flow that copies.
        policy: that flow's, configured with its aliases.
        accepts: says which topics of the source it mirrors.
    """

    def __init__(
        self,
        source: ClusterAlias,
        policy: ReplicationPolicy,
        accepts: Callable[[TopicName], bool],
    ) -> None:
        self._source = source
        self._policy = policy
        self._accepts = accepts
        self._originals: dict[TopicName, TopicName | None] = {}

    def original(self, topic: TopicName) -> TopicName | None:
        """
        Names the original of a copy as the source does; None for what the flow does not make.

        Takes off one name and not all of them, unlike Java (C286): the copy of a copy is, at the
        source, a copy.
        """
        if topic not in self._originals:
            self._originals[topic] = self._original(topic)
        return self._originals[topic]

    def original_partition(self, partition: TopicPartition) -> TopicPartition | None:
        """Names the partition that one of a copy was filled from; None as for ``original``."""
        original = self.original(partition.topic)
        return None if original is None else TopicPartition(original, partition.partition)

    def copied_partition(self, original: TopicPartition) -> TopicPartition | None:
        """Names the copy of a partition of the source; None if the flow does not copy it."""
        copy = self._policy.format_remote_topic(self._source, original.topic)
        if self.original(copy) != original.topic:
            return None
        return TopicPartition(copy, original.partition)

    def _original(self, topic: TopicName) -> TopicName | None:
        if self._policy.topic_source(topic) != self._source:
            return None
        original = self._policy.upstream_topic(topic)
        if original is None or not self._accepts(original):
            return None
        copy = self._policy.format_remote_topic(self._source, original)
        return original if copy == topic else None


class BothWays:
    """
    Translates offsets of a flow's source, those in copies of the target's topics by the way back.

    Where both directions know a partition, which happens when two clusters mirror the same topic
    to each other without renaming it, the lower offset is taken: a group reads again rather than
    skip what only one of them accounts for.

    Args:
        onward: translates what the flow itself copies.
        back: knows the copies that the opposite flow has made.
        copies: says which partitions may be such copies.
    """

    def __init__(self, onward: Translator, back: Reverser, copies: Copies) -> None:
        self._onward = onward
        self._back = back
        self._copies = copies

    def explain(self, partition: TopicPartition, upstream: int) -> Translated | None:
        """Returns the offset on the target and whether it is exact; None if nothing is known."""
        onward = self._onward.explain(partition, upstream)
        original = self._copies.original_partition(partition)
        back = None if original is None else self._back.reverse(original, upstream)
        if onward is None or back is None:
            return onward or back
        return Translated(min(onward.offset, back.offset), exact=False)

    def logs(self, partition: TopicPartition) -> Logs:
        """Returns the ids of the partition's topic and of that on the target."""
        onward = self._onward.logs(partition)
        original = self._copies.original_partition(partition)
        if original is None:
            return onward
        back = self._back.logs(original)
        return onward.or_else(Logs(source=back.remote, remote=back.source))


class RenamingBothWays(Renaming):
    """
    Names the source's partitions as the target does, copies of the target's topics included.

    Args:
        flow: from where to where.
        policy: names the topics downstream.
        topic_filter: what the flow itself mirrors; copies count whatever it says.
        copies: says which topics are copies, and of what.
    """

    def __init__(
        self,
        flow: SourceAndTarget,
        policy: ReplicationPolicy,
        topic_filter: TopicFilter,
        copies: Copies,
    ) -> None:
        super().__init__(flow, policy, topic_filter)
        self._copies = copies

    def of(self, partition: TopicPartition) -> TopicPartition | None:
        """The partition on the target; None for a topic that does not count."""
        return self._copies.original_partition(partition) or super().of(partition)


class EitherTopic(TopicFilter):
    """
    Accepts the topics that a flow mirrors, and those that are copies of its target's topics.

    Args:
        mirrored: the flow's filter; None if it mirrors nothing.
        copies: says which topics are copies.
    """

    def __init__(self, mirrored: TopicFilter | None, copies: Copies) -> None:
        self._mirrored = mirrored
        self._copies = copies

    def should_replicate_topic(self, topic: TopicName) -> bool:
        """Tells whether offsets for ``topic`` count."""
        if self._copies.original(topic) is not None:
            return True
        return self._mirrored is not None and self._mirrored.should_replicate_topic(topic)


class _Reached(NamedTuple):
    """How far checkpoints have come on either side, and in which topics."""

    source: int
    copy: int
    logs: Logs

    def and_then(self, told: _Reached) -> _Reached:
        """The further of both; where the topic has been made anew, only what is told of that."""
        is_other_source = Logs(source=told.logs.source).are_others(self.logs)
        is_other_copy = Logs(remote=told.logs.remote).are_others(self.logs)
        return _Reached(
            told.source if is_other_source else max(self.source, told.source),
            told.copy if is_other_copy else max(self.copy, told.copy),
            told.logs.or_else(self.logs),
        )


_NOWHERE: Final = _Reached(NO_OFFSET, NO_OFFSET, UNKNOWN_LOGS)


class Carried:
    """
    How far a flow has carried groups along, which tells those that read on by themselves.

    A flow that syncs group offsets gives groups of its target the offsets of its checkpoints. That
    such an offset stands there does not mean that the group has moved, and carrying it back would
    at best say nothing; at worst it would undo what somebody set at the source on purpose.

    What was given in a topic counts no more once checkpoints are about another one of its name.
    """

    def __init__(self) -> None:
        self._furthest: dict[GroupId, dict[TopicPartition, _Reached]] = {}
        self._is_read = False

    def backlog_read(self) -> None:
        """Notes that all checkpoints of before the start are known: answers begin."""
        self._is_read = True

    def note(self, checkpoint: Checkpoint) -> None:
        """Learns of a checkpoint of the flow, at its start or later."""
        told = _Reached(checkpoint.upstream_offset, checkpoint.downstream_offset, checkpoint.logs)
        offsets = self._furthest.setdefault(checkpoint.group, {})
        before = offsets.get(checkpoint.partition)
        offsets[checkpoint.partition] = told if before is None else before.and_then(told)

    @property
    def is_empty(self) -> bool:
        """Whether the flow has carried no group at all."""
        return not self._furthest

    def knows(self, group: GroupId) -> bool:
        """Whether the flow has ever carried a group."""
        return group in self._furthest

    def is_passed(self, group: GroupId, partition: TopicPartition, offset: int) -> bool:
        """Tells whether ``offset`` in a copy lies beyond what the group was given there."""
        return self._is_read and offset > self._reached(group, partition).copy

    def has_been_at(self, group: GroupId, partition: TopicPartition, offset: int) -> bool:
        """Tells whether the group has once committed ``offset`` of the copy's original, or more."""
        return self._reached(group, partition).source >= offset

    def _reached(self, group: GroupId, partition: TopicPartition) -> _Reached:
        return self._furthest.get(group, {}).get(partition, _NOWHERE)


class Returning:
    """
    Tells which offsets of groups are on their way back.

    Args:
        copies: says which partitions are copies.
        carried: how far the flow that made them has carried groups.
    """

    def __init__(self, copies: Copies, carried: Carried) -> None:
        self._copies = copies
        self._carried = carried

    def own_commits(
        self,
        group: GroupId,
        committed: Mapping[TopicPartition, Commit],
        last: Mapping[TopicPartition, Checkpoint],
    ) -> dict[TopicPartition, Commit]:
        """
        Leaves out what a group did not commit itself in a copy but was given there.

        A group that has once read on stays on its way while it goes back in the copy.

        Args:
            group: the group.
            committed: its offsets on the flow's source.
            last: its last checkpoints, by partitions of the flow's target.
        """
        return {
            partition: commit
            for partition, commit in committed.items()
            if (original := self._copies.original_partition(partition)) is None
            or commit is None
            or self._carried.is_passed(group, partition, _furthest(commit, last.get(original)))
        }

    def may_be_given(self, checkpoint: Checkpoint) -> bool:
        """
        Tells whether a group of the target may be given the offset of its last checkpoint.

        Not once the group has come back and gone on there, which the flow's checkpoints tell: they
        have passed its place in the copy or, where they are only safe guesses, in the original.
        """
        copy = self._copies.copied_partition(checkpoint.partition)
        if copy is None:
            return True
        group = checkpoint.group
        return self._carried.is_passed(
            group, copy, checkpoint.upstream_offset
        ) and not self._carried.has_been_at(group, copy, checkpoint.downstream_offset)


def _furthest(commit: CommittedOffset, last: Checkpoint | None) -> int:
    return commit.offset if last is None else max(commit.offset, last.upstream_offset)
