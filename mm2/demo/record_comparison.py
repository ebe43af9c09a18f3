"""
Compares what a cluster has with its copy on the other, record by record.

Keys, values, headers, timestamps and their kind, partitions, order, and the codec of the batch that
holds each record. Goes on where it stopped, so it may run beside the traffic for as long as that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from mm2.core.model import SourceAndTarget, TopicName, TopicPartition
from mm2.demo.raw_batches import RawRecord
from mm2.demo.raw_cluster import RawCluster


@dataclass(slots=True)
class _Pair:
    """A partition and its copy, compared up to two offsets."""

    source: TopicPartition
    remote: TopicPartition
    source_at: int = 0
    remote_at: int = 0


@dataclass(slots=True, kw_only=True)
class Verification:
    """
    The comparison of one flow.

    Args:
        flow: which.
        topics: topics of the source, with their number of partitions.

    Attributes:
        equal: records found to be equal.
        differences: what differs, for people; comparing a partition ends at its first one.
    """

    flow: SourceAndTarget
    topics: Mapping[str, int]
    equal: int = 0
    differences: list[str] = field(default_factory=list)
    _pairs: list[_Pair] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._pairs = [
            _Pair(
                TopicPartition(TopicName(topic), number),
                TopicPartition(TopicName(f"{self.flow.source}.{topic}"), number),
            )
            for topic, count in self.topics.items()
            for number in range(count)
        ]

    @property
    def remotes(self) -> dict[str, int]:
        """The copies, with their number of partitions."""
        return {f"{self.flow.source}.{topic}": count for topic, count in self.topics.items()}

    async def proceed(self, source: RawCluster, target: RawCluster) -> int:
        """Compares what is new; returns how many records the copy still lacks."""
        # In this order: a copy made in between must not look like a record that nobody wrote.
        remote_ends = await target.ends(self.remotes)
        source_ends = await source.ends(self.topics)
        missing = 0
        for pair in list(self._pairs):
            if remote_ends.get(pair.remote, 0) > pair.remote_at:
                await self._proceed(pair, source, target)
            missing += source_ends.get(pair.source, 0) - pair.source_at
            if pair.source_at >= source_ends.get(pair.source, 0):
                self._nothing_more(pair, remote_ends.get(pair.remote, 0))
        return missing

    async def _proceed(self, pair: _Pair, source: RawCluster, target: RawCluster) -> None:
        written = await source.read(pair.source, pair.source_at)
        copied = await target.read(pair.remote, pair.remote_at) if written else []
        for ours, theirs in zip(written, copied, strict=False):
            if differing := differing_fields(ours, theirs):
                self._differ(pair, f"{pair.source} at {ours.offset}", f"differs in {differing}")
                return
            self.equal += 1
            pair.source_at, pair.remote_at = ours.offset + 1, theirs.offset + 1

    def _nothing_more(self, pair: _Pair, remote_end: int) -> None:
        if remote_end > pair.remote_at and pair in self._pairs:
            more = remote_end - pair.remote_at
            self._differ(pair, str(pair.source), f"{more} records more than were written")

    def _differ(self, pair: _Pair, where: str, what: str) -> None:
        self.differences.append(
            f"{self.flow}: {where} -> {pair.remote} at {pair.remote_at}: {what}"
        )
        self._pairs.remove(pair)


def differing_fields(ours: RawRecord, theirs: RawRecord) -> str:
    """What of two records differs, where they lie aside; empty if nothing does."""
    fields = [each.name for each in dataclasses.fields(RawRecord) if each.name != "offset"]
    return ", ".join(
        f"{name}: {_short(getattr(ours, name))} became {_short(getattr(theirs, name))}"
        for name in fields
        if getattr(ours, name) != getattr(theirs, name)
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
