"""Brings rules about topics to the target, and takes back, if asked, those that the source lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Final

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.core.model import TopicName
from mm2.core.policy import ReplicationPolicy
from mm2.core.topics.acls import (
    AclBinding,
    PatternType,
    target_acls,
)
from mm2.errors import ClusterError
from mm2.herder.control.leader_state import LeaderState
from mm2.kafka.client_errors import SecurityDisabled
from mm2.kafka.flow_clusters import FlowClusters
from mm2.protocol.memory_records import AclMemory

log = structlog.get_logger()

_SHOWN: Final = 10
"""Rules named in one log line."""


class TopicAcls:
    """
    Keeps the rules about a flow's remote topics.

    Args:
        memory: of what was copied, so that only that is ever deleted.
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
        self._settings = config.source
        self._alias = config.flow.source
        self._clusters = clusters
        self._policy = policy
        self._accepts = accepts
        self._memory = memory
        self._has_no_authorizer = False
        self._not_copied: frozenset[AclBinding] = frozenset()

    async def sync(self, mirrored: Collection[TopicName]) -> None:
        """
        Copies rules, without the right to write (C186-C191).

        Raises:
            ClusterError: a cluster does not answer, or refuses to list its rules.
        """
        try:
            source, existing = await self._rules()
        except SecurityDisabled:
            self._log_missing_authorizer()
            return
        same_name_all = self._settings.acls_same_name_all
        desired = await self._desired(source, mirrored, same_name_all=same_name_all)
        self._warn_of_rules_not_copied(
            await self._desired(source, mirrored, same_name_all=True) - desired
        )
        await self._create(desired - existing)
        if self._settings.acls_deleted:
            await self._delete_lost(desired, existing, mirrored)

    async def missing(self, mirrored: Collection[TopicName]) -> frozenset[AclBinding]:
        """
        The rules that ``sync`` would create.

        Raises:
            SecurityDisabled: a cluster has no authorizer.
            ClusterError: a cluster does not answer, or refuses to list its rules.
        """
        source, existing = await self._rules()
        same_name_all = self._settings.acls_same_name_all
        return await self._desired(source, mirrored, same_name_all=same_name_all) - existing

    async def _rules(self) -> tuple[list[AclBinding], set[AclBinding]]:
        source = await self._clusters.source.describe_topic_acls()
        return source, set(await self._clusters.target.describe_topic_acls())

    async def _desired(
        self,
        source: Collection[AclBinding],
        mirrored: Collection[TopicName],
        *,
        same_name_all: bool,
    ) -> frozenset[AclBinding]:
        return await asyncio.to_thread(  # Patterns of topics may take long.
            target_acls,
            source,
            accepts=self._accepts,
            policy=self._policy,
            alias=self._alias,
            mirrored=mirrored if self._settings.acls_prefixed else None,
            same_name_all=same_name_all,
        )

    def _warn_of_rules_not_copied(self, rules: frozenset[AclBinding]) -> None:
        """Warns when there are others than at the last sync."""
        if rules - self._not_copied:
            log.warning(
                "topic_acls.only_reading_copied",
                bindings=[str(rule) for rule in sorted(rules)[:_SHOWN]],
                left_out=len(rules),
                advice="Copies keep their names, so these rules would hold for the target's own"
                " topics. To copy them all the same: sync.topic.acls.same.name=all",
            )
        self._not_copied = rules

    async def _create(self, missing: Collection[AclBinding]) -> None:
        if missing:
            failures = await self._clusters.target.create_acls(sorted(missing))
            _warn(failures)
            log.info("topic_acls.synced", created=len(missing) - len(failures))

    async def _delete_lost(
        self,
        desired: Collection[AclBinding],
        existing: Collection[AclBinding],
        mirrored: Collection[TopicName],
    ) -> None:
        """
        Deletes what was copied before and is not among the source's rules any more.

        Rules of topics that are not mirrored any more stay, as the topics do.
        """
        memory = await self._memory.get(AclMemory)
        copied = set[AclBinding]() if memory is None else set(memory.document)
        remotes = {self._policy.format_remote_topic(self._alias, topic) for topic in mirrored}
        lost = {
            rule
            for rule in copied.difference(desired)
            if rule.pattern_type is PatternType.PREFIXED or rule.name in remotes
        }
        doomed = sorted(lost.intersection(existing))
        failures = await self._clusters.target.delete_acls(doomed)
        _warn(failures)
        for rule in doomed:
            if rule not in failures:
                log.info("topic_acl.deleted", binding=str(rule))
        kept = copied.union(desired) - lost | failures.keys()
        await self._memory.put(AclMemory(document=tuple(sorted(kept))))

    def _log_missing_authorizer(self) -> None:
        if not self._has_no_authorizer:
            self._has_no_authorizer = True
            log.info(
                "topic_acls.no_authorizer",
                advice="Consider disabling topic ACL syncing: sync.topic.acls.enabled=false",
            )


def _warn(failures: Mapping[AclBinding, ClusterError]) -> None:
    for binding, error in failures.items():
        log.warning("topic_acls.not_synced", binding=str(binding), error=str(error))
