"""
The positions of a flow as its herder and operators see and change them, while no task runs.

They stand in Connect's records on the target, and of flows that
mirror exactly once also in the offsets of a group; a task may go on at either, so both are changed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.config.offset_topics import accepted, accepted_topics
from mm2.core.connect.offset_records import SourcePartition, encode_key, encode_offset
from mm2.core.json_text import read_json
from mm2.core.model import NO_OFFSET, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy, build_policy
from mm2.core.positions.exactly_once import latest_positions
from mm2.core.positions.log_identity import Lineage
from mm2.core.positions.offset_requests import LogRange
from mm2.core.positions.stored_positions import newest_records
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.kafka.flow_clusters import FlowClusters
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.kafka.logs.read_log import Record, read_to_end
from mm2.kafka.writer import Writer

_NOT_COMMITTED: Final = CommittedOffset(NO_OFFSET)
"""A group's offset that clients take for none; brokers have no better way to delete a single one
that all releases know."""


class PositionStore:
    """Reads and writes Connect's records."""

    def __init__(self, config: FlowConfig) -> None:
        self._flow = config.flow
        self._herder = config.herder
        self._connector = config.herder.names.connector

    async def load(self) -> dict[TopicPartition, int]:
        """
        The offset of the last mirrored record of each source partition that has a position.

        Raises:
            ClusterError: the target does not answer, or has no such topic.
        """
        positions, _ = await self.last()
        return {where: at for where, at in positions.items() if at is not None}

    async def last(self) -> tuple[dict[TopicPartition, int | None], dict[TopicPartition, Lineage]]:
        """As ``load``, with None for partitions whose position was deleted; and their lineages."""
        newest = newest_records(await self._records(), self._flow.source, self._connector)
        return newest.offsets, newest.lineages()

    async def keys_of(self, partitions: Collection[object]) -> list[bytes]:
        """Keys under which something is stored for any of these, whatever they may be (C204)."""
        named = {_text(partition) for partition in partitions}
        return [
            record.key
            for record in await self._records()
            if record.key is not None
            and record.value is not None
            and self._partition_in(record.key) in named
        ]

    async def save(self, positions: Mapping[TopicPartition, int | None]) -> None:
        """
        Writes positions, where Java's partitioner puts them; None deletes one.

        They are the newest of their keys, also where another clock was ahead of ours, and where a
        key stands in several partitions of the topic.

        Raises:
            ClusterError: the target does not take one; those before it are written.
        """
        await self._write(
            (
                encode_key(self._connector, SourcePartition(self._flow.source, *where)),
                None if offset is None else encode_offset(offset),
            )
            for where, offset in sorted(positions.items())
        )

    async def delete(self, keys: Iterable[bytes]) -> None:
        """
        Deletes what is stored under keys.

        Raises:
            ClusterError: the target does not take one deletion; those before it are written.
        """
        await self._write((key, None) for key in keys)

    def _partition_in(self, key: bytes) -> str | None:
        """The source partition of a Connect offset key; None for other keys."""
        try:
            fields: Any = read_json(key)
            connector, partition = fields
        except (ValueError, TypeError):
            return None
        return _text(partition) if connector == self._connector else None

    async def _records(self) -> list[Record]:
        return await read_to_end(
            self._flow.target,
            self._herder.client("consumer", "positions"),
            self._herder.offsets_topic,
            newest_only=True,
        )

    async def _write(self, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        if not (entries := list(records)):
            return
        stored: dict[bytes | None, list[Record]] = {}
        for record in await self._records():
            stored.setdefault(record.key, []).append(record)
        properties = self._herder.client("producer", "positions")
        async with Writer(self._flow.target, properties) as writer:
            for key, value in entries:
                await self._write_newest(writer, key, value, stored.get(key, []))

    async def _write_newest(
        self, writer: Writer, key: bytes, value: bytes | None, stored: Collection[Record]
    ) -> None:
        topic = self._herder.offsets_topic
        newest_ms = max([now_ms(), *(each.timestamp_ms + 1 for each in stored)])
        await writer.send(topic, key, value, timestamp_ms=newest_ms)
        if value is None:
            # Brokers forget deletions: what is older elsewhere would count again then.
            for place in {each.partition for each in stored if each.value is not None}:
                await writer.send(topic, key, None, partition=place, timestamp_ms=newest_ms)


def _text(partition: object) -> str:
    """Equal for what is the same in JSON, where neither true nor 1.0 is 1."""
    return json.dumps(partition, sort_keys=True)


class FlowPositions:
    """
    All that holds a position of a flow, and what its source has.

    Calls raise ``ClusterError`` if a cluster does not answer, or refuses.
    """

    def __init__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        self._source = config.flow.source
        self._accepts = accepted_topics(config)
        self._group = config.herder.names.positions_group
        self._is_exactly_once = config.herder.exactly_once == "enabled"
        self._clusters = clusters
        self.policy: ReplicationPolicy = build_policy(config.source.properties)
        self.store = PositionStore(config)

    async def load(self) -> dict[TopicPartition, int]:
        """
        The offset of the last mirrored record of each source partition that has a position.

        Raises:
            ClusterError: the target does not answer, or has no positions topic.
        """
        return (await self.last())[0]

    async def last(self) -> tuple[dict[TopicPartition, int], dict[TopicPartition, Lineage]]:
        """As ``load``, and which logs the positions are of, as far as that is known."""
        records, lineages = await self.store.last()
        return latest_positions(records, lineages, await self._committed(records)), lineages

    async def _committed(self, records: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        if not self._is_exactly_once:
            return {}
        committed = await self._clusters.target.list_group_offsets(self._group)
        return {
            where: committed[remote].offset
            for where in records
            if (remote := self._remote(where)) in committed
        }

    async def apply(self, positions: Mapping[TopicPartition, int | None]) -> None:
        """
        Makes these the positions; None deletes one. Safe to repeat after a failure.

        What the group has is changed also if the flow mirrors at least once now: it would count
        again otherwise when that changes.

        Raises:
            ClusterError: the target does not take all of them.
        """
        committed = await self._clusters.target.list_group_offsets(self._group)
        offsets = {
            self._remote(where): _NOT_COMMITTED if offset is None else CommittedOffset(offset + 1)
            for where, offset in positions.items()
            if self._remote(where) in committed
        }
        await self._clusters.target.alter_group_offsets(self._group, offsets)
        await self.store.save(positions)

    async def ranges(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, LogRange]:
        """What the source has of those partitions that exist."""
        source = self._clusters.source
        counts = await source.describe_topics({where.topic for where in partitions})
        there = [
            where
            for where in partitions
            if where.topic in counts and 0 <= where.partition < counts[where.topic].partitions
        ]
        starts = await source.list_offsets(there, OffsetAt.EARLIEST)
        ends = await source.list_offsets(there, OffsetAt.LATEST)
        return {where: LogRange(starts[where], ends[where]) for where in starts if where in ends}

    async def at_time(
        self, partitions: Collection[TopicPartition], time_ms: int
    ) -> dict[TopicPartition, int]:
        """The first record of each partition at or after a time; -1 where there is none."""
        return await self._clusters.source.list_offsets(partitions, time_ms)

    async def mirrored_topics(self) -> list[TopicName]:
        """The source's topics that the flow mirrors."""
        return sorted(await accepted(self._accepts, await self._clusters.source.list_topics()))

    async def partitions_of(self, topics: Collection[str]) -> list[TopicPartition]:
        """All partitions of those topics that the source has."""
        described = await self._clusters.source.describe_topics(map(TopicName, topics))
        return [
            TopicPartition(name, number)
            for name, topic in sorted(described.items())
            for number in range(topic.partitions)
        ]

    def _remote(self, where: TopicPartition) -> TopicPartition:
        remote = self.policy.format_remote_topic(self._source, where.topic)
        return TopicPartition(remote, where.partition)
