"""
Emits checkpoints: what the groups' offsets on the source mean on the target (behaviours 9.2, 9.3).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from flows.checkpoint.groups import FollowedGroups
from flows.checkpoint.outbox import Outbox
from flows.checkpoint.store import CheckpointStore
from mm2.core.checkpoint import CommittedOffset, Translator, checkpoints_for_group
from mm2.core.filters import TopicFilter
from mm2.core.model import GroupId, SourceAndTarget, TopicPartition
from mm2.core.policy import ReplicationPolicy
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """
    What decides which checkpoints a group has.

    Attributes:
        flow: from where to where.
        policy: names the topics downstream.
        topic_filter: only its topics count.
    """

    flow: SourceAndTarget
    policy: ReplicationPolicy
    topic_filter: TopicFilter

    def news(
        self,
        group: GroupId,
        committed: Mapping[TopicPartition, CommittedOffset],
        *,
        translator: Translator,
        store: CheckpointStore,
        now_ms: int,
    ) -> int:
        """Puts what is new of a group into the store, and returns how much that is."""
        found = list(
            checkpoints_for_group(
                group,
                committed,
                flow=self.flow,
                policy=self.policy,
                topic_filter=self.topic_filter,
                translator=translator,
                last=store.of_group(group),
            )
        )
        for checkpoint in found:
            store.add(checkpoint, now_ms)
        return len(found)


class Emission:
    """
    One round of checkpoints for all groups that are followed.

    Args:
        source: has the groups.
        groups: which ones.
        translation: decides on the checkpoints.
        translator: translates the offsets.
        store: remembers them.
        outbox: writes them.
    """

    def __init__(
        self,
        source: Admin,
        *,
        groups: FollowedGroups,
        translation: Translation,
        translator: Translator,
        store: CheckpointStore,
        outbox: Outbox,
    ) -> None:
        self._source = source
        self._groups = groups
        self._translation = translation
        self._translator = translator
        self._store = store
        self._outbox = outbox

    async def round(self) -> None:
        """
        Emits what is new, and what could not be written before.

        A group whose offsets cannot be listed is left out this time (C282).

        Raises:
            ClusterError: not all could be written; the rest stays due.
        """
        committed = await self._source.list_offsets_of_groups(sorted(self._groups.current))
        failures: list[ClusterError] = []
        for name, offsets in committed.items():
            if isinstance(offsets, ClusterError):
                failures.append(offsets)
            elif count := self._choose(GroupId(name), offsets):
                log.debug("checkpoint.chosen", group=name, records=count)
        if failures:
            log.warning("checkpoint.skipped", groups=len(failures), error=str(failures[0]))
        if records := await self._outbox.write():
            log.info("checkpoint.emitted", groups=len(committed), records=records)

    def _choose(self, group: GroupId, committed: Mapping[TopicPartition, CommittedOffset]) -> int:
        return self._translation.news(
            group,
            committed,
            translator=self._translator,
            store=self._store,
            now_ms=time.time_ns() // 1_000_000,
        )
