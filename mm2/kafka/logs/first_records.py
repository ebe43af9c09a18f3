"""Looks at single records of ordinary topics, where only a few are of interest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition as ClientPartition

from mm2.core.model import TopicPartition
from mm2.kafka.cancelling import cancellable
from mm2.kafka.client_errors import translated
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.connecting import connected
from mm2.kafka.logs.log_consumer import record_of
from mm2.kafka.logs.records import Record

Range = tuple[int, int]
"""An offset, and the offset behind the last one that is meant."""

_POLL_MS: Final = 100


async def first_records(
    alias: str,
    properties: Mapping[str, str],
    ranges: Mapping[TopicPartition, Range],
    *,
    read_committed: bool,
    within_s: float = 10.0,
) -> dict[TopicPartition, Record | None]:
    """
    The first record in each range; None where there is none, as between the ends of a gap.

    Partitions that cannot be read through in time are left out: nothing is known of them.

    Args:
        ranges: where to look; an empty range has no record.
        read_committed: whether aborted records, and those of open transactions, do not count.

    Raises:
        ClusterError: the cluster does not answer, or refuses.
    """
    found: dict[TopicPartition, Record | None] = {
        where: None for where, (first, end) in ranges.items() if first >= end
    }
    wanted = {where: each for where, each in ranges.items() if where not in found}
    if not wanted:
        return found
    settings = await asyncio.to_thread(aiokafka_settings, properties)
    consumer = AIOKafkaConsumer(
        **settings,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed" if read_committed else "read_uncommitted",
    )
    try:
        with translated(alias, "look at records"):
            async with asyncio.timeout(within_s):
                await connected(consumer)
            await _search(consumer, wanted, found, within_s)
    finally:
        await cancellable(consumer.stop())
    return found


async def _search(
    consumer: AIOKafkaConsumer,
    wanted: Mapping[TopicPartition, Range],
    found: dict[TopicPartition, Record | None],
    within_s: float,
) -> None:
    open_ = {ClientPartition(*where): where for where in wanted}
    consumer.assign(list(open_))
    for theirs, where in open_.items():
        consumer.seek(theirs, wanted[where][0])
    deadline = asyncio.get_running_loop().time() + within_s
    while open_ and asyncio.get_running_loop().time() < deadline:
        for theirs, records in (await consumer.getmany(timeout_ms=_POLL_MS)).items():
            if theirs in open_:
                where, first = open_.pop(theirs), record_of(records[0])
                found[where] = first if first.offset < wanted[where][1] else None
                consumer.pause(theirs)
        # Positions, unlike records, also pass what transactions and compaction leave behind.
        for theirs, where in list(open_.items()):
            if await consumer.position(theirs) >= wanted[where][1]:
                found[where] = None
                del open_[theirs]
