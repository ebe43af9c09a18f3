"""
Follows what groups commit on the source, so that checkpoints need not wait for their interval.

A commit only names the group to check: the offsets themselves are listed as in every round, so that
what is emitted never comes from two sources that may differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from flows.checkpoint.emission import Emission
from flows.checkpoint.followed_groups import FollowedGroups
from mm2.core.model import GroupId
from mm2.core.translation.checkpoint_rules import Renaming
from mm2.core.translation.group_commits import GROUP_OFFSETS_TOPIC, decode_commit
from mm2.errors import ClusterError, SchemaError
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.logs.log_tail import LogTail
from mm2.kafka.logs.records import Record

log = structlog.get_logger()

_PAUSE_S: Final = 0.2
"""Least time between two rounds."""

_SETTLED_S: Final = 2.0
"""
A group is checked for so long after its last commit.

What it committed may have been mirrored a moment ago, and be translated exactly only soon.
"""

_LOOK_AGAIN_S: Final = 5.0


class RecentCommits:
    """
    Groups that committed recently, and may be due for checkpoints.

    ``now`` is in seconds.
    """

    def __init__(
        self, groups: FollowedGroups, renaming: Renaming, now: Callable[[], float]
    ) -> None:
        self._groups = groups
        self._renaming = renaming
        self._now = now
        self._until: dict[GroupId, float] = {}
        self.pending = asyncio.Event()

    def take(self, record: Record) -> None:
        """Takes in a record of ``__consumer_offsets``."""
        try:
            commit = decode_commit(record.key, record.value)
        except SchemaError as error:
            log.warning("group_commit.ignored", offset=record.offset, error=str(error))
            return
        if commit is None or commit.offset is None:
            return
        if self._groups.wants(commit.group) and self._renaming.of(commit.partition) is not None:
            self._groups.add(commit.group)
            self._until[commit.group] = self._now() + _SETTLED_S
            self.pending.set()

    def due(self) -> frozenset[GroupId]:
        """The groups to check; a group whose window has ended is returned once more."""
        due, now = frozenset(self._until), self._now()
        self._until = {group: until for group, until in self._until.items() if until > now}
        if not self._until:
            self.pending.clear()
        return due


class CommitFollower:
    """Emits checkpoints of groups as soon as they commit."""

    def __init__(
        self,
        alias: str,
        properties: Mapping[str, str],
        commits: RecentCommits,
        emission: Emission,
    ) -> None:
        self._alias = alias
        self._properties = dict(properties)
        self._commits = commits
        self._emission = emission

    async def run(self) -> None:
        """Follows until cancelled, or until the source does not let us read what groups commit."""
        async with asyncio.TaskGroup() as tasks:
            emitting = tasks.create_task(self._emit(), name="emit-commits")
            await self._follow()
            emitting.cancel()

    async def _follow(self) -> None:
        while True:
            try:
                # Only what is committed, so that an open transaction of a consumer counts for
                # nothing, and one that is aborted never does.
                tail = LogTail(self._alias, self._properties, GROUP_OFFSETS_TOPIC, from_end=True)
                async for record in tail:
                    self._commits.take(record)
            except UnknownTopic:
                await asyncio.sleep(_LOOK_AGAIN_S)  # No group has ever committed.
            except ClusterError as error:
                log.error("group_commits.not_followed", error=str(error))
                return

    async def _emit(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._commits.pending.wait()
            began = loop.time()
            try:
                await self._emission.emit(self._commits.due())
            except ClusterError as error:
                log.warning("job.failed", job="emit-commits", error=str(error))
            # No more than half of the time goes into this.
            await asyncio.sleep(max(_PAUSE_S, loop.time() - began))
