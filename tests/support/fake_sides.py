"""
Both clusters of a move of consumer groups in memory, a way between them, and a flow to be stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from mm2.config.flow import FlowConfig, flow_config
from mm2.config.maker import MirrorMakerConfig
from mm2.config.properties import load
from mm2.core.checkpoint import CommittedOffset
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.translation import Translated
from mm2.errors import ClusterError
from mm2.failover.fence import FlowSwitch
from mm2.failover.passages import Crossing, Ids, Passage
from mm2.failover.route import Pair, Route, Side
from mm2.herder.control import FlowState, Wanted
from mm2.kafka.admin import Admin
from mm2.kafka.errors import SecurityDisabled
from mm2.kafka.groups import Group, GroupState, GroupType
from mm2.kafka.offsets import OffsetAt

Offsets = dict[TopicPartition, CommittedOffset]

SOURCE, TARGET = ClusterAlias("A"), ClusterAlias("B")
ORIGINAL = TopicPartition(TopicName("orders"), 0)
COPY = TopicPartition(TopicName("A.orders"), 0)

_FILE = """\
clusters = A, B
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
A->B.enabled = true
A->B.topics = .*
"""


@dataclass(slots=True)
class FakeSide:
    """
    What one cluster says when groups are moved.

    Attributes:
        logs: where its partitions begin and end.
        groups: what its groups have committed; all are idle.
        others: ids of share and streams groups.
        refusal: how it answers when it is asked whether it lives; None if it does.
        failing: groups whose offsets it does not set, and why not.
    """

    logs: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    groups: dict[str, Offsets] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    refusal: ClusterError | None = None
    failing: dict[str, BaseException] = field(default_factory=dict)

    async def cluster_id(self) -> str:
        """A sign of life."""
        if self.refusal is not None:
            raise self.refusal
        return "id"

    async def list_topics(self) -> set[TopicName]:
        """All topics."""
        return {where.topic for where in self.logs}

    async def describe_topics(self, names: Iterable[TopicName]) -> dict[TopicName, SimpleNamespace]:
        """How many partitions topics have."""
        counts = {name: sum(where.topic == name for where in self.logs) for name in set(names)}
        return {name: SimpleNamespace(partitions=n) for name, n in counts.items() if n}

    async def topic_ids(self, names: Iterable[TopicName]) -> dict[TopicName, None]:
        """Brokers that know no ids."""
        return dict.fromkeys(await self.describe_topics(names))

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: OffsetAt
    ) -> dict[TopicPartition, int]:
        """Where logs begin or end."""
        return {where: self.logs[where][at is OffsetAt.LATEST] for where in partitions}

    async def list_groups(self) -> list[Group]:
        """Consumer groups."""
        return [Group(each, GroupState.EMPTY, GroupType.CLASSIC) for each in self.groups]

    async def groups_of_other_types(self) -> list[Group]:
        """Share and streams groups."""
        return [Group(each, GroupState.STABLE, GroupType.STREAMS) for each in self.others]

    async def describe_groups(self, ids: Collection[str]) -> dict[str, Group]:
        """Consumer groups that exist."""
        return {each.group_id: each for each in await self.list_groups() if each.group_id in ids}

    async def list_offsets_of_groups(self, ids: Collection[str]) -> dict[str, Offsets]:
        """What groups have committed."""
        return {each: dict(self.groups.get(each, {})) for each in ids}

    async def list_group_offsets(self, group: str) -> Offsets:
        """What a group has committed."""
        return dict(self.groups.get(group, {}))

    async def alter_group_offsets(self, group: str, offsets: Offsets) -> None:
        """Sets them, or fails."""
        if group in self.failing:
            raise self.failing[group]
        self.groups.setdefault(group, {}).update(offsets)

    async def describe_topic_acls(self) -> None:
        """Nobody has rules here."""
        raise SecurityDisabled("X", "no authorizer")

    async def describe_client_quotas(self) -> dict[str, Mapping[str, float]]:
        """Nor quotas."""
        return {}


@dataclass(frozen=True, slots=True)
class SameOffsets:
    """A passage, and what is known of it: all that is copied has the same offset there."""

    config: FlowConfig
    may_lack: bool = False

    def __hash__(self) -> int:
        return id(self)

    def destination(self, where: TopicPartition) -> TopicPartition | None:
        """Its copy."""
        return COPY if where == ORIGINAL else None

    async def look(self) -> Crossing:
        """What is known never changes."""
        return self

    def nearest(self, where: TopicPartition, offset: int) -> int | None:
        """Nothing is ever in doubt."""

    def translate(self, where: TopicPartition, offset: int) -> Translated | None:
        """The same offset, exactly."""
        return Translated(offset, exact=True)

    def speaks_of(self, where: TopicPartition, ids: Ids, end: int) -> bool:
        """Of any log."""
        return True


@dataclass(slots=True)
class FakeSwitch:
    """
    The switch of a flow that obeys at once.

    Attributes:
        now: what is wanted of the flow.
        on_stop: called when it is stopped: what happens in that instant.
        calls: what was asked.
    """

    now: Wanted = field(default_factory=lambda: Wanted(state=FlowState.RUNNING))
    on_stop: Callable[[], None] = lambda: None
    calls: list[str] = field(default_factory=list)

    async def wanted(self) -> Wanted:
        """What is wanted now."""
        return self.now

    async def why_not_copying(self) -> str | None:
        """The operator's reason, if it is stopped."""
        return self.now.reason if self.now.is_stopped else None

    async def stop(self, reason: str, *, by: str = "") -> None:
        """Stops it."""
        self.calls.append("stop")
        self.now = Wanted(state=FlowState.STOPPED, reason=reason, by=by)
        self.on_stop()
        await asyncio.sleep(0)

    async def until_stopped(self) -> None:
        """It is, as soon as it is wanted."""
        self.calls.append("wait")
        self.on_stop()

    async def resume(self, reason: str) -> None:
        """Lets it run."""
        self.calls.append("resume")
        self.now = Wanted(state=FlowState.RUNNING, reason=reason)


def switch(fake: FakeSwitch) -> FlowSwitch:
    """The fake, as a move takes it."""
    return cast("FlowSwitch", fake)


def fake_route(
    tmp_path: Path, source: FakeSide, target: FakeSide, *, is_back: bool = False
) -> Route:
    """From A to B; with ``is_back``, what is called a copy is the original there."""
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    maker = MirrorMakerConfig.of(load(file))
    config = flow_config(maker, SourceAndTarget(SOURCE, TARGET))
    sides = [
        Side(alias=alias, admin=cast("Admin", side), consumer={})
        for alias, side in ((SOURCE, source), (TARGET, target))
    ]
    passage: Passage = SameOffsets(config)
    return Route(
        pair=Pair(flow=config, opposite=None),
        is_back=is_back,
        origin=sides[0],
        destination=sides[1],
        passages=(passage,),
    )
