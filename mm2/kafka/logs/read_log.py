"""
Reads small compacted topics to their end.

Used for positions, offset syncs, checkpoints, control and progress.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack

from mm2.kafka.client_errors import translated
from mm2.kafka.logs.log_consumer import TIMEOUT_S, assign, end_offsets, log_consumer, poll, reached
from mm2.kafka.logs.records import Record

__all__ = ["Record", "read_to_end", "records_to_end"]


async def read_to_end(
    alias: str,
    properties: Mapping[str, str],
    topic: str,
    *,
    partitions: Iterable[int] | None = None,
    newest_only: bool = False,
    accepts: Callable[[bytes | None], bool] | None = None,
    timeout: float = TIMEOUT_S,  # noqa: ASYNC109  # becomes an error that names the cluster
) -> list[Record]:
    """
    Reads a topic up to where it ended when asked, each partition's records in their order.

    Only what is committed is read. Transactions still open when asked are not waited for.

    Args:
        newest_only: of each key only the last record, which bounds the memory for topics whose
            old records have not been compacted away yet.
        accepts: looks at a record's key, and says whether the record is kept; None keeps all.
        timeout: seconds without any record coming in.

    Raises:
        UnknownTopic: the topic is not there.
        Unavailable: not done in time.
        ClusterError: the cluster refuses.
    """
    found: dict[tuple[int, bytes | int | None], Record] = {}
    records = records_to_end(alias, properties, topic, partitions=partitions, timeout=timeout)
    async for record in records:
        if accepts is not None and not accepts(record.key):
            continue
        place = (record.partition, record.key if newest_only else record.offset)
        found.pop(place, None)
        found[place] = record
    return list(found.values())


async def records_to_end(
    alias: str,
    properties: Mapping[str, str],
    topic: str,
    *,
    partitions: Iterable[int] | None = None,
    starts: Mapping[int, int] | None = None,
    timeout: float = TIMEOUT_S,  # noqa: ASYNC109  # becomes an error that names the cluster
    at_most_s: float = math.inf,
) -> AsyncIterator[Record]:
    """
    Yields what ``read_to_end`` returns, as it comes; raises the same errors.

    Args:
        starts: offsets to begin with; partitions that are not in it are read from their beginning.
        at_most_s: seconds after which nothing more is read, without an error.
    """
    what, clock = f"read {topic} to its end", asyncio.get_running_loop().time
    patience, stop = clock() + timeout, clock() + at_most_s
    async with AsyncExitStack() as stack:
        with translated(alias, what):
            async with asyncio.timeout_at(min(patience, stop)):
                consumer = await stack.enter_async_context(log_consumer(alias, properties))
                await assign(consumer, alias, topic, partitions, starts or {})
                ends = await end_offsets(consumer)
        # The last poll may bring records written after we asked.
        limits = {each.partition: end for each, end in ends.items()}
        while clock() < stop:
            with translated(alias, what):
                async with asyncio.timeout_at(patience):
                    if await reached(consumer, ends):
                        return
                records = await poll(consumer)
                patience = clock() + timeout if records else patience
                if clock() > patience:
                    raise TimeoutError
            for record in records:
                if record.offset < limits[record.partition]:
                    yield record
