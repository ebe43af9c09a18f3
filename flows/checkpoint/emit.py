"""
Emits checkpoints: what the groups' offsets on the source mean on the target (behaviours 9.2, 9.3).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import structlog

from flows.checkpoint.groups import FollowedGroups
from flows.checkpoint.store import CheckpointStore
from mm2.core.checkpoint import CommittedOffset, Renaming, Translator, checkpoints_for_group
from mm2.core.model import GroupId, TopicPartition
from mm2.core.reverse import Returning
from mm2.errors import ClusterError
from mm2.kafka.conversions import chunks
from mm2.kafka.group_ports import Offsets

log = structlog.get_logger()

_GROUPS_AT_ONCE: Final = 500
"""Groups whose offsets are in memory at the same time."""


class Outgoing(Protocol):
    """What writes the checkpoints that are due."""

    async def write(self) -> int:
        """Writes all that is due, and returns how many records that were."""


class Choice:
    """
    Chooses what is to be emitted.

    Args:
        renaming: decides which partitions count, and names them downstream.
        translator: translates the offsets.
        store: gets the checkpoints that are news.
        returning: tells which offsets in copies are on their way back; None if there are no copies.
    """

    def __init__(
        self,
        renaming: Renaming,
        translator: Translator,
        store: CheckpointStore,
        returning: Returning | None = None,
    ) -> None:
        self._renaming = renaming
        self._translator = translator
        self._store = store
        self._returning = returning

    def news(
        self, group: GroupId, committed: Mapping[TopicPartition, CommittedOffset], now_ms: int
    ) -> int:
        """Puts what is new of a group into the store, and returns how much that is."""
        last = self._store.of_group(group)
        if self._returning is not None:
            committed = self._returning.own_commits(group, committed, last)
        found = list(
            checkpoints_for_group(
                group,
                committed,
                renaming=self._renaming,
                translator=self._translator,
                last=last,
            )
        )
        for checkpoint in found:
            self._store.add(checkpoint, now_ms)
        return len(found)


class Emission:
    """
    Rounds of checkpoints, one at a time: what an earlier round saw must not be emitted later.

    Args:
        source: has the groups.
        groups: which ones.
        choice: decides on the checkpoints.
        outbox: writes them.
    """

    def __init__(
        self, source: Offsets, *, groups: FollowedGroups, choice: Choice, outbox: Outgoing
    ) -> None:
        self._source = source
        self._groups = groups
        self._choice = choice
        self._outbox = outbox
        self._one_at_a_time = asyncio.Lock()

    async def round(self) -> None:
        """
        Emits what is new of all groups that are followed, and what could not be written before.

        Raises:
            ClusterError: not all could be written; the rest stays due.
        """
        await self.emit(self._groups.current)

    async def emit(self, groups: Iterable[GroupId]) -> None:
        """
        Emits what is new of some groups, and what could not be written before.

        A group whose offsets cannot be listed is left out this time (C282).

        Raises:
            ClusterError: not all could be written; the rest stays due.
        """
        async with self._one_at_a_time:
            asked = sorted(groups)
            failures: list[ClusterError] = []
            for some in chunks(asked, _GROUPS_AT_ONCE):
                failures += await self._choose(some)
            if failures:
                log.warning("checkpoint.skipped", groups=len(failures), error=str(failures[0]))
            if records := await self._outbox.write():
                log.info("checkpoint.emitted", groups=len(asked), records=records)

    async def _choose(self, groups: list[GroupId]) -> list[ClusterError]:
        committed = await self._source.list_offsets_of_groups(groups)
        failures: list[ClusterError] = []
        for group in groups:
            offsets = committed[group]
            if isinstance(offsets, ClusterError):
                failures.append(offsets)
            elif count := self._choice.news(group, offsets, time.time_ns() // 1_000_000):
                log.debug("checkpoint.chosen", group=group, records=count)
            # A group may have many partitions; others want to go on too.
            await asyncio.sleep(0)
        return failures
