"""What both clusters of a flow have about groups; without the source, what the target has of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

from mm2.checkpoints.live_topic_ids import LiveTopicIds, known_ids
from mm2.client.group_survey import followed_by, known_checkpoints, read_copy_progress
from mm2.client.load_translation import load_translation
from mm2.client.remote_checkpoints import GroupCheckpoints, of_live_topics
from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.core.checks import Check
from mm2.core.failover.group_partition import GroupFacts, GroupPartition, group_partitions
from mm2.core.filters import build_topic_filter
from mm2.core.model import GroupId, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import (
    CommittedOffset,
    downstream_partition,
    upstream_partition,
)
from mm2.core.translation.offset_translation import OffsetTranslation
from mm2.errors import ClusterError
from mm2.kafka.flow_clusters import FlowClusters, admin_clients, check_reachable
from mm2.kafka.groups.group_model import Group
from mm2.kafka.groups.offset_calls import OffsetAt

Offsets: TypeAlias = dict[GroupId, Mapping[TopicPartition, CommittedOffset]]


class GroupStatus:
    """
    Reads about the groups of one flow; made by ``of``.

    What cannot be read is left out, and ``missing`` has a caution about it. Calls raise
    ``ClusterError`` if a cluster that has answered does so no more, or refuses.
    """

    def __init__(self, config: FlowConfig, clusters: FlowClusters, *, has_source: bool) -> None:
        self.flow = config.flow
        self._config = config
        self._clusters = clusters
        self._policy = build_policy(config.checkpoint.properties)
        self._topic_filter = build_topic_filter(config.checkpoint.properties)
        self.follows = followed_by(config)
        self.has_source = has_source
        self.missing: list[Check] = []

    @classmethod
    @asynccontextmanager
    async def of(cls, config: FlowConfig) -> AsyncIterator[GroupStatus]:
        """
        Opens the clients; the target must answer soon, and the source may.

        Raises:
            Unavailable: the target does not.
        """
        async with admin_clients(config) as clusters:
            status = cls(config, clusters, has_source=True)
            source, target = await asyncio.gather(
                check_reachable(clusters.source),
                check_reachable(clusters.target),
                return_exceptions=True,
            )
            if isinstance(target, BaseException):
                raise target
            if isinstance(source, ClusterError):
                status.has_source = False
                sentence = f"{source}: all that is shown is from the target"
                status.missing.append(Check.caution("source", str(config.flow), sentence))
            elif source is not None:
                raise source
            yield status

    def downstream(self, partition: TopicPartition) -> TopicPartition | None:
        """Names a partition of the source as the target does; None: its offsets do not count."""
        if not self._topic_filter.should_replicate_topic(partition.topic):
            return None
        return downstream_partition(self._policy, self.flow, partition)

    def upstream(self, partition: TopicPartition) -> TopicPartition:
        """Names a partition of the target as the source does."""
        return upstream_partition(self._policy, self.flow, partition)

    def is_copy(self, partition: TopicPartition) -> bool:
        """Whether a partition of the target is a copy of one of the source's."""
        return self._policy.topic_source(partition.topic) == self.flow.source

    async def partitions(self, is_meant: Callable[[GroupId], bool]) -> list[GroupPartition]:
        """The offsets of groups on both clusters, sorted by group and partition."""
        committed = await self.committed(is_meant, on_source=True) if self.has_source else None
        checkpoints = await self._live(
            await known_checkpoints(self._config, self._clusters.target, is_meant)
        )
        translation = await self.translation()
        groups = (checkpoints if committed is None else committed).keys()
        partitions = {where for offsets in (committed or {}).values() for where in offsets}
        facts = GroupFacts(
            now_ms=now_ms(),
            committed=committed,
            ends=await self._ends(partitions),
            positions=(await read_copy_progress(self._config, self._clusters)).positions,
            checkpoints=checkpoints,
            states=await self._states(groups),
            target_offsets=await self.committed(groups.__contains__, on_source=False),
        )
        return group_partitions(
            facts,
            downstream=self.downstream,
            upstream=self.upstream,
            translation=translation,
        )

    async def translation(self) -> OffsetTranslation | None:
        """What is known of the flow's offsets; None if that is on a source that does not answer."""
        if self._config.checkpoint.offset_syncs_location == "source" and not self.has_source:
            return None
        source = self._clusters.source if self.has_source else None
        return await load_translation(
            self._config, LiveTopicIds(self._config, source, self._clusters.target)
        )

    async def committed(self, is_meant: Callable[[GroupId], bool], *, on_source: bool) -> Offsets:
        """What groups have committed on one of the clusters, which must be there."""
        admin = self._clusters.source if on_source else self._clusters.target
        listed = [GroupId(group.group_id) for group in await admin.list_groups()]
        answers = await admin.list_offsets_of_groups([each for each in listed if is_meant(each)])
        found: Offsets = {}
        for group, offsets in answers.items():
            if isinstance(offsets, ClusterError):
                sentence = f"is left out: {offsets}"
                self.missing.append(Check.caution("offsets", f"group {group}", sentence))
            else:
                found[GroupId(group)] = offsets
        return found

    async def _live(self, found: GroupCheckpoints) -> GroupCheckpoints:
        topics = {where.topic for known in found.values() for where in known}
        return of_live_topics(found, await known_ids(self._clusters.target, topics))

    async def _ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        counted = [where for where in partitions if self.downstream(where) is not None]
        return await self._clusters.source.known_offsets(counted, OffsetAt.LATEST)

    async def _states(self, groups: Collection[GroupId]) -> dict[GroupId, str]:
        found: dict[GroupId, str] = {}
        for group, answer in (await self._clusters.target.describe_groups(groups)).items():
            if isinstance(answer, Group):
                found[GroupId(group)] = answer.state.value
            else:
                sentence = f"its state is not known: {answer}"
                self.missing.append(Check.caution("state", f"group {group}", sentence))
        return found
