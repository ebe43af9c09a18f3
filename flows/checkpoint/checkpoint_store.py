"""
The checkpoints that a flow knows of: read once from their topic, kept in memory from then on.

Java: ``CheckpointStore`` (behaviours 9.4). Unlike there, a checkpoint that could not be written
stays due until it is (C430), and a tombstone removes one instead of ending the load (C429).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import structlog

from mm2.clock import now_ms
from mm2.config.connector_settings import CheckpointSettings
from mm2.core.filters import GroupFilter
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, TopicPartition
from mm2.core.translation.group_sync_rules import TargetCommit, confirmed
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.runs import Logs
from mm2.errors import ClusterError, NotAuthorized, SchemaError
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.logs.read_log import read_to_end
from mm2.kafka.logs.records import Record

log = structlog.get_logger()

TOPIC_WITHIN_S: Final = 30.0
"""A topic that was created just now is waited for this long (C237)."""
_LOOK_AGAIN_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Due:
    """
    A record that is to be written.

    Attributes:
        deleted: write a tombstone.
    """

    checkpoint: Checkpoint
    timestamp_ms: int
    deleted: bool = False


class CheckpointStore:
    """
    The last checkpoint of each group and downstream partition.

    ``known`` are the checkpoints that the topic has already.
    """

    def __init__(self, known: Iterable[Checkpoint] = ()) -> None:
        self._groups: dict[GroupId, dict[TopicPartition, Checkpoint]] = {}
        self._unsent: dict[tuple[GroupId, TopicPartition], Due] = {}
        for checkpoint in known:
            self._keep(checkpoint)

    def groups(self) -> frozenset[GroupId]:
        """The groups that have checkpoints."""
        return frozenset(self._groups)

    def of_group(self, group: GroupId) -> Mapping[TopicPartition, Checkpoint]:
        """The last checkpoints of a group by downstream partition; empty if there are none."""
        return self._groups.get(group, {})

    def add(self, checkpoint: Checkpoint, timestamp_ms: int) -> None:
        """Takes in news, to be compared with from now on and to be written with this time."""
        self._keep(checkpoint)
        self._unsent[checkpoint.group, checkpoint.partition] = Due(checkpoint, timestamp_ms)

    def confirm(self, last: Checkpoint) -> None:
        """Notes that the source has not committed since the target was read; in memory."""
        if last.target_commit is not None and not last.target_commit.is_confirmed:
            self._keep(replace(last, target_commit=confirmed(last.target_commit)))

    def note(self, last: Checkpoint, target_commit: TargetCommit) -> Checkpoint:
        """Notes in a checkpoint, in memory, what the target has now, and returns it."""
        noted = replace(last, target_commit=target_commit)
        self._keep(noted)
        return noted

    def is_written(self, checkpoint: Checkpoint) -> bool:
        """Whether the topic has a checkpoint's offsets."""
        return (checkpoint.group, checkpoint.partition) not in self._unsent

    def delete(self, group: GroupId, timestamp_ms: int) -> int:
        """Forgets a group, has its checkpoints taken back, and returns how many those are."""
        known = self._groups.pop(group, {})
        for partition, checkpoint in known.items():
            self._unsent[group, partition] = Due(checkpoint, timestamp_ms, deleted=True)
        return len(known)

    def start_over(
        self, current_logs: Callable[[Checkpoint], Logs | None], timestamp_ms: int
    ) -> int:
        """
        Resets checkpoints of re-created topics to offset 0; returns how many.

        Args:
            current_logs: returns the present topics of a checkpoint of a former one, else None.
        """
        stale = [
            (each, logs)
            for partitions in self._groups.values()
            for each in partitions.values()
            if each.downstream_offset and (logs := current_logs(each)) is not None
        ]
        for each, logs in stale:
            self.add(Checkpoint(each.group, each.partition, 0, 0, logs=logs), timestamp_ms)
        return len(stale)

    def unsent(self) -> list[Due]:
        """What is to be written, the newest of each group and partition."""
        return list(self._unsent.values())

    def sent(self, due: Due) -> None:
        """Notes that a record is written; one that replaced it meanwhile stays due."""
        key = due.checkpoint.group, due.checkpoint.partition
        if self._unsent.get(key) == due:
            del self._unsent[key]

    def _keep(self, checkpoint: Checkpoint) -> None:
        self._groups.setdefault(checkpoint.group, {})[checkpoint.partition] = checkpoint


class DeletedGroups:
    """
    Deletes the checkpoints of groups that two listings in a row do not have.

    Two, because deleted checkpoints are lost to a failover, and a cluster that has just come back
    may not know everything yet.
    """

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._absent: frozenset[GroupId] = frozenset()

    def tombstone_missing(self, absent: frozenset[GroupId]) -> None:
        """Deletes the checkpoints of groups that were absent before and are absent now."""
        for group in sorted(absent & self._absent & self._store.groups()):
            records = self._store.delete(group, now_ms())
            log.info("checkpoint.deleted", group=group, records=records)
        self._absent = absent


Reader = Callable[[CheckpointSettings, str], Awaitable[list[Record]]]
"""Reads a topic of checkpoints to its end."""


async def read_checkpoints(settings: CheckpointSettings, topic: str) -> list[Record]:
    """
    Reads the topic of checkpoints, which may have been created just now.

    Raises:
        ClusterError: the target refuses, or does not answer.
    """
    properties = settings.target_consumer("checkpoints-target-consumer", 0)
    target = settings.flow.target
    deadline = asyncio.get_running_loop().time() + TOPIC_WITHIN_S
    while True:
        try:
            return await read_to_end(target, properties, topic, partitions=[0])
        except UnknownTopic:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(_LOOK_AGAIN_S)


async def load_checkpoints(
    settings: CheckpointSettings,
    topic: str,
    group_filter: GroupFilter,
    *,
    read: Reader = read_checkpoints,
) -> list[Checkpoint] | None:
    """
    Reads the last checkpoints of the flow's groups; None if the cluster refuses (C297).

    Java goes on without, whatever the reason, and translates worse from then on (C298). Here a
    cluster that is merely away is an error, for without it there is nothing to write to either.

    Raises:
        ClusterError: a failure that may pass.
    """
    try:
        records = await read(settings, topic)
    except ClusterError as error:
        if error.retriable:
            raise
        write = log.warning if isinstance(error, NotAuthorized) else log.info
        write("checkpoints.not_loaded", topic=topic, error=str(error))
        return None
    # Patterns of groups may take long.
    found = await asyncio.to_thread(last_checkpoints, records, group_filter)
    log.info("checkpoints.loaded", topic=topic, records=len(found))
    return found


def sync_store(known: Iterable[Checkpoint] | None) -> OffsetSyncStore:
    """
    Returns a store of offset syncs that fits the checkpoints from before the start (C238).

    Where these are not known, translations must not fall behind what was emitted: of each
    partition only the last sync of before the start counts.

    ``known`` is None if the checkpoints could not be read.
    """
    return OffsetSyncStore(must_read_to_end=known is None)


def last_checkpoints(records: Iterable[Record], group_filter: GroupFilter) -> list[Checkpoint]:
    """The last checkpoint for each key, of groups that the filter accepts (C296)."""
    last: dict[bytes | None, Checkpoint] = {}
    for record in records:
        if record.value is None:
            last.pop(record.key, None)
            continue
        try:
            checkpoint = Checkpoint.decode(record.key, record.value, record.headers)
        except SchemaError as error:
            log.warning("checkpoint.ignored", offset=record.offset, error=str(error))
            continue
        if group_filter.should_replicate_group(checkpoint.group):
            last[record.key] = checkpoint
    return list(last.values())
