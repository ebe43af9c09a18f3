"""
Both clusters of a flow in memory, as failover sees them.

``tests/integration/test_failover.py`` holds it against real brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from uuid import UUID

from mm2.client.group_survey import ClusterClients
from mm2.config.flow_config import flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.properties import load
from mm2.core.failover.copy_progress import CopyProgress
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.topics.topic_plan import TopicDescription
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import OffsetTranslation, RunStore
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import Block, Logs, Run, Runs
from mm2.errors import ClusterError
from mm2.failover.directions import (
    AgainstFlow,
    ForwardMapping,
    OffsetMapping,
    ReverseMapping,
    WithFlow,
)
from mm2.failover.empty_ranges import FirstRecords
from mm2.failover.move_route import MoveRoute, Pair, pair_of
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import SecurityDisabled
from mm2.kafka.flow_clusters import FlowClusters
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.kafka.logs.first_records import Range
from mm2.kafka.logs.records import Record
from tests.support.configs import TWO_CLUSTERS_TEXT
from tests.support.fake_groups import FakeGroups, Offsets

A, B = ClusterAlias("A"), ClusterAlias("B")


def at(topic: str, partition: int = 0) -> TopicPartition:
    """A partition."""
    return TopicPartition(TopicName(topic), partition)


def runs(where: TopicPartition, *all_: tuple[int, int, int], logs: Logs = Logs()) -> RunStore:  # noqa: B008 - it is frozen
    """A store with the runs of one partition."""
    return _stored(where, Block(all_[0][0], all_[-1][0] + all_[-1][2], _runs(*all_), logs))


def told(where: TopicPartition, start: int, end: int, *all_: tuple[int, int, int]) -> RunStore:
    """A store that tells all offsets of one partition from the start to the end."""
    return _stored(where, Block(start, end, _runs(*all_)))


def _stored(where: TopicPartition, block: Block) -> RunStore:
    store = RunStore()
    store.handle(encode_key(where, block.start), encode_value(block))
    return store


def _runs(*all_: tuple[int, int, int]) -> Runs:
    return Runs(map(Run._make, all_))


@dataclass(slots=True)
class FakeSide(FakeGroups):
    """
    One cluster.

    Attributes:
        logs: where the logs of its partitions begin and end.
        gaps: offsets without records, as markers take.
        looks: what was asked at once about records, each time.
        refusal: how it answers when it is asked whether it lives; None if it does.
        failing_commits: groups whose offsets it does not set, and why not.
    """

    logs: dict[TopicPartition, Range] = field(default_factory=dict)
    gaps: set[tuple[TopicPartition, int]] = field(default_factory=set)
    looks: list[Mapping[TopicPartition, Range]] = field(default_factory=list)
    refusal: ClusterError | None = None
    failing_commits: dict[str, BaseException] = field(default_factory=dict)

    def side(self) -> ClusterClients:
        """As failover takes it."""
        return ClusterClients(
            alias=ClusterAlias(self.alias), admin=cast("Admin", self), consumer={}
        )

    async def cluster_id(self, *, within_s: float | None = None) -> str:
        """A sign of life."""
        if self.refusal is not None:
            raise self.refusal
        return "id"

    async def list_topics(self) -> set[TopicName]:
        """All topics."""
        return {where.topic for where in self.logs}

    async def describe_topics(
        self, names: Iterable[TopicName]
    ) -> dict[TopicName, TopicDescription]:
        """Those that exist."""
        numbers = {name: [w.partition for w in self.logs if w.topic == name] for name in names}
        return {
            name: TopicDescription(name, 1 + max(found)) for name, found in numbers.items() if found
        }

    async def topic_ids(self, names: Iterable[TopicName]) -> dict[TopicName, UUID | None]:
        """Ids of those that exist."""
        return {name: self.ids.get(name) for name in await self.describe_topics(names)}

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], which: OffsetAt
    ) -> dict[TopicPartition, int]:
        """Where logs begin or end."""
        index = 0 if which is OffsetAt.EARLIEST else 1
        return {where: self.logs[where][index] for where in partitions}

    async def list_group_offsets(self, group_id: str) -> Offsets:
        """What a group has committed."""
        return dict(self.offsets.get(group_id, {}))

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Commits offsets for a group, or fails."""
        if group_id in self.failing_commits:
            raise self.failing_commits[group_id]
        await FakeGroups.alter_group_offsets(self, group_id, offsets)

    async def describe_topic_acls(self) -> None:
        """Nobody has rules here."""
        raise SecurityDisabled(self.alias, "no authorizer")

    async def describe_client_quotas(self) -> dict[str, Mapping[str, float]]:
        """Nor quotas."""
        return {}

    async def first_records(
        self, ranges: Mapping[TopicPartition, Range]
    ) -> dict[TopicPartition, Record | None]:
        """The first record in each range."""
        self.looks.append(dict(ranges))
        return {where: self._first(where, each) for where, each in ranges.items()}

    def _first(self, where: TopicPartition, wanted: Range) -> Record | None:
        held = range(max(wanted[0], self.logs[where][0]), min(wanted[1], self.logs[where][1]))
        found = next((offset for offset in held if (where, offset) not in self.gaps), None)
        if found is None:
            return None
        return Record(
            topic=where.topic,
            partition=where.partition,
            offset=found,
            timestamp_ms=0,
            key=None,
            value=None,
        )


