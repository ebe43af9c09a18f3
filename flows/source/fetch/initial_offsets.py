"""Finds the offsets at which partitions without a position begin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import structlog

from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.positions.start_rules import Begin, Start
from mm2.kafka.wire.requests.list_offsets import EARLIEST, LATEST
from mm2.kafka.wire.wire_client import WireClient

log = structlog.get_logger()


class InitialOffsets:
    """
    Resolves starts (earliest, latest, a time, an offset) to offsets of the source.

    Args:
        client: the source; it must track the partitions' topics.
        read_committed: the end stands before the first open transaction.
    """

    def __init__(
        self, client: WireClient, *, read_committed: bool, now_ms: Callable[[], int]
    ) -> None:
        self._client = client
        self._read_committed = read_committed
        self._now_ms = now_ms

    async def find(self, starts: Mapping[TopicPartition, Start]) -> dict[TopicPartition, int]:
        """
        Returns the offsets; partitions for which no broker answers are left out: ask again.

        A time after the last record stands for the end of the log, and an offset outside of the log
        for its nearer end.

        Raises:
            Unavailable: the source does not answer.
        """
        places: dict[Start, list[TopicPartition]] = {}
        for where, start in starts.items():
            places.setdefault(start, []).append(where)
        found: dict[TopicPartition, int] = {}
        for start, partitions in places.items():
            found |= await self._find(start, partitions)
        return found

    async def _find(
        self, start: Start, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, int]:
        match start.begin:
            case Begin.OFFSET:
                return await self._clamped(start.number, partitions)
            case Begin.TIME:
                return await self._since(start.number, partitions)
            case Begin.AGO:
                return await self._since(max(0, self._now_ms() - start.number), partitions)
            case Begin.LATEST:
                return await self._ask(partitions, LATEST)
            case _:
                return await self._ask(partitions, EARLIEST)

    async def _since(
        self, time_ms: int, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, int]:
        found = await self._ask(partitions, time_ms)
        later = [where for where, offset in found.items() if offset == NO_OFFSET]
        ends = await self._ask(later, LATEST)
        return {w: at for w, at in found.items() if at != NO_OFFSET} | ends

    async def _clamped(
        self, offset: int, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, int]:
        starts = await self._ask(partitions, EARLIEST)
        ends = await self._ask(partitions, LATEST)
        found = {w: min(max(offset, starts[w]), ends[w]) for w in starts if w in ends}
        for where, nearest in found.items():
            if nearest != offset:
                log.warning(
                    "source.start_moved",
                    topic=where.topic,
                    partition=where.partition,
                    wanted=offset,
                    start=nearest,
                )
        return found

    async def _ask(
        self, partitions: Iterable[TopicPartition], at: int
    ) -> dict[TopicPartition, int]:
        return await self._client.list_offsets(partitions, at, read_committed=self._read_committed)
