"""
The directions in which offsets go between two clusters: with a flow, or against it.

A group that leaves A for B takes the flow A->B for topics of A, and goes against the flow B->A for
copies of B's topics. Coming back it is the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from mm2.client.group_survey import read_copy_progress
from mm2.client.load_translation import load_translation
from mm2.config.flow_config import FlowConfig
from mm2.config.offset_topics import accepted_topics
from mm2.core.failover.copy_progress import CopyProgress
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.offset_translation import MappedOffset, OffsetTranslation
from mm2.core.translation.runs import Logs
from mm2.kafka.flow_clusters import FlowClusters
from mm2.kafka.logs.first_records import Range

_MARKERS: Final = 64
"""At the end of a copy, so many offsets before one are tried that may have no records."""


class Ids(NamedTuple):
    """The ids of a topic on both sides; None where brokers have none."""

    origin: UUID | None = None
    destination: UUID | None = None


class UnreadRecords(NamedTuple):
    """
    What a group has not read of the records that a flow copies to its origin.

    Attributes:
        first: an offset of their log; none before it is unread.
        read: an offset behind those that are known to have been read.
        is_exact: whether those from the greater of both on are unread.
    """

    first: int
    read: int
    is_exact: bool


class FlowDirection(Protocol):
    """One flow, taken in one direction."""

    @property
    def config(self) -> FlowConfig:
        """The flow."""

    def destination(self, where: TopicPartition) -> TopicPartition | None:
        """The same records on the other side; None for a partition that does not go this way."""

    async def read(self) -> OffsetMapping:
        """
        What is known now of offsets on both sides.

        Raises:
            ClusterError: a cluster does not answer, or refuses.
        """


class OffsetMapping(Protocol):
    """What is known, at one moment, of offsets on both sides of a direction."""

    @property
    def may_lag(self) -> bool:
        """Whether records of the origin may come to the other side yet."""

    def nearest(self, where: TopicPartition, offset: int) -> int | None:
        """
        An offset not after this one that may be known better; None if there is none.

        If no record is between the two, they are the same to a reader. So it is behind the marker
        of a transaction, or a gap, at the end of what is copied.
        """

    def translate(self, where: TopicPartition, offset: int) -> MappedOffset | None:
        """An offset of the origin on the other side; None if it is not known."""

    def copies_none(self, where: TopicPartition, offset: int, log: Range) -> bool:
        """
        Whether the flow copies nothing of the origin's log from this offset on, as far as it goes.

        Args:
            log: where it begins and ends; read after all that is known here.
        """

    def is_about(self, where: TopicPartition, ids: Ids, end: int) -> bool:
        """
        Whether all this may be about the logs that there are now, and not about former ones.

        Args:
            ids: of its topic on both sides.
            end: of the origin's log.
        """


class WithFlow:
    """From the source of a flow to its target."""

    def __init__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        self.config = config
        self._policy = build_policy(config.source.properties)
        self._accepts = accepted_topics(config)
        self._clusters = clusters

    def destination(self, where: TopicPartition) -> TopicPartition | None:
        """The copy of a partition; None if the flow does not copy it."""
        if not self._accepts(where.topic):
            return None
        remote = self._policy.format_remote_topic(self.config.flow.source, where.topic)
        return TopicPartition(remote, where.partition)

    async def copied(self) -> CopyProgress:
        """
        What is copied of each source partition; nothing if nothing ever was.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        return await read_copy_progress(self.config, self._clusters)

    async def read(self) -> OffsetMapping:
        """Reads positions first: what is copied by them can then be translated."""
        copied = await self.copied()
        return ForwardMapping(copied, await load_translation(self.config))


class ForwardMapping:
    """What is known of offsets with a flow: what is copied, and the flow's translation."""

    may_lag = True

    def __init__(self, copied: CopyProgress, translation: OffsetTranslation) -> None:
        self._copied = copied
        self._translation = translation

    def nearest(self, where: TopicPartition, offset: int) -> int | None:
        """The end of what is copied, if the group is as far or further."""
        copied = self._copied.end(where)
        return copied if copied <= offset else None

    def translate(self, where: TopicPartition, offset: int) -> MappedOffset | None:
        """By the flow's runs and syncs."""
        return self._translation.explain(where, offset)

    def copies_none(self, where: TopicPartition, offset: int, log: Range) -> bool:
        """By the flow's runs."""
        return self._translation.copies_none(where, offset, log)

    def is_about(self, where: TopicPartition, ids: Ids, end: int) -> bool:
        """Whether neither positions nor runs are certainly of former logs."""
        logs = Logs(source=ids.origin, remote=ids.destination)
        copied = self._copied.may_be_about(where, logs, end)
        return copied and self._translation.is_about(where, logs)


