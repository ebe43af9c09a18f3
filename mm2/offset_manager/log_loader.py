"""Loads the log partitions that this instance has taken, in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.core.offset_manager.committed_offset_records import decode_key, decode_value
from mm2.core.offset_manager.log_partition import LogRole
from mm2.core.offset_manager.log_placement import log_partition_of
from mm2.errors import ClusterError, FatalError, SchemaError
from mm2.kafka.logs.read_log import records_to_end
from mm2.kafka.logs.records import Record
from mm2.offset_manager.log_leader import LogLeader

log = structlog.get_logger()

_AGAIN_S: Final = 1.0
_LOAD_S: Final = 30.0
"""Without any record for so long, a load is begun anew."""


class LogLoader:
    """
    Reads what stood in logs before they were taken; those that wait are read together.

    Args:
        alias: the cluster's, for messages.
        settings: of the offset manager.
        leaders: of all log partitions.
        loaded: told how many seconds each load took.
    """

    def __init__(
        self,
        alias: str,
        settings: OffsetManagerSettings,
        leaders: Mapping[int, LogLeader],
        loaded: Callable[[float], None],
    ) -> None:
        self._alias = alias
        self._settings = settings
        self._leaders = leaders
        self._loaded = loaded
        self._wanted = asyncio.Event()

    def look(self) -> None:
        """Something has been taken."""
        self._wanted.set()

    async def run(self) -> None:
        """
        Loads until cancelled.

        Raises:
            FatalError: the log holds groups that do not belong where they are.
        """
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            terms = {
                number: leader.state.term
                for number, leader in self._leaders.items()
                if leader.state.role is LogRole.LOADING
            }
            try:
                if terms:
                    await self._load(terms)
            except ClusterError as error:
                log.warning("offset_manager.not_loaded", error=str(error), retry_in_s=_AGAIN_S)
                await asyncio.sleep(_AGAIN_S)
                self._wanted.set()

    async def _load(self, terms: Mapping[int, int]) -> None:
        began, records, ignored = time.monotonic(), 0, 0
        async for record in records_to_end(
            self._alias,
            self._settings.properties,
            self._settings.topic,
            partitions=terms,
            timeout=_LOAD_S,
        ):
            records += 1
            try:
                self._take_in(record, terms[record.partition])
            except SchemaError:
                ignored += 1
        offsets = 0
        for number, term in terms.items():
            state = self._leaders[number].state
            if state.term == term:
                state.loaded()
                offsets += len(state.table)
        if ignored:
            log.warning("offset_manager.records_ignored", records=ignored)
        took_s = time.monotonic() - began
        self._loaded(took_s)
        log.info(
            "offset_manager.loaded",
            partitions=len(terms),
            records=records,
            offsets=offsets,
            duration_ms=round(took_s * 1000),
        )

    def _take_in(self, record: Record, term: int) -> None:
        key = decode_key(record.key or b"")
        stored = None if record.value is None else decode_value(record.value)
        place = log_partition_of(key.group, self._settings.partitions)
        if place != record.partition:
            raise FatalError(
                f"{self._settings.topic} has offsets of group {key.group!r} in partition "
                f"{record.partition}, and they belong in {place}: the number of its partitions has "
                "changed. Set offsets.topic.num.partitions to the former number, and name a topic "
                "with as many partitions in offsets.topic.name."
            )
        state = self._leaders[record.partition].state
        if state.term == term:
            state.load(key, stored, record.offset)
