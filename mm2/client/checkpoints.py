"""
Reads the checkpoints that stand on a cluster, whoever has written them.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass

import structlog

from mm2.core.checkpoint import CommittedOffset
from mm2.core.codec import Checkpoint
from mm2.core.model import GroupId, TopicPartition
from mm2.errors import SchemaError
from mm2.kafka.records import Record

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCheckpoint:
    """
    Where a group of another cluster is in the copies on this one.

    Attributes:
        checkpoint: the translated offset.
        timestamp_ms: when it was written, ms since the epoch.
    """

    checkpoint: Checkpoint
    timestamp_ms: int

    @property
    def exact(self) -> bool:
        """
        Whether the record at the downstream offset is the first one that the group has not read.

        Otherwise it may have read some of those that follow.
        """
        return self.checkpoint.exact

    @property
    def committed(self) -> CommittedOffset:
        """What the group should be given on this cluster."""
        return CommittedOffset(self.checkpoint.downstream_offset, self.checkpoint.metadata)


GroupCheckpoints = dict[GroupId, dict[TopicPartition, RemoteCheckpoint]]


async def last_checkpoints(
    records: AsyncIterable[Record], wanted: Callable[[GroupId], bool]
) -> GroupCheckpoints:
    """
    Returns the last checkpoint of each wanted group and downstream partition (C143, C144).

    A record that is none is passed over. A tombstone takes away what stood under its key, where
    Java's client fails.
    """
    found: GroupCheckpoints = {}
    keys: dict[bytes | None, Checkpoint] = {}
    async for record in records:
        if record.value is None:
            if (gone := keys.pop(record.key, None)) is not None:
                found[gone.group].pop(gone.partition, None)
            continue
        try:
            checkpoint = Checkpoint.decode(record.key, record.value, record.headers)
        except SchemaError as error:
            log.warning("checkpoint.ignored", offset=record.offset, error=str(error))
            continue
        if wanted(checkpoint.group):
            keys[record.key] = checkpoint
            found.setdefault(checkpoint.group, {})[checkpoint.partition] = _remote(
                checkpoint, record
            )
    return {group: partitions for group, partitions in found.items() if partitions}


def _remote(checkpoint: Checkpoint, record: Record) -> RemoteCheckpoint:
    return RemoteCheckpoint(checkpoint=checkpoint, timestamp_ms=record.timestamp_ms)
