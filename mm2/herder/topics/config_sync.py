"""
Brings settings of topics to the target.

A cluster refuses all settings of a topic for one that it does not know or allow. Here such a
setting is found and reported, and the others are applied.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from itertools import chain, groupby
from operator import attrgetter

import structlog

from mm2.core.filters import ConfigPropertyFilter
from mm2.core.model import TopicName
from mm2.core.topics.remote_configs import AlterConfig, ConfigEntry, config_alterations
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import NotSupported, Refused
from mm2.kafka.flow_clusters import FlowClusters

log = structlog.get_logger()


class TopicSettings:
    """Keeps the settings of a flow's remote topics."""

    def __init__(self, clusters: FlowClusters, property_filter: ConfigPropertyFilter) -> None:
        self._source = clusters.source
        self._target = clusters.target
        self._filter = property_filter
        self._reported: set[AlterConfig] = set()
        self._is_supported = True

    async def sync(self, remotes: Mapping[TopicName, TopicName]) -> None:
        """
        Makes the settings of remote topics follow those of their sources (C175-C182).

        A target that is too old for that is logged once, and not asked again (C183).

        Args:
            remotes: source topics, each with its copy, which must exist.

        Raises:
            ClusterError: a cluster does not answer, or refuses all.
        """
        if not self._is_supported:
            return
        if alterations := await self.changes(remotes):
            try:
                failures = await alter_configs(self._target, alterations)
            except NotSupported as error:
                self._is_supported = False
                log.error(
                    "topic_configs.not_supported", cluster=self._target.alias, error=str(error)
                )
                return
            self._report(failures)
            log.info("topic_configs.synced", changes=len(alterations), failed=len(failures))

    async def changes(self, remotes: Mapping[TopicName, TopicName]) -> list[AlterConfig]:
        """What ``sync`` would change."""
        if not remotes:
            return []
        desired = await self._source.describe_configs(remotes)
        current = await self._target.describe_configs(remotes.values())
        return await asyncio.to_thread(self._alterations, remotes, desired, current)

    def _alterations(
        self,
        remotes: Mapping[TopicName, TopicName],
        desired: Mapping[TopicName, Iterable[ConfigEntry]],
        current: Mapping[TopicName, Iterable[ConfigEntry]],
    ) -> list[AlterConfig]:
        """What is to be changed; patterns of excluded properties may take long."""
        return [
            alteration
            for topic, remote in remotes.items()
            for alteration in config_alterations(
                remote, desired.get(topic, ()), self._filter, current.get(remote, ())
            )
        ]

    def _report(self, failures: Mapping[AlterConfig, ClusterError]) -> None:
        """Says of each setting once that the target does not take it; it is tried every time."""
        for change, error in failures.items():
            if change not in self._reported:
                log.warning(
                    "topic_config.not_synced",
                    topic=change.topic,
                    key=change.name,
                    value=change.value,
                    error=str(error),
                )
        self._reported = set(failures)


async def alter_configs(
    admin: Admin, changes: Iterable[AlterConfig], *, validate_only: bool = False
) -> dict[AlterConfig, ClusterError]:
    """
    Applies all changes that the cluster takes; returns the others, each with the reason.

    What is refused for several settings of a topic is halved until the culprits are found; one
    request serves all topics.
    """
    failed: dict[AlterConfig, ClusterError] = {}
    ordered = groupby(sorted(changes, key=attrgetter("topic")), key=attrgetter("topic"))
    waiting = {topic: [list(each)] for topic, each in ordered}
    while waiting:
        turn = {topic: parts.pop() for topic, parts in waiting.items()}
        failures = await admin.incremental_alter_configs(
            chain.from_iterable(turn.values()), validate_only=validate_only
        )
        for topic, error in failures.items():
            part = turn[topic]
            if isinstance(error, Refused) and len(part) > 1:
                middle = len(part) // 2
                waiting[topic] += [part[:middle], part[middle:]]
            else:
                failed |= dict.fromkeys(part, error)
        waiting = {topic: parts for topic, parts in waiting.items() if parts}
    return failed
