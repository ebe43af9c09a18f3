"""
A cluster's consumer groups in memory, as the checkpoint flow sees them.

``tests/integration/test_many_groups.py`` holds it against real brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.client_errors import GroupInUse
from mm2.kafka.groups.group_model import Group, GroupState, GroupType
from mm2.kafka.groups.offset_calls import OffsetAt

Offsets = dict[TopicPartition, CommittedOffset]


@dataclass(slots=True)
class FakeGroups:
    """
    The groups of one cluster.

    Attributes:
        alias: the cluster's.
        groups: those that exist.
        others: share and streams groups.
        offsets: what groups have committed.
        ends: where logs end, of partitions that exist.
        ids: of topics that exist.
        failing: groups about which the cluster does not answer.
        is_away: whether it answers nothing.
        tells_topics: whether it answers anything about topics.
        before_commit: called when offsets are about to be set: what others do in that instant.
        after_commit: called when they have just been set.
    """

    alias: str
    groups: dict[str, Group] = field(default_factory=dict)
    others: list[Group] = field(default_factory=list)
    offsets: dict[str, Offsets] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    ids: dict[str, UUID | None] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    is_away: bool = False
    tells_topics: bool = True
    before_commit: Callable[[], None] = lambda: None
    after_commit: Callable[[], None] = lambda: None

    def put(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int] | None = None,
        state: GroupState = GroupState.EMPTY,
        epoch: int = -1,
    ) -> None:
        """Makes a group, or changes it."""
        kind = GroupType.CLASSIC if epoch < 0 else GroupType.CONSUMER
        self.groups[group] = Group(group, state, kind, epoch)
        self.offsets.setdefault(group, {}).update(
            {where: CommittedOffset(offset) for where, offset in (offsets or {}).items()}
        )

    async def list_groups(self) -> list[Group]:
        """All consumer groups."""
        self._answer()
        return sorted(self.groups.values())

    async def groups_of_other_types(self) -> list[Group]:
        """Share and streams groups."""
        self._answer()
        return self.others

    async def list_offsets_of_groups(
        self, group_ids: Iterable[str]
    ) -> dict[str, Offsets | ClusterError]:
        """What groups have committed."""
        return {each: self._failure(each) or dict(self.offsets.get(each, {})) for each in group_ids}

    async def describe_groups(self, group_ids: Iterable[str]) -> dict[str, Group | ClusterError]:
        """The groups that exist."""
        return {
            each: self._failure(each) or self.groups[each]
            for each in group_ids
            if each in self.groups or self._failure(each)
        }

    async def topic_ids(self, names: Iterable[TopicName]) -> dict[TopicName, UUID | None]:
        """Ids of the topics that exist."""
        self._answer_about_topics()
        return {name: self.ids[name] for name in names if name in self.ids}

    async def known_offsets(
        self, partitions: Iterable[TopicPartition], at: OffsetAt
    ) -> dict[TopicPartition, int]:
        """Where logs end; all begin at 0."""
        self._answer_about_topics()
        ends = {each: self.ends[each] for each in partitions if each in self.ends}
        return ends if at is OffsetAt.LATEST else dict.fromkeys(ends, 0)

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Commits offsets for a group without members."""
        self.before_commit()
        if failure := self._failure(group_id):
            raise failure
        if group_id in self.groups and self.groups[group_id].state is not GroupState.EMPTY:
            raise GroupInUse(self.alias, f"{group_id} has members")
        self.groups.setdefault(group_id, Group(group_id, GroupState.EMPTY, GroupType.CLASSIC))
        self.offsets.setdefault(group_id, {}).update(offsets)
        self.after_commit()

    def _answer(self) -> None:
        if self.is_away:
            raise Unavailable(self.alias, "no answer")

    def _answer_about_topics(self) -> None:
        self._answer()
        if not self.tells_topics:
            raise Unavailable(self.alias, "no answer about topics")

    def _failure(self, group_id: str) -> Unavailable | None:
        is_failing = self.is_away or group_id in self.failing
        return Unavailable(self.alias, f"no answer about {group_id}") if is_failing else None
