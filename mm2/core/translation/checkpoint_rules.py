"""
Checkpoints and the offsets of groups on the target (Java: ``MirrorCheckpointTask``).

Pure decisions: what a group's committed offset becomes downstream, whether that is news, and which
offsets the target's group of the same name should be given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

from mm2.core.filters import TopicFilter
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy
from mm2.core.translation.group_sync_rules import Order, TargetCommit, may_be_given
from mm2.core.translation.offset_translation import MappedOffset
from mm2.core.translation.runs import Logs


class CommittedOffset(NamedTuple):
    """What a group has committed for one partition."""

    offset: int
    metadata: str = ""


class Translator(Protocol):
    """What translates offsets of the source, as ``OffsetTranslation`` does."""

    def explain(self, partition: TopicPartition, upstream: int) -> MappedOffset | None:
        """Returns the offset downstream; None or a negative one if it has none."""

    def logs(self, partition: TopicPartition) -> Logs:
        """Returns the ids of the topics that this is about, as far as they are known."""


class Renaming:
    """
    Names the source's partitions as the target does, those that count.

    The same few topics are asked for over and over, for each group; so the answers are kept.

    Args:
        topic_filter: only its topics count.
    """

    def __init__(
        self, flow: SourceAndTarget, policy: ReplicationPolicy, topic_filter: TopicFilter
    ) -> None:
        self._flow = flow
        self._policy = policy
        self._topic_filter = topic_filter
        self._names: dict[TopicName, TopicName | None] = {}

    def of(self, partition: TopicPartition) -> TopicPartition | None:
        """The partition on the target; None for a topic that does not count."""
        if partition.topic not in self._names:
            self._names[partition.topic] = self._name(partition)
        name = self._names[partition.topic]
        return None if name is None else TopicPartition(name, partition.partition)

    def _name(self, partition: TopicPartition) -> TopicName | None:
        if not self._topic_filter.should_replicate_topic(partition.topic):
            return None
        return downstream_partition(self._policy, self._flow, partition).topic


def downstream_partition(
    policy: ReplicationPolicy, flow: SourceAndTarget, partition: TopicPartition
) -> TopicPartition:
    """
    Names a partition of the source as the target does (C285).

    A copy of the target's own topic is that topic there, unwrapped altogether and not only by one
    name (C286).
    """
    if policy.topic_source(partition.topic) == flow.target:
        return TopicPartition(policy.original_topic(partition.topic), partition.partition)
    topic = policy.format_remote_topic(flow.source, partition.topic)
    return TopicPartition(topic, partition.partition)


def upstream_partition(
    policy: ReplicationPolicy, flow: SourceAndTarget, partition: TopicPartition
) -> TopicPartition:
    """
    Names a partition of the target as the source does: the reverse of ``downstream_partition``.

    What is no copy of the source's is an original of the target, whose copy the group has read.
    """
    if policy.topic_source(partition.topic) == flow.source:
        topic = policy.upstream_topic(partition.topic) or partition.topic
    else:
        topic = policy.format_remote_topic(flow.target, partition.topic)
    return TopicPartition(topic, partition.partition)


def checkpoints_for_group(
    group: GroupId,
    committed: Mapping[TopicPartition, CommittedOffset | None],
    *,
    renaming: Renaming,
    translator: Translator,
    last: Mapping[TopicPartition, Checkpoint],
) -> Iterator[Checkpoint]:
    """
    Yields the checkpoints for what is new of a group's commits on the source (C284).

    ``noted`` decides whether these are emitted.

    Args:
        committed: its offsets by the source's partitions; None where there is none.
        last: the group's last checkpoints by downstream partition.
    """
    for partition, commit in committed.items():
        if commit is None or (downstream := renaming.of(partition)) is None:
            continue
        found = translator.explain(partition, commit.offset)
        if found is None or found.offset < 0:
            continue
        checkpoint = Checkpoint(
            group,
            downstream,
            commit.offset,
            found.offset,
            commit.metadata,
            found.exact,
            translator.logs(partition),
        )
        before = last.get(downstream)
        if _has_committed(checkpoint, before) or is_more_recent(checkpoint, before):
            yield checkpoint


def noted(
    checkpoint: Checkpoint, last: Checkpoint | None, target_commit: TargetCommit | None
) -> Checkpoint | None:
    """
    Returns what is to be emitted of a group's commit; None if it is no news.

    Where a member or a person has committed on the target as well, each commit is news: which one
    is the later must be known. One that is not yet known to be further there stays where the last
    one was.

    Args:
        target_commit: what stands on the target; None if that is not known.
    """
    found = replace(checkpoint, target_commit=target_commit)
    if is_more_recent(checkpoint, last):
        return found
    if last is None or target_commit is None or target_commit.order is Order.GIVEN:
        return None
    exact = checkpoint.exact and checkpoint.downstream_offset == last.downstream_offset
    return replace(found, downstream_offset=last.downstream_offset, exact=exact)


def _has_committed(checkpoint: Checkpoint, last: Checkpoint | None) -> bool:
    return last is None or checkpoint.upstream_offset != last.upstream_offset


def is_more_recent(checkpoint: Checkpoint, last: Checkpoint | None) -> bool:
    """
    Whether a checkpoint is news (C291).

    Downstream offsets go forward only, unless the group itself went back on the source. That an
    offset which was a safe guess turns out to be exact is news too, once. An exact offset before
    the last one means that the copy was created again: the last one is of a log that is gone,
    and whoever went on there would skip records (unlike C294). So is, once, which topics it is of
    if the last one had none, as of earlier releases: idle groups have no other news.
    """
    return (
        last is None
        or checkpoint.upstream_offset < last.upstream_offset
        or checkpoint.downstream_offset > last.downstream_offset
        or (checkpoint.exact and _is_better(checkpoint, last))
        or _names_its_topics(checkpoint, last)
    )


def _is_better(exact: Checkpoint, last: Checkpoint) -> bool:
    if exact.downstream_offset == last.downstream_offset:
        return not last.exact
    return exact.downstream_offset < last.downstream_offset


def _names_its_topics(checkpoint: Checkpoint, last: Checkpoint) -> bool:
    is_named, was_named = checkpoint.logs.remote is not None, last.logs.remote is not None
    is_same = (checkpoint.upstream_offset, checkpoint.downstream_offset) == (
        last.upstream_offset,
        last.downstream_offset,
    )
    return is_named and not was_named and is_same and checkpoint.exact >= last.exact


def group_offsets_to_sync(
    checkpoints: Iterable[Checkpoint],
    idle: Mapping[TopicPartition, CommittedOffset | None] | None,
) -> dict[TopicPartition, CommittedOffset]:
    """
    Returns the offsets to give to the target's group of the same name (C301, C309).

    Forward, as Java does, but not where a member or a person has committed there since; and back
    where none has read what the group was given there (unlike C307).

    Args:
        checkpoints: the group's last checkpoints, one per downstream partition.
        idle: what the group has committed on the target, if it exists there and has no members; a
            partition with None was committed and reset. None if nothing is known of the group,
            which then counts as new: all its offsets are written, and the broker refuses that if
            the group has members (C304).
    """
    on_target = idle or {}
    return {
        each.partition: CommittedOffset(each.downstream_offset, each.metadata)
        for each in checkpoints
        if may_be_given(each, offset_of(on_target.get(each.partition)))
    }


def offset_of(commit: CommittedOffset | None) -> int | None:
    """The offset of what may be committed."""
    return None if commit is None else commit.offset
