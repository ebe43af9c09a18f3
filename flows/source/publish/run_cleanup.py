"""Keeps the topic of exact runs small: reads it, and deletes what is obsolete."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterable, Mapping
from typing import Final

import structlog

from flows.source.mirrored_partition import MirroredPartition
from flows.source.publish.run_publisher import RunPublisher
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.run_codec import decode_key, decode_value
from mm2.core.translation.run_retention import StoredRuns
from mm2.core.translation.runs import Block, BlockName
from mm2.errors import ClusterError, SchemaError
from mm2.kafka.logs.read_log import records_to_end
from mm2.kafka.logs.records import Record
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.list_offsets import EARLIEST
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import OffsetSyncSpec

log = structlog.get_logger()

Due = dict[TopicPartition, list[tuple[BlockName, Block | None]]]
"""What to write of partitions: the names of blocks, and the blocks or tombstones."""

_FIRST_S: Final = 300.0
"""A task has other things to do when it starts."""

_EVERY_S: Final = 1_800.0
_REST_S: Final = 0.001
"""After each block, so that copying goes on; a million of them have no hurry."""


class RunCleanup:
    """
    Deletes blocks of runs that are no longer needed.

    Any task deletes the blocks of topics that the source no longer has, half an hour after it first
    missed them.
    """

    def __init__(
        self,
        spec: OffsetSyncSpec,
        runs: RunPublisher,
        partitions: Mapping[TopicPartition, MirroredPartition],
        *,
        source: WireClient,
        target: WireClient,
    ) -> None:
        self._spec = spec
        self._runs = runs
        self._partitions = partitions
        self._source = source
        self._target = target
        self._missing: frozenset[TopicName] = frozenset()

    async def run(self) -> None:
        """Looks every half an hour, until cancelled."""
        # All tasks start together, and all would read the topic together.
        spread = random.uniform(0, _EVERY_S)  # noqa: S311 - no secret
        await asyncio.sleep(_FIRST_S + spread)
        while True:
            try:
                await self.clean()
            except ClusterError as error:
                log.warning("offset_runs.not_deleted", topic=self._runs.topic, error=str(error))
            await asyncio.sleep(_EVERY_S)

    async def clean(self) -> int:
        """
        Looks once; returns how many records were written.

        Raises:
            ClusterError: a cluster does not answer, or refuses us.
        """
        with self._runs.recording_writes():
            records = records_to_end(
                self._spec.cluster, self._spec.properties, self._runs.topic, partitions=[0]
            )
            stored = StoredBlocks(self._partitions, self._missing)
            await stored.read(records)
            due: Due = {
                **await self._due(stored.runs),
                **await self._of_missing(stored),
            }
            written = await self._runs.write_cleanup(due)
        log.debug("offset_runs.deleted", topic=self._runs.topic, records=written)
        return written

    async def _due(self, stored: Mapping[TopicPartition, StoredRuns]) -> Due:
        there = {where: each for where, each in self._partitions.items() if where in stored}
        upstream = await self._source.list_offsets(there, EARLIEST)
        remotes = {where: each.sender.target for where, each in there.items()}
        downstream = await self._target.list_offsets(remotes.values(), EARLIEST)
        return {
            where: stored[where].due(upstream[where], downstream[remote])
            for where, remote in remotes.items()
            # Of a partition that was given away meanwhile another task writes the blocks.
            if where in self._partitions and where in upstream and remote in downstream
        }

    async def _of_missing(self, stored: StoredBlocks) -> Due:
        """Tombstones for topics that were missing at this check and at the last one."""
        answers = await self._source.describe(stored.others) if stored.others else {}
        gone = {n for n, each in answers.items() if each.error == Code.UNKNOWN_TOPIC_OR_PARTITION}
        missing = frozenset(map(TopicName, gone)) & stored.others
        self._missing, before = missing, self._missing
        return {
            where: [(name, None) for name in sorted(names)]
            for where, names in stored.names.items()
            if where.topic in missing & before and where not in self._partitions
        }


class StoredBlocks:
    """
    The contents of the topic of runs.

    Args:
        missing: topics of which only the names of the blocks are read.

    Attributes:
        runs: of ``partitions``.
        names: of ``missing``, by partitions.
        others: all topics that have blocks, but for those of ``partitions``.
    """

    def __init__(
        self, partitions: Mapping[TopicPartition, MirroredPartition], missing: frozenset[TopicName]
    ) -> None:
        self._partitions = partitions
        self._missing = missing
        self.runs: dict[TopicPartition, StoredRuns] = {}
        self.names: dict[TopicPartition, set[BlockName]] = {}
        self.others: set[TopicName] = set()

    async def read(self, records: AsyncIterable[Record]) -> None:
        """Takes records in, and lets others go on in between: many come at once."""
        async for record in records:
            try:
                where, name = decode_key(record.key)
                self._handle(where, name, record.value)
            except SchemaError as error:
                log.warning("offset_run.ignored", offset=record.offset, error=str(error))
                continue
            await asyncio.sleep(_REST_S if where in self._partitions else 0)

    def _handle(self, where: TopicPartition, name: BlockName, value: bytes | None) -> None:
        if where in self._partitions:
            block = None if value is None else decode_value(name, value)
            self.runs.setdefault(where, StoredRuns()).handle(name, block)
            return
        if value is not None:
            self.others.add(where.topic)
        if where.topic in self._missing:
            names = self.names.setdefault(where, set())
            names.discard(name) if value is None else names.add(name)
