"""
Asks both clusters of a flow where groups stand; without the source, what the target knows of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

from mm2.checkpoints.live_topic_ids import LiveTopicIds, known_ids
from mm2.client.client_config import ClientConfig
from mm2.client.load_translation import load_translation
from mm2.client.mirror_client import MirrorClient
from mm2.client.remote_checkpoints import GroupCheckpoints, of_live_topics
from mm2.config.flow_config import FlowConfig
from mm2.core.failover.group_lag import Facts, GroupPosition, group_positions, upstream_partition
from mm2.core.filters import build_group_filter, build_topic_filter
from mm2.core.model import GroupId, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.positions.exactly_once import MIRROR_GROUP_PREFIX
from mm2.core.translation.checkpoint_rules import CommittedOffset, downstream_partition
from mm2.core.translation.offset_translation import OffsetTranslation
from mm2.errors import ClusterError
from mm2.herder.offsets.position_store import FlowPositions
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.flow_clusters import FlowClusters, admin_clients, check_reachable
from mm2.kafka.group_admin import OffsetAt
from mm2.kafka.group_model import Group

Offsets: TypeAlias = dict[GroupId, Mapping[TopicPartition, CommittedOffset]]

_POLICY_KEYS: Final = "replication.policy"


class GroupStatus:
    """
    Asks about one flow; made by ``of``.

    What cannot be had is left out, and a sentence about it kept.

    Args:
        config: the flow.
        clusters: both.
        has_source: whether the source answers.

    Attributes:
        flow: which.
        missing: sentences about what is left out.
    """

    def __init__(self, config: FlowConfig, clusters: FlowClusters, *, has_source: bool) -> None:
        self.flow = config.flow
        self._config = config
        self._clusters = clusters
        self._policy = build_policy(config.checkpoint.properties)
        self._topic_filter = build_topic_filter(config.checkpoint.properties)
        self._group_filter = build_group_filter(config.checkpoint.properties)
        self.has_source = has_source
        self.missing: list[str] = []

    @classmethod
    @asynccontextmanager
    async def of(cls, config: FlowConfig) -> AsyncIterator[GroupStatus]:
        """
        Opens the clients; the target must answer soon, and the source may.

        Raises:
            Unavailable: the target does not.
        """
        async with admin_clients(config) as clusters:
            survey = cls(config, clusters, has_source=True)
            source, target = await asyncio.gather(
                check_reachable(clusters.source),
                check_reachable(clusters.target),
                return_exceptions=True,
            )
            if isinstance(target, BaseException):
                raise target
            if isinstance(source, ClusterError):
                survey.has_source = False
                survey.missing.append(f"{source}: all that is shown is from the target")
            elif source is not None:
                raise source
            yield survey

    def follows(self, group: GroupId) -> bool:
        """Whether the flow follows a group; groups that hold positions are nobody's."""
        return not group.startswith(
            MIRROR_GROUP_PREFIX
        ) and self._group_filter.should_replicate_group(group)

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

    async def standings(self, wanted: Callable[[GroupId], bool]) -> list[GroupPosition]:
        """
        Where groups stand.

        Raises:
            ClusterError: a cluster that has answered does so no more, or refuses.
        """
        committed = await self.committed(wanted, on_source=True) if self.has_source else None
        checkpoints = await self._believed(await known_checkpoints(self._config, wanted))
        translation = await self.translation()
        groups = (checkpoints if committed is None else committed).keys()
        partitions = {where for offsets in (committed or {}).values() for where in offsets}
        facts = Facts(
            now_ms=time.time_ns() // 1_000_000,
            committed=committed,
            ends=await self._ends(partitions),
            positions=await self._positions(),
            checkpoints=checkpoints,
            states=await self._states(groups),
            target_offsets=await self.committed(groups.__contains__, on_source=False),
        )
        return group_positions(
            facts,
            downstream=self.downstream,
            upstream=self.upstream,
            translation=translation,
        )

    async def translation(self) -> OffsetTranslation | None:
        """
        What is known of the flow's offsets; None if that is on a source that does not answer.

        Raises:
            ClusterError: a cluster that has answered does so no more, or refuses.
        """
        if self._config.checkpoint.offset_syncs_location == "source" and not self.has_source:
            return None
        source = self._clusters.source if self.has_source else None
        return await load_translation(
            self._config, LiveTopicIds(self._config, source, self._clusters.target)
        )

    async def committed(self, wanted: Callable[[GroupId], bool], *, on_source: bool) -> Offsets:
        """
        What groups have committed on one of the clusters, which must be there.

        Raises:
            ClusterError: the cluster does not answer any more, or refuses.
        """
        admin = self._clusters.source if on_source else self._clusters.target
        listed = [GroupId(group.group_id) for group in await admin.list_groups()]
        answers = await admin.list_offsets_of_groups([each for each in listed if wanted(each)])
        found: Offsets = {}
        for group, offsets in answers.items():
            if isinstance(offsets, ClusterError):
                self.missing.append(f"{offsets}: group {group} is left out")
            else:
                found[GroupId(group)] = offsets
        return found

    async def _believed(self, found: GroupCheckpoints) -> GroupCheckpoints:
        topics = {where.topic for known in found.values() for where in known}
        return of_live_topics(found, await known_ids(self._clusters.target, topics))

    async def _ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        counted = [where for where in partitions if self.downstream(where) is not None]
        return await self._clusters.source.known_offsets(counted, OffsetAt.LATEST)

    async def _positions(self) -> dict[TopicPartition, int]:
        if self._config.herder.offsets_topic not in await self._clusters.target.list_topics():
            return {}
        return await FlowPositions(self._config, self._clusters).load()

    async def _states(self, groups: Collection[GroupId]) -> dict[GroupId, str]:
        found: dict[GroupId, str] = {}
        for group, answer in (await self._clusters.target.describe_groups(groups)).items():
            if isinstance(answer, Group):
                found[GroupId(group)] = answer.state.value
            else:
                self.missing.append(f"{answer}: the state of group {group} is not known")
        return found


async def known_checkpoints(
    config: FlowConfig, wanted: Callable[[GroupId], bool]
) -> GroupCheckpoints:
    """
    The flow's checkpoints as they stand on its target; none if it has no topic for them.

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    settings = config.checkpoint
    policy = {k: v for k, v in settings.properties.items() if k.startswith(_POLICY_KEYS)}
    consumer = settings.target_consumer("checkpoints-target-consumer")
    async with MirrorClient(ClientConfig({**policy, **consumer}, config.flow.target)) as client:
        try:
            found = await client.checkpoints(config.flow.source, timeout=None)
        except UnknownTopic:
            return {}
    return {group: known for group, known in found.items() if wanted(group)}


async def checkpoints_now(
    config: FlowConfig, wanted: Callable[[GroupId], bool]
) -> GroupCheckpoints:
    """
    As ``known_checkpoints``, of a target that must answer soon.

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    async with admin_clients(config) as clusters:
        await check_reachable(clusters.target)
        return await known_checkpoints(config, wanted)
