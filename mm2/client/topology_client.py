"""What the names of a cluster's topics tell about mirroring into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

from mm2.client.client_config import ClientConfig
from mm2.clock import now_ms
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.plugin import hold, release
from mm2.core.policy import ReplicationPolicy
from mm2.core.topics import cycle_detection as names
from mm2.kafka.admin import Admin


class TopologyClient:
    """
    The part of ``MirrorClient`` that needs nothing but the list of topics; used as a context.

    Nothing is connected before the first question. Questions raise ``ClusterError`` if the cluster
    does not answer, or refuses (C145), and ``InvalidArgument`` if an argument makes no sense.

    Args:
        properties: Java's client properties, with ``replication.policy.*`` as the flows into the
            cluster have them.
        alias: the cluster's, for messages; its addresses by default.
        clock: returns ms since the epoch.

    Raises:
        ConfigErrors: every mistake in the properties.
        ConfigError: there is no such replication policy.
    """

    def __init__(
        self,
        properties: Mapping[str, str] | ClientConfig,
        *,
        alias: str | None = None,
        clock: Callable[[], int] = now_ms,
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
            ConfigErrors: every mistake in what the file has about the cluster.
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
        """Names of all topics that we may see, without the brokers' own."""
        return await self._admin.list_topics()

    async def replication_hops(self, upstream: str) -> int:
        """By how many flows at least another cluster's heartbeats come here; -1 if they do not."""
        return names.replication_hops(self._policy, await self.topics(), ClusterAlias(upstream))

    async def heartbeat_topics(self) -> set[TopicName]:
        """All topics of heartbeats, with those of the cluster itself."""
        return names.heartbeat_topics(self._policy, await self.topics())

    async def checkpoint_topics(self) -> set[TopicName]:
        """All topics of checkpoints."""
        return names.checkpoint_topics(self._policy, await self.topics())

    async def upstream_clusters(self) -> set[ClusterAlias]:
        """The clusters that heartbeats come from, directly or through others."""
        return names.upstream_clusters(self._policy, await self.topics())

    async def remote_topics(self, source: str | None = None) -> set[TopicName]:
        """
        The topics that are copies.

        Args:
            source: only those that were copied from this cluster directly.
        """
        alias = None if source is None else ClusterAlias(source)
        return names.remote_topics(self._policy, await self.topics(), alias)
