"""
The way back: groups of a target that read what a flow has copied there (KIP-1098's purpose).

A group that moved from A to B reads on in the copies that the flow A->B has made and commits there.
When it returns, its offsets in a copy have to become offsets of the original. What the flow A->B
knows gives that when it is reversed; the flow B->A, which never copies those topics, knows nothing
of them.

Everything here is pure. ``flows.checkpoint.reverse_flow`` feeds it for the flow B->A, and failback
asks it directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mm2.core.filters import TopicFilter
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy
from mm2.core.translation.checkpoint_rules import Renaming, Translator
from mm2.core.translation.offset_translation import MappedOffset
from mm2.core.translation.runs import Logs


class Reverser(Protocol):
    """What knows where copies came from, as ``OffsetTranslation`` does."""

    def reverse(self, partition: TopicPartition, downstream: int) -> MappedOffset | None:
        """Returns the offset in the original ``partition`` for one in its copy."""

    def told_to(self, partition: TopicPartition) -> int | None:
        """Returns the offset in the original up to which anything is told; None for nothing."""

    def logs(self, partition: TopicPartition) -> Logs:
        """Returns the ids of the original's topic and of the copy's, as far as they are known."""


class Copies:
    """
    Which topics of a cluster may be copies that a flow has made, and of what.

    Names alone decide. Under a policy that does not rename, every topic that the flow mirrors may
    be one; whether it is, the flow's runs and syncs decide (``BidirectionalTranslator``). The same
    few topics are asked for over and over, so the answers are kept.

    Args:
        source: where the originals are, the source of the flow that copies.
        policy: that flow's, configured with its aliases.
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


class BidirectionalTranslator:
    """
    Translates offsets of a flow's source, those in copies of the target's topics by the way back.

    Where both directions know a partition, which happens when two clusters mirror the same topic
    to each other without renaming it, the lower offset is taken: a group reads again rather than
    skip what only one of them accounts for. Until the opposite flow has told how far it has copied
    such a partition, nothing is known: what it has not copied yet would be skipped for good.

    Args:
        back: knows the copies that the opposite flow has made.
        tells_all: whether it tells also of what it reads and does not copy, by exact runs.
    """

    def __init__(
        self, onward: Translator, back: Reverser, copies: Copies, *, tells_all: bool = True
    ) -> None:
        self._onward = onward
        self._back = back
        self._copies = copies
        self._tells_all = tells_all

    def explain(self, partition: TopicPartition, upstream: int) -> MappedOffset | None:
        """Returns the offset on the target and whether it is exact; None if nothing is known."""
        onward = self._onward.explain(partition, upstream)
        original = self._copies.original_partition(partition)
        back = None if original is None else self._back.reverse(original, upstream)
        if onward is None:
            return back
        if original is None:
            return onward
        if back is None:
            return self._without_copies(onward, original)
        return MappedOffset(min(onward.offset, back.offset), exact=False)

    def _without_copies(
        self, onward: MappedOffset, original: TopicPartition
    ) -> MappedOffset | None:
        """The opposite flow has told of no copy: there is none, or not yet."""
        if not self._tells_all:
            return onward
        end = self._back.told_to(original)
        if end is None:
            return None
        return onward if onward.offset <= end else MappedOffset(end, exact=False)

    def logs(self, partition: TopicPartition) -> Logs:
        """Returns the ids of the partition's topic and of that on the target."""
        onward = self._onward.logs(partition)
        original = self._copies.original_partition(partition)
        if original is None:
            return onward
        back = self._back.logs(original)
        return onward.fill_from(Logs(source=back.remote, remote=back.source))


class BidirectionalRenaming(Renaming):
    """
    Names the source's partitions as the target does, copies of the target's topics included.

    Args:
        topic_filter: what the flow itself mirrors; copies count in any case.
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


class TopicOrCopyFilter(TopicFilter):
    """
    Accepts the topics that a flow mirrors, and those that are copies of its target's topics.

    Args:
        mirrored: the flow's filter; None if it mirrors nothing.
    """

    def __init__(self, mirrored: TopicFilter | None, copies: Copies) -> None:
        self._mirrored = mirrored
        self._copies = copies

    def should_replicate_topic(self, topic: TopicName) -> bool:
        """Whether offsets for ``topic`` count."""
        if self._copies.original(topic) is not None:
            return True
        return self._mirrored is not None and self._mirrored.should_replicate_topic(topic)
