"""
Asks a cluster what is mirrored into it (Java: ``MirrorClient``, KIP-382, KIP-1239).

It needs nothing but the topics that are on the cluster, so it answers while their sources are down,
and no matter whether mm2 or Java's MirrorMaker has made them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Final, Self, TypeAlias, overload

from mm2.client.arguments import GroupPattern, check_arguments, wanted_groups
from mm2.client.client_config import ClientConfig
from mm2.client.remote_checkpoints import GroupCheckpoints, last_checkpoints, topic_of_checkpoints
from mm2.client.seen_heartbeats import SeenHeartbeat, read_heartbeats
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.plugin import hold, release
from mm2.core.policy import ReplicationPolicy
from mm2.core.positions.stored_positions import newest_records, positions_of
from mm2.core.topics import topology as names
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.kafka.admin import Admin
from mm2.kafka.group_admin import OffsetAt
from mm2.kafka.logs.read_log import read_to_end, records_to_end

Offsets: TypeAlias = dict[TopicPartition, CommittedOffset]

TIMEOUT: Final = timedelta(seconds=60)
WINDOW: Final = timedelta(hours=1)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _ms(duration: timedelta) -> float:
    return duration.total_seconds() * 1000


class MirrorClient:
    """
    The client of one cluster, under asyncio; used as an asynchronous context.

    Nothing is connected before the first question.

    Args:
        properties: Java's client properties, with ``replication.policy.*`` as the flows into the
            cluster have them.
        alias: the cluster's, for messages; its addresses by default.
        clock: says the time in ms since the epoch.

    Raises:
        ConfigErrors: every mistake in the properties.
        ConfigError: there is no such replication policy.
    """

    def __init__(
        self,
        properties: Mapping[str, str] | ClientConfig,
        *,
        alias: str | None = None,
        clock: Callable[[], int] = _now_ms,
    ) -> None:
        self._config = (
            properties
            if isinstance(properties, ClientConfig)
            else ClientConfig.of(properties, alias=alias)
        )
        hold(self._config.properties)
        try:
            self._policy = self._config.policy()
        except BaseException:
            release(self._config.properties)
            raise
        self._admin = Admin(self._config.alias, self._config.client("admin"))
        self._clock = clock
        self._is_closed = False

    @classmethod
    def of_cluster(cls, maker: MirrorMakerConfig, alias: str) -> Self:
        """
        The client of a cluster of a file for mirroring.

        Raises:
            ConfigErrors: every mistake in what the file says of the cluster.
        """
        return cls(ClientConfig.of_cluster(maker, alias))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections, and a replication policy of the user's own that is not in use."""
        if not self._is_closed:
            self._is_closed = True
            release(self._config.properties)
        await self._admin.close()

    @property
    def replication_policy(self) -> ReplicationPolicy:
        """What names the topics."""
        return self._policy

    async def topics(self) -> set[TopicName]:
        """
        Names of all topics that we may know of, without the brokers' own.

        Raises:
            ClusterError: the cluster does not answer, or refuses (C145).
        """
        return await self._admin.list_topics()

    async def replication_hops(self, upstream: str) -> int:
        """
        By how many flows, at least, heartbeats of another cluster come here; -1 if they do not.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        return names.replication_hops(self._policy, await self.topics(), ClusterAlias(upstream))

    async def heartbeat_topics(self) -> set[TopicName]:
        """
        All topics of heartbeats, with those of the cluster itself.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        return names.heartbeat_topics(self._policy, await self.topics())

    async def checkpoint_topics(self) -> set[TopicName]:
        """
        All topics of checkpoints.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        return names.checkpoint_topics(self._policy, await self.topics())

    async def upstream_clusters(self) -> set[ClusterAlias]:
        """
        The clusters that heartbeats come from, directly or through others.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        return names.upstream_clusters(self._policy, await self.topics())

    async def remote_topics(self, source: str | None = None) -> set[TopicName]:
        """
        The topics that are copies.

        Args:
            source: only those that were copied from this cluster directly.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        alias = None if source is None else ClusterAlias(source)
        return names.remote_topics(self._policy, await self.topics(), alias)

    async def checkpoints(
        self,
        upstream: str,
        group: str | GroupPattern | None = None,
        timeout: timedelta | None = TIMEOUT,
    ) -> GroupCheckpoints:
        """
        The last checkpoint of each group of another cluster and each partition here.

        Args:
            upstream: the other cluster's alias.
            group: its id, or a pattern of ids; None for all.
            timeout: what has been read by then is returned without an error, as Java's client does;
                None reads all, and fails if no record comes for a minute.

        Raises:
            UnknownTopic: there are no checkpoints of this cluster here.
            ClusterError: the cluster does not answer, or refuses.
            InvalidArgument: an argument makes no sense.
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
        return await last_checkpoints(records, wanted_groups(group))

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
            remote_alias: the other cluster's alias.
            timeout: what has been read by then is returned without an error.

        Returns:
            For one group its offsets by partition of this cluster, empty if none are known; for a
            pattern the offsets of each group that has some.

        Raises:
            UnknownTopic: there are no checkpoints of this cluster here.
            ClusterError: the cluster does not answer, or refuses.
            InvalidArgument: an argument makes no sense.
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
            window: looks at heartbeats not older than this, and of a topic without any at its last;
                None at all that the brokers still have, which may be many.
            upstream: only those that came from or through this cluster; None for all, also those
                that were emitted here.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
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

        Raises:
            ClusterError: this cluster does not answer, or refuses.
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

        Args:
            upstream: the other cluster's alias.
            source: its client.

        Raises:
            UnknownTopic: there are no positions of this cluster here.
            ClusterError: one of the clusters does not answer, or refuses.
        """
        topic = f"mm2-offsets.{upstream}.internal"
        records = await read_to_end(
            self._config.alias, self._config.client("consumer"), topic, newest_only=True
        )
        newest = newest_records(records, ClusterAlias(upstream)).records
        positions = positions_of(((r.key, r.value) for r in newest), ClusterAlias(upstream))
        ends = await source.end_offsets(positions)
        return {where: max(0, end - positions[where] - 1) for where, end in ends.items()}

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """
        The offset behind the last committed record of each partition that exists.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        return await self._admin.list_offsets(partitions, OffsetAt.LATEST, read_committed=True)
