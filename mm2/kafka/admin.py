"""
Looks at a cluster and changes it: topics, partitions, settings, ACLs.

Calls take many names at once and answer for each: what failed for one item is returned or left out,
what failed for all is raised. Every call ends within the client's timeout.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from aiokafka.protocol.admin import DescribeClientQuotasRequest

from mm2.core.model import TopicName
from mm2.core.topics.acls import AclBinding
from mm2.core.topics.remote_configs import AlterConfig, ConfigEntry
from mm2.core.topics.topic_plan import CreateTopic, GrowTopic, TopicDescription
from mm2.errors import ClusterError, NotAuthorized
from mm2.kafka.client_errors import NotSupported, TopicExists, from_code
from mm2.kafka.client_settings import milliseconds
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.cluster_survey import ClusterSurvey
from mm2.kafka.groups.coordinators import Coordinators
from mm2.kafka.groups.offset_calls import OffsetCalls
from mm2.kafka.logs.log_ends import LogEnds
from mm2.kafka.topic_acls import create_acls, delete_acls, topic_acls
from mm2.kafka.topic_changes import (
    TopicFailures,
    create_partitions,
    create_topics,
    delete_topics,
)
from mm2.kafka.topic_configs import alter_topic_configs, topic_configs
from mm2.kafka.topic_metadata import TopicMetadataClient, topic_description
from mm2.kafka.wire.error_codes import Code

log = structlog.get_logger()

_LIST_QUOTAS: Final = "list quotas"
_DEFAULT: Final = "<default>"

KAFKA_INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
"""Topics of the brokers' own, which Java's ``listTopics`` leaves out (``Topic.isInternal``)."""

_TIMEOUT_MS: Final = 60_000


class Admin(OffsetCalls):
    """
    The admin client of one cluster, under asyncio.

    Nothing is connected before the first call. Groups and offsets are in ``OffsetCalls``. All calls
    raise ``ClusterError`` if the cluster does not answer, or refuses us.

    Args:
        properties: Java's client properties; ``default.api.timeout.ms`` limits each call.
    """

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        timeout_ms = milliseconds(properties, "default.api.timeout.ms", _TIMEOUT_MS)
        timeout_s = timeout_ms / 1000
        link = ClusterClient(alias, properties)
        catalogue = TopicMetadataClient(link, timeout_s)
        super().__init__(Coordinators(link, timeout_s), LogEnds(link, catalogue, timeout_s))
        self.alias = alias
        self._link = link
        self._catalogue = catalogue
        self._timeout_s = timeout_s
        self._properties = dict(properties)

    @property
    def servers(self) -> str:
        """Where the cluster is, as the client's properties say."""
        return self._properties.get("bootstrap.servers", "")

    @property
    def survey(self) -> ClusterSurvey:
        """Asks what one has to know before a mirror runs."""
        return ClusterSurvey(self._link, self._timeout_s)

    async def close(self) -> None:
        """Closes all connections."""
        await self._link.close()

    async def cluster_id(self, *, within_s: float | None = None) -> str:
        """
        The cluster's id: the cheapest question to a cluster.

        Args:
            within_s: the time that it may take; None for that of other calls.
        """
        return await self._catalogue.cluster_id(within_s=within_s)

    async def list_topics(self, *, internal: bool = False) -> set[TopicName]:
        """
        Names of all topics that we may know of.

        Args:
            internal: with Kafka's own, such as ``__consumer_offsets``.
        """
        names = await self._catalogue.names()
        return names if internal else {name for name in names if name not in KAFKA_INTERNAL}

    async def describe_topics(
        self, names: Iterable[TopicName]
    ) -> dict[TopicName, TopicDescription]:
        """The topics that exist among ``names``; others are left out."""
        found = await self._catalogue.describe(names)
        return {name: topic_description(topic) for name, topic in found.items()}

    async def topic_ids(self, names: Iterable[TopicName]) -> dict[TopicName, UUID | None]:
        """
        Ids of the topics that exist: a topic that was deleted and made anew has another one.

        Brokers before 3.1 tell none.
        """
        found = await self._catalogue.describe(names)
        return {name: topic.topic_id for name, topic in found.items()}

    async def create_topics(
        self, topics: Iterable[CreateTopic], *, validate_only: bool = False
    ) -> TopicFailures:
        """Creates topics; returns what failed, by name. One that exists is a ``TopicExists``."""
        return await create_topics(self._link, topics, self._timeout_s, validate_only=validate_only)

    async def create_internal_topic(
        self,
        name: str,
        *,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
    ) -> bool:
        """
        Creates a topic that we need for ourselves, and tells whether it was missing.

        One that exists is left as it is (C327). If the cluster does not let us create topics, or
        cannot, somebody is taken to have made it for us (C328).

        Raises:
            ClusterError: any other failure (C329).
        """
        topic = CreateTopic(
            name=TopicName(name),
            partitions=partitions,
            replication_factor=replication_factor,
            configs=configs,
        )
        failure = (await self.create_topics([topic])).get(topic.name)
        if failure is None:
            return True
        if isinstance(failure, NotAuthorized | NotSupported):
            log.debug("internal_topic.assumed", topic=name, error=str(failure))
        elif not isinstance(failure, TopicExists):
            raise failure
        return False

    async def create_partitions(
        self, topics: Iterable[GrowTopic], *, validate_only: bool = False
    ) -> TopicFailures:
        """Gives topics more partitions, or only asks; returns what failed, by name."""
        return await create_partitions(
            self._link, topics, self._timeout_s, validate_only=validate_only
        )

    async def delete_topics(self, names: Collection[TopicName]) -> TopicFailures:
        """Deletes topics; returns what failed, by name. One that does not exist is no failure."""
        return await delete_topics(self._link, names, self._timeout_s)

    async def describe_configs(
        self, topics: Iterable[TopicName]
    ) -> dict[TopicName, list[ConfigEntry]]:
        """
        All settings of the topics, with where each comes from; topics that are gone are left out.

        Raises:
            NotAuthorized: for the first topic whose settings we may not see (C184).
        """
        return await topic_configs(self._link, topics, self._timeout_s)

    async def incremental_alter_configs(
        self, changes: Iterable[AlterConfig], *, validate_only: bool = False
    ) -> TopicFailures:
        """
        Sets and deletes settings of topics, leaving all others; returns what failed, by topic.

        Raises:
            NotSupported: the cluster is older than this operation (C183).
        """
        return await alter_topic_configs(
            self._link, changes, self._timeout_s, validate_only=validate_only
        )

    async def describe_topic_acls(self) -> list[AclBinding]:
        """
        All rules about topics, of every pattern type (C186).

        Raises:
            SecurityDisabled: the cluster has no authorizer.
        """
        return await topic_acls(self._link, self._timeout_s)

    async def describe_client_quotas(self) -> dict[str, dict[str, float]]:
        """
        Limits of all clients, by the client that they are for, such as ``user=x``.

        Raises:
            NotSupported: the cluster is older than this question.
        """
        return await _client_quotas(self._link, self._timeout_s)

    async def create_acls(self, bindings: Iterable[AclBinding]) -> dict[AclBinding, ClusterError]:
        """Creates rules; those that exist are no failure. Returns what failed, by rule."""
        return await create_acls(self._link, bindings, self._timeout_s)

    async def delete_acls(self, bindings: Iterable[AclBinding]) -> dict[AclBinding, ClusterError]:
        """Deletes exactly these rules; those that are gone are no failure. Returns what failed."""
        return await delete_acls(self._link, bindings, self._timeout_s)


async def _client_quotas(link: ClusterClient, timeout_s: float) -> dict[str, dict[str, float]]:
    """All limits by the client that they are for, such as ``client-id=x, user=y``."""
    request = DescribeClientQuotasRequest([], strict=False)
    ask = partial(link.send, None, _LIST_QUOTAS, request)
    answer = await link.retry(_LIST_QUOTAS, ask, within_s=timeout_s)
    if answer.error_code != Code.NONE:
        raise from_code(link.alias, answer.error_code, _LIST_QUOTAS, answer.error_message)
    return {_entity_name(entity): dict(values) for entity, values in answer.entries or []}


def _entity_name(entity: list[Any]) -> str:
    parts = sorted((kind, _DEFAULT if name is None else name) for kind, name in entity)
    return ", ".join(f"{kind}={name}" for kind, name in parts)
