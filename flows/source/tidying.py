"""Keeps the topic of exact runs small: what is in it of a task's partitions is looked through."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from flows.source.partition import Mirrored
from flows.source.runs import OffsetRuns
from mm2.core.model import TopicPartition
from mm2.core.run_codec import decode_key, decode_value
from mm2.core.run_tidying import StoredRuns
from mm2.errors import ClusterError, SchemaError
from mm2.herder.bundle import OffsetSyncSpec
from mm2.kafka.log import records_to_end
from mm2.kafka.records import Record
from mm2.kafka.wire.client import EARLIEST, WireClient

log = structlog.get_logger()

_FIRST_S: Final = 300.0
"""A task has other things to do when it starts."""

_EVERY_S: Final = 1_800.0


class RunTidying:
    """
    Takes blocks of runs back that nobody needs.

    Args:
        spec: where the topic is.
        runs: writes to it.
        partitions: of the task; may change at any time.
        source: the source cluster.
        target: the target cluster.
    """

    def __init__(
        self,
        spec: OffsetSyncSpec,
        runs: OffsetRuns,
        partitions: Mapping[TopicPartition, Mirrored],
        *,
        source: WireClient,
        target: WireClient,
    ) -> None:
        self._spec = spec
        self._runs = runs
        self._partitions = partitions
        self._source = source
        self._target = target

    async def run(self) -> None:
        """Looks every half an hour, until cancelled."""
        await asyncio.sleep(_FIRST_S)
        while True:
            try:
                await self.tidy()
            except ClusterError as error:
                log.warning("offset_runs.not_tidied", topic=self._runs.topic, error=str(error))
            await asyncio.sleep(_EVERY_S)

    async def tidy(self) -> int:
        """
        Looks once; returns how many records were written.

        Raises:
            ClusterError: a cluster does not answer, or refuses us.
        """
        self._runs.watch()
        stored = await self._stored()
        there = {where: each for where, each in self._partitions.items() if where in stored}
        upstream = await self._source.list_offsets(there, EARLIEST)
        remotes = {where: each.lane.target for where, each in there.items()}
        downstream = await self._target.list_offsets(remotes.values(), EARLIEST)
        due = {
            where: stored[where].due(upstream[where], downstream[remote])
            for where, remote in remotes.items()
            # Of a partition that was given away meanwhile another task writes the blocks.
            if where in self._partitions and where in upstream and remote in downstream
        }
        written = await self._runs.tidy(due)
        log.debug("offset_runs.tidied", topic=self._runs.topic, records=written)
        return written

    async def _stored(self) -> dict[TopicPartition, StoredRuns]:
        """What the topic has of the task's partitions."""
        found: dict[TopicPartition, StoredRuns] = {}
        records = records_to_end(
            self._spec.cluster, self._spec.properties, self._runs.topic, partitions=[0]
        )
        async for record in records:
            self._take(found, record)
        return found

    def _take(self, found: dict[TopicPartition, StoredRuns], record: Record) -> None:
        try:
            where, start = decode_key(record.key)
            if where in self._partitions:
                block = None if record.value is None else decode_value(start, record.value)
                found.setdefault(where, StoredRuns()).handle(start, block)
        except SchemaError as error:
            log.warning("offset_run.ignored", offset=record.offset, error=str(error))
