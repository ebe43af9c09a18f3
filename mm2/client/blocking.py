"""
The client for programs without an event loop: the same questions, each waited for.

    with blocking.MirrorClient({"bootstrap.servers": "b:9092"}) as client:
        offsets = client.remote_consumer_offsets("billing", "A")
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Self, overload

from mm2.client import mirror_client, remote_cluster_utils
from mm2.client.arguments import GroupPattern
from mm2.client.client_config import ClientConfig
from mm2.client.mirror_client import TIMEOUT, WINDOW, Offsets
from mm2.client.remote_checkpoints import GroupCheckpoints
from mm2.client.seen_heartbeats import SeenHeartbeat
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy


class MirrorClient:
    """
    ``mm2.client.MirrorClient`` with an event loop of its own.

    Not to be used by several threads at a time, nor inside of an event loop. Questions, answers and
    errors are those of the methods of the same names there.

    Args:
        alias: the cluster's, for messages; its addresses by default.
    """

    def __init__(
        self, properties: Mapping[str, str] | ClientConfig, *, alias: str | None = None
    ) -> None:
        self._client = mirror_client.MirrorClient(properties, alias=alias)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections and the event loop; nothing can be asked any more."""
        self._runner.run(self._client.close())
        self._runner.close()

    @property
    def replication_policy(self) -> ReplicationPolicy:
        """What names the topics."""
        return self._client.replication_policy

    def topics(self) -> set[TopicName]:
        """Names of all topics."""
        return self._runner.run(self._client.topics())

    def replication_hops(self, upstream: str) -> int:
        """By how many flows heartbeats of another cluster come here; -1 if they do not."""
        return self._runner.run(self._client.replication_hops(upstream))

    def heartbeat_topics(self) -> set[TopicName]:
        """All topics of heartbeats."""
        return self._runner.run(self._client.heartbeat_topics())

    def checkpoint_topics(self) -> set[TopicName]:
        """All topics of checkpoints."""
        return self._runner.run(self._client.checkpoint_topics())

    def upstream_clusters(self) -> set[ClusterAlias]:
        """The clusters that heartbeats come from."""
        return self._runner.run(self._client.upstream_clusters())

    def remote_topics(self, source: str | None = None) -> set[TopicName]:
        """The topics that are copies."""
        return self._runner.run(self._client.remote_topics(source))

    def checkpoints(
        self,
        upstream: str,
        group: str | GroupPattern | None = None,
        timeout: timedelta | None = TIMEOUT,
    ) -> GroupCheckpoints:
        """The last checkpoint of each group of another cluster and each partition here."""
        return self._runner.run(self._client.checkpoints(upstream, group, timeout))

    @overload
    def remote_consumer_offsets(
        self, group: str, remote_alias: str, timeout: timedelta = TIMEOUT
    ) -> Offsets: ...

    @overload
    def remote_consumer_offsets(
        self, group: GroupPattern, remote_alias: str, timeout: timedelta = TIMEOUT
    ) -> dict[GroupId, Offsets]: ...

    def remote_consumer_offsets(
        self, group: str | GroupPattern, remote_alias: str, timeout: timedelta = TIMEOUT
    ) -> Offsets | dict[GroupId, Offsets]:
        """What the offsets of another cluster's groups are here."""
        return self._runner.run(self._client.remote_consumer_offsets(group, remote_alias, timeout))

    def heartbeats(
        self, window: timedelta | None = WINDOW, *, upstream: str | None = None
    ) -> list[SeenHeartbeat]:
        """The last heartbeat of each flow by each path."""
        return self._runner.run(self._client.heartbeats(window, upstream=upstream))

    def is_reachable(self, upstream: str, max_age: timedelta) -> bool:
        """Whether a heartbeat of another cluster is not older than ``max_age``."""
        return self._runner.run(self._client.is_reachable(upstream, max_age))

    def lag(self, upstream: str, source: MirrorClient) -> dict[TopicPartition, int]:
        """How many offsets of another cluster are not known to be copied to this one."""
        return self._runner.run(self._client.lag(upstream, source._client))

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last committed record of each partition that exists."""
        return self._runner.run(self._client.end_offsets(partitions))


def replication_hops(properties: Mapping[str, str], upstream: str) -> int:
    """As ``remote_cluster_utils.replication_hops``."""
    return asyncio.run(remote_cluster_utils.replication_hops(properties, upstream))


def heartbeat_topics(properties: Mapping[str, str]) -> set[TopicName]:
    """As ``remote_cluster_utils.heartbeat_topics``."""
    return asyncio.run(remote_cluster_utils.heartbeat_topics(properties))


def checkpoint_topics(properties: Mapping[str, str]) -> set[TopicName]:
    """As ``remote_cluster_utils.checkpoint_topics``."""
    return asyncio.run(remote_cluster_utils.checkpoint_topics(properties))


def upstream_clusters(properties: Mapping[str, str]) -> set[ClusterAlias]:
    """As ``remote_cluster_utils.upstream_clusters``."""
    return asyncio.run(remote_cluster_utils.upstream_clusters(properties))


@overload
def translate_offsets(
    properties: Mapping[str, str], remote_alias: str, group: str, timeout: timedelta = TIMEOUT
) -> Offsets: ...


@overload
def translate_offsets(
    properties: Mapping[str, str],
    remote_alias: str,
    group: GroupPattern,
    timeout: timedelta = TIMEOUT,
) -> dict[GroupId, Offsets]: ...


def translate_offsets(
    properties: Mapping[str, str],
    remote_alias: str,
    group: str | GroupPattern,
    timeout: timedelta = TIMEOUT,
) -> Offsets | dict[GroupId, Offsets]:
    """As ``remote_cluster_utils.translate_offsets``."""
    return asyncio.run(
        remote_cluster_utils.translate_offsets(properties, remote_alias, group, timeout)
    )
