"""
Deletes the copy of a topic that was deleted on the source (``source.topic.deleted.policy=delete``).

A copy may be all that is left of the data, so it goes only when it is certain: this flow made
it, the source is still the same cluster, answers, and says of the topic by name that it does not
exist, for a while and in several refreshes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Final

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.config.offset_topics import accepted
from mm2.core.model import TopicName
from mm2.core.policy import ReplicationPolicy
from mm2.core.topics.missing_topics import Absences
from mm2.errors import NotAuthorized
from mm2.herder.control.leader_state import LeaderState
from mm2.herder.offsets.position_store import PositionStore
from mm2.kafka.flow_clusters import FlowClusters
from mm2.protocol.memory_records import MirroredTopics, TopicMemory

log = structlog.get_logger()

_GRACE_INTERVALS: Final = 2
"""Intervals of ``refresh.topics.interval.seconds``: a topic may be about to be created again."""


class TopicDeletion:
    """
    Follows deletions of source topics.

    Args:
        memory: of the topics that the flow mirrored.
    """

    def __init__(
        self,
        config: FlowConfig,
        clusters: FlowClusters,
        *,
        policy: ReplicationPolicy,
        accepts: Callable[[TopicName], bool],
        memory: LeaderState,
    ) -> None:
        interval = config.source.refresh_topics
        grace_s = 0.0 if interval is None else _GRACE_INTERVALS * interval.total_seconds()
        self._alias = config.flow.source
        self._clusters = clusters
        self._policy = policy
        self._accepts = accepts
        self._memory = memory
        self._positions = PositionStore(config)
        self._absences = Absences(grace_s)

    async def look(self, listed: Collection[TopicName], mirrored: Collection[TopicName]) -> None:
        """
        Deletes the copies of topics that are gone for good, and forgets their positions.

        Args:
            listed: all topics of the source, as just listed.

        Raises:
            ClusterError: a cluster does not answer; nothing is decided.
        """
        cluster = await self._clusters.source.cluster_id()
        memory = await self._memory.get(TopicMemory)
        before = MirroredTopics(cluster=cluster) if memory is None else memory.document
        # Topics that the user has excluded are not ours to delete any more.
        missing = await accepted(self._accepts, set(before.topics).difference(listed))
        if missing and not listed:
            _keep(missing, "the source lists no topics at all")
            return
        if missing and cluster != before.cluster:
            _keep(missing, f"the source is another cluster now: {cluster}, not {before.cluster}")
            missing = set()
        deleted = set()
        for topic in self._absences.update(missing, time.monotonic()):
            if await self._is_gone(topic) and await self._delete(topic):
                deleted.add(topic)
        topics = tuple(sorted((missing - deleted).union(mirrored)))
        known = MirroredTopics(cluster=cluster, topics=topics)
        await self._memory.put(TopicMemory(document=known))

    async def _is_gone(self, topic: TopicName) -> bool:
        """Lists leave out what we may not see; asked by name, a cluster tells the difference."""
        try:
            return not await self._clusters.source.describe_topics([topic])
        except NotAuthorized as error:
            _keep([topic], str(error))
            return False

    async def _delete(self, topic: TopicName) -> bool:
        remote = self._policy.format_remote_topic(self._alias, topic)
        failures = await self._clusters.target.delete_topics([remote])
        if error := failures.get(remote):
            _keep([topic], str(error))
            return False
        positions = await self._positions.load()
        await self._positions.save({where: None for where in positions if where.topic == topic})
        log.warning("remote_topic.deleted", topic=remote)
        return True


def _keep(topics: Collection[TopicName], reason: str) -> None:
    log.error("remote_topic.not_deleted", topics=sorted(topics), reason=reason)
