"""
Asks a cluster what is mirrored into it (Java: ``MirrorClient``, KIP-382, KIP-1239).

It needs nothing but the topics that are on the cluster, so it answers while their sources are down,
and no matter whether mm2 or Java's MirrorMaker has made them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta
from typing import Final, TypeAlias, overload

from mm2.client.arguments import GroupPattern, check_arguments, group_predicate
from mm2.client.remote_checkpoints import GroupCheckpoints, last_checkpoints, topic_of_checkpoints
from mm2.client.seen_heartbeats import SeenHeartbeat, read_heartbeats
from mm2.client.topology_client import TopologyClient
from mm2.core.model import ClusterAlias, GroupId, TopicPartition
from mm2.core.positions.stored_positions import newest_records
from mm2.core.topics import cycle_detection as names
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.kafka.logs.read_log import read_to_end, records_to_end

Offsets: TypeAlias = dict[TopicPartition, CommittedOffset]

TIMEOUT: Final = timedelta(seconds=60)
WINDOW: Final = timedelta(hours=1)


def _ms(duration: timedelta) -> float:
    return duration.total_seconds() * 1000


class MirrorClient(TopologyClient):
    """
    The client of one cluster, under asyncio; used as an asynchronous context.

    Its arguments and errors are those of ``TopologyClient``.
    """

    async def checkpoints(
        self,
        upstream: str,
        group: str | GroupPattern | None = None,
        timeout: timedelta | None = TIMEOUT,
    ) -> GroupCheckpoints:
        """
        The last checkpoint of each group of another cluster and each partition here.

        Args:
            group: its id, or a pattern of ids; None for all.
            timeout: what has been read by then is returned without an error, as Java's client does;
                None reads all, and fails if no record comes for a minute.

        Raises:
            UnknownTopic: there are no checkpoints of this cluster here.
        """
        check_arguments(
            remote_alias=upstream, timeout=timedelta.max if timeout is None else timeout
        )
        alias = self._config.alias
        records = records_to_end(
            alias,
            self._config.client("consumer"),
            topic_of_checkpoints(self._policy, await self.topics(), upstream, cluster=alias),
            partitions=[0],
            at_most_s=math.inf if timeout is None else timeout.total_seconds(),
        )
        return await last_checkpoints(records, group_predicate(group))

    @overload
    async def remote_consumer_offsets(
        self, group: str, remote_alias: str, timeout: timedelta = TIMEOUT
    ) -> Offsets: ...

    @overload
    async def remote_consumer_offsets(
        self, group: GroupPattern, remote_alias: str, timeout: timedelta = TIMEOUT
    ) -> dict[GroupId, Offsets]: ...

    @overload
    async def remote_consumer_offsets(
        self, group: str | GroupPattern, remote_alias: str, timeout: timedelta = TIMEOUT
    ) -> Offsets | dict[GroupId, Offsets]: ...

    async def remote_consumer_offsets(
        self,
        group: str | GroupPattern,
        remote_alias: str,
        timeout: timedelta = TIMEOUT,
    ) -> Offsets | dict[GroupId, Offsets]:
        """
        What the offsets of another cluster's groups are here (C143, C466-C468).

        Args:
            group: the id of one group, or a pattern that must match the whole of an id.
            timeout: what has been read by then is returned without an error.

        Returns:
            For one group its offsets by partition of this cluster, empty if none are known; for a
            pattern the offsets of each group that has some.

        Raises:
            UnknownTopic: there are no checkpoints of this cluster here.
        """
        check_arguments(group=group, remote_alias=remote_alias, timeout=timeout)
        found = {
            each: {where: last.committed for where, last in partitions.items()}
            for each, partitions in (await self.checkpoints(remote_alias, group, timeout)).items()
        }
        return found.get(GroupId(group), {}) if isinstance(group, str) else found

    async def heartbeats(
        self, window: timedelta | None = WINDOW, *, upstream: str | None = None
    ) -> list[SeenHeartbeat]:
        """
        The last heartbeat of each flow by each path, sorted by topic and flow.

        Args:
            window: reads heartbeats not older than this, and of a topic without any its last;
                None at all that the brokers still have, which may be many.
            upstream: only those that came from or through this cluster; None for all, also those
                that were emitted here.
        """
        topics = [
            topic
            for topic in sorted(await self.heartbeat_topics())
            if upstream is None or ClusterAlias(upstream) in names.sources_of(self._policy, topic)
        ]
        since_ms = None if window is None else self._clock() - round(_ms(window))
        return await read_heartbeats(self._config, self._admin, self._policy, topics, since_ms)

    async def is_reachable(self, upstream: str, max_age: timedelta) -> bool:
        """
        Whether a heartbeat that came from or through another cluster is not older than ``max_age``.

        So the cluster lived then, and the flows between it and this one did too.
        """
        now_ms, limit_ms = self._clock(), _ms(max_age)
        return any(
            seen.age_ms(now_ms) <= limit_ms
            for seen in await self.heartbeats(max_age, upstream=upstream)
        )

    async def lag(self, upstream: str, source: MirrorClient) -> dict[TopicPartition, int]:
        """
        How many offsets of another cluster's partitions are not known to be copied to this one.

        Counted from the positions that Connect keeps: Java's MirrorMaker writes them once a minute.
        Partitions that have no position are left out.

        Raises:
            UnknownTopic: there are no positions of this cluster here.
        """
        topic = f"mm2-offsets.{upstream}.internal"
        records = await read_to_end(
            self._config.alias, self._config.client("consumer"), topic, newest_only=True
        )
        found = newest_records(records, ClusterAlias(upstream)).offsets
        positions = {where: offset for where, offset in found.items() if offset is not None}
        ends = await source.end_offsets(positions)
        return {where: max(0, end - positions[where] - 1) for where, end in ends.items()}

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last committed record of each partition that exists."""
        return await self._admin.list_offsets(partitions, OffsetAt.LATEST, read_committed=True)