class AgainstFlow:
    """From the target of a flow back to its source: copies are there what they were made from."""

    def __init__(self, config: FlowConfig) -> None:
        self.config = config
        self._policy = build_policy(config.source.properties)
        self._accepts = accepted_topics(config)

    def destination(self, where: TopicPartition) -> TopicPartition | None:
        """What a partition is a copy of; None if it is no copy of this flow's."""
        if self._policy.topic_source(where.topic) != self.config.flow.source:
            return None
        topic = self._policy.upstream_topic(where.topic)
        if topic is None or not self._accepts(topic):
            return None
        return TopicPartition(topic, where.partition)

    async def read(self) -> ReverseMapping:
        """All that is on the target comes from the source: only the translation is needed."""
        return ReverseMapping(self, await load_translation(self.config))


class ReverseMapping:
    """What is known of offsets against a flow: the flow's translation, reversed."""

    may_lag = False

    def __init__(self, direction: AgainstFlow, translation: OffsetTranslation) -> None:
        self._direction = direction
        self._translation = translation

    def nearest(self, where: TopicPartition, offset: int) -> int | None:
        """An offset right before this one that is known exactly; a marker takes one offset."""
        for earlier in range(offset - 1, max(offset - _MARKERS, 0) - 1, -1):
            found = self.translate(where, earlier)
            if found is not None and found.exact:
                return earlier
        return None

    def translate(self, where: TopicPartition, offset: int) -> MappedOffset | None:
        """By the flow's runs and syncs, reversed."""
        original = self._direction.destination(where)
        return None if original is None else self._translation.reverse(original, offset)

    def copies_none(self, where: TopicPartition, offset: int, log: Range) -> bool:
        """Never: who goes against a flow asks only where copies came from."""
        del where, offset, log
        return False

    def unread(self, where: TopicPartition, offset: int, log: Range) -> UnreadRecords | None:
        """
        What a group at this offset of the origin has not read of the destination's own records.

        Args:
            log: where the destination's log begins and ends; read after all that is known here.

        Returns:
            None if it is not known.
        """
        original = self._direction.destination(where)
        assert original is not None  # noqa: S101 - else nobody asks
        found = self._translation.reverse(original, offset)
        passed = self._translation.passed(original, offset)
        if passed is not None and (passed.copied is not None or passed.since <= log[0]):
            is_exact = passed.end >= log[1] or (found is not None and found.exact)
            return UnreadRecords(passed.end, passed.copied or 0, is_exact)
        if found is None or found.offset <= NO_OFFSET:
            return None
        return UnreadRecords(found.offset, found.offset, found.exact)

    def is_about(self, where: TopicPartition, ids: Ids, end: int) -> bool:
        """Whether runs are not certainly of former logs."""
        logs = Logs(source=ids.destination, remote=ids.origin)
        original = self._direction.destination(where)
        return original is not None and self._translation.is_about(original, logs)


class PartitionDirection(NamedTuple):
    """
    How the offsets of a partition go.

    Attributes:
        opposite: the flow that copies the same partition the other way, if one does. A group may
            have read some of what that has copied, and the rest not.
    """

    direction: FlowDirection
    destination: TopicPartition
    opposite: AgainstFlow | None = None


def direction_of(
    directions: Iterable[FlowDirection], where: TopicPartition
) -> PartitionDirection | None:
    """
    The first direction that has a partition, with its destination; None if none has.

    Where both have it, as with names that are the same both ways, it is the one with a flow.
    """
    found = [(each, to) for each in directions if (to := each.destination(where)) is not None]
    if not found:
        return None
    onward = next((each for each in found if isinstance(each[0], WithFlow)), None)
    back = next((each for each in found if isinstance(each[0], AgainstFlow)), None)
    if onward is None or back is None or onward[1] != back[1]:
        return PartitionDirection(*found[0])
    assert isinstance(back[0], AgainstFlow)  # noqa: S101 - chosen so
    return PartitionDirection(*onward, opposite=back[0])
