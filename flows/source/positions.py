"""
Positions in Connect's own topic: read when a task starts, written as it goes.

``mm2-offsets.<source>.internal`` on the target holds, for each source partition, the upstream
offset of the last mirrored record, in the format of Connect's offset store, so that Java's
MirrorMaker and this one can take over from each other. Positions are written by the same fenced
producer as the records: a task that has been replaced cannot turn one back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import structlog

from flows.source.lane import Lane, Outgoing, Verdict
from flows.source.partition import Mirrored
from flows.source.produce import Producer
from flows.source.recode import Record, encode, keyed_body
from mm2.core.connect_offsets import SourcePartition, encode_key
from mm2.core.connect_offsets import encode_offset as encode_position
from mm2.core.lineage import HEADER, Lineage
from mm2.core.model import NO_OFFSET, SOURCE_CONNECTOR, ClusterAlias, TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.core.positions import positions_of
from mm2.errors import FlowError
from mm2.kafka import records as stored
from mm2.kafka.wire.codecs import UNCOMPRESSED
from mm2.kafka.wire.codes import code_name

log = structlog.get_logger()

_COMMIT_WITHIN_S: Final = 5.0


def lineages_of(
    records: Iterable[stored.Record], source: ClusterAlias
) -> dict[TopicPartition, Lineage]:
    """What the last position of each partition says of the logs that it speaks of."""
    return {
        where: Lineage.of(record.headers)
        for record in records
        for where in positions_of([(record.key, record.value)], source)
    }


class Positions:
    """
    Writes the positions of a task's partitions.

    Args:
        flow: for messages.
        producer: the task's.
        source: alias of the source cluster.
        topic: the positions topic.
        partitions: how many partitions that topic has.
        now_ms: the clock.
    """

    def __init__(
        self,
        producer: Producer,
        *,
        flow: str,
        source: ClusterAlias,
        topic: TopicName,
        partitions: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._flow = flow
        self._producer = producer
        self._source = source
        self._now_ms = now_ms
        self._refusal: int | None = None
        self._lanes = [
            Lane(TopicPartition(topic, number), on_refused=self._refuse)
            for number in range(partitions)
        ]

    async def commit(self, partitions: Iterable[Mirrored]) -> int:
        """
        Writes the positions that moved; returns how many the target has.

        One partition of the topic that takes long does not hold up the others: its positions are
        written again later.

        Raises:
            FlowError: the target refuses to store positions for good.
        """
        moved: list[tuple[Mirrored, int, Lane]] = []
        entries: dict[Lane, list[tuple[bytes, Mirrored]]] = {}
        for partition in filter(_has_moved, partitions):
            key = encode_key(SOURCE_CONNECTOR, SourcePartition(self._source, *partition.source))
            lane = self._lanes[partition_for(key, len(self._lanes))]
            if lane.is_idle or lane in entries:
                entries.setdefault(lane, []).append((key, partition))
                moved.append((partition, partition.mirrored, lane))
        for lane, positions in entries.items():
            self._write(lane, positions)
        if not await self._producer.flush(entries, within_s=_COMMIT_WITHIN_S):
            late = {str(lane.target): lane.last_error for lane in entries if not lane.is_idle}
            log.warning("positions.late", partitions=late, within_s=_COMMIT_WITHIN_S)
        if self._refusal is not None:
            raise FlowError(
                self._flow,
                f"the positions topic answers {code_name(self._refusal)}: see its limits",
            )
        written = [(p, mirrored) for p, mirrored, lane in moved if lane.is_idle]
        for partition, mirrored in written:
            partition.committed = mirrored
        return len(written)

    def _write(self, lane: Lane, positions: list[tuple[bytes, Mirrored]]) -> None:
        now = self._now_ms()
        records = [
            Record(number, now, _body(key, partition))
            for number, (key, partition) in enumerate(positions)
        ]
        batch = encode(records, UNCOMPRESSED)
        self._producer.send(lane, batch.data, list(batch.offsets), batch.max_timestamp)

    def _refuse(self, _batch: Outgoing, code: int) -> Verdict:
        self._refusal = code
        return Verdict.STOP


def _body(key: bytes, partition: Mirrored) -> bytes:
    """Connect's own key and value, and a header that Connect passes over."""
    lineage = (HEADER.encode(), partition.lineage.encode())
    return keyed_body(key, encode_position(partition.mirrored), [lineage])


def _has_moved(partition: Mirrored) -> bool:
    if partition.mirrored == NO_OFFSET:
        return partition.begins_empty and partition.committed != NO_OFFSET
    return partition.mirrored != partition.committed