@dataclass
class Known:
    """What the flow A->B has written down."""

    copied: CopyProgress = field(default_factory=CopyProgress)
    runs: RunStore = field(default_factory=RunStore)

    def translation(self) -> OffsetTranslation:
        """Of its offsets."""
        syncs = OffsetSyncStore(must_read_to_end=False)
        syncs.backlog_read()
        self.runs.backlog_read()
        return OffsetTranslation(syncs, self.runs)


class _With(WithFlow):
    known: Known

    async def copied(self) -> CopyProgress:
        return self.known.copied

    async def read(self) -> OffsetMapping:
        return ForwardMapping(self.known.copied, self.known.translation())


class _Against(AgainstFlow):
    known: Known

    async def read(self) -> ReverseMapping:
        return ReverseMapping(self, self.known.translation())


def forth(folder: Path, a: FakeSide, b: FakeSide, known: Known, *more: str) -> MoveRoute:
    """The route of groups that leave A."""
    pair = _pair(folder, *more)
    direction = _With(pair.flow, FlowClusters(cast("Admin", a), cast("Admin", b)))
    direction.known = known
    return MoveRoute(
        pair=pair, is_back=False, origin=a.side(), destination=b.side(), directions=(direction,)
    )


def back(folder: Path, a: FakeSide, b: FakeSide, known: Known, *more: str) -> MoveRoute:
    """The route of groups that come home."""
    pair = _pair(folder, *more)
    direction = _Against(pair.flow)
    direction.known = known
    return MoveRoute(
        pair=pair, is_back=True, origin=b.side(), destination=a.side(), directions=(direction,)
    )


_SAME_NAMES = (
    "replication.policy.class = IdentityReplicationPolicy",
    "provenance.headers.enabled = true",
    "B->A.enabled = true",
    "B->A.topics = .*",
)


def both_ways(
    folder: Path,
    a: FakeSide,
    b: FakeSide,
    known: Known,
    opposite: Known,
    *more: str,
    is_back: bool = False,
) -> MoveRoute:
    """
    The route of groups that leave A, or come home, where both flows keep the names of topics.

    Args:
        opposite: what the flow B->A has written down.
    """
    pair = _pair(folder, *_SAME_NAMES, *more)
    assert pair.opposite is not None
    here, there = (b, a) if is_back else (a, b)
    clusters = FlowClusters(cast("Admin", here), cast("Admin", there))
    onward = _With(pair.opposite if is_back else pair.flow, clusters)
    onward.known = opposite if is_back else known
    against = _Against(pair.flow if is_back else pair.opposite)
    against.known = known if is_back else opposite
    return MoveRoute(
        pair=pair,
        is_back=is_back,
        origin=here.side(),
        destination=there.side(),
        directions=(against, onward) if is_back else (onward, against),
    )


class FirstRecordQuery:
    """Looks for records on these clusters."""

    def __init__(self, *sides: FakeSide) -> None:
        self._sides = {side.alias: side for side in sides}

    def __call__(self, side: ClusterClients, *, read_committed: bool) -> FirstRecords:
        """Returns what finds first records."""
        return self._sides[side.alias].first_records


def maker_in(folder: Path, *more: str) -> MirrorMakerConfig:
    """The configuration of a file with the flow A->B, and more lines."""
    file = folder / "mm2.properties"
    lines = ("A->B.enabled = true", "A->B.topics = .*", *more)
    file.write_text(TWO_CLUSTERS_TEXT + "\n".join(lines) + "\n")
    return MirrorMakerConfig.of(load(file))


def _pair(folder: Path, *more: str) -> Pair:
    maker = maker_in(folder, *more)
    return pair_of(maker, flow_config(maker, SourceAndTarget(A, B)))
