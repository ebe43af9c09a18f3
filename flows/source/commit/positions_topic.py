"""
Positions in Connect's own topic.

``mm2-offsets.<source>.internal`` on the target holds, for each source partition, the upstream
offset of the last mirrored record, in the format of Connect's offset store, so that Java's
MirrorMaker and this one can take over from each other. Positions are written by the same fenced
producer as the records: a task that has been replaced cannot turn one back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import structlog

from flows.source.forward.recode import encode
from flows.source.forward.record_body import DecodedRecord, keyed_body
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.core.connect.offset_records import SourcePartition, encode_key
from mm2.core.connect.offset_records import encode_offset as encode_position
from mm2.core.model import SOURCE_CONNECTOR, ClusterAlias, TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.core.positions.log_identity import HEADER, Lineage
from mm2.errors import FlowError
from mm2.kafka.wire.compression import UNCOMPRESSED
from mm2.kafka.wire.error_codes import code_name

log = structlog.get_logger()

Position = tuple[MirroredPartition, int, Lineage]
"""A partition, the offset of its last mirrored record, and the logs that this speaks of."""


def position_of(
    partition: MirroredPartition, offset: int, last: OutgoingBatch | None = None
) -> Position:
    """
    Returns the position at ``offset`` as it is now, whatever happens until it is stored.

    ``last`` is the last batch before it, if the target has that in an open transaction only.
    """
    lineage = partition.lineage
    if last is not None:
        lineage = replace(lineage, remote_end=last.next_offset)
    return partition, offset, lineage


class PositionsTopic:
    """
    Writes records of the positions topic.

    Args:
        partitions: returns the topic's number of partitions; 0 means unchanged.

    Attributes:
        refusal: the error code of records that the target refused for good.
    """

    def __init__(
        self,
        producer: Producer,
        *,
        source: ClusterAlias,
        topic: TopicName,
        partitions: Callable[[], int],
        now_ms: Callable[[], int],
        connector: str = SOURCE_CONNECTOR,
    ) -> None:
        self._producer = producer
        self._source = source
        self._connector = connector
        self._now_ms = now_ms
        self._topic = topic
        self._partitions = partitions
        self._count = 0
        self._senders: dict[int, PartitionSender] = {}
        self._places: dict[TopicPartition, tuple[bytes, PartitionSender]] = {}
        self.refusal: int | None = None

    def sender_of(self, partition: TopicPartition) -> PartitionSender:
        """The way that the positions of a source partition take."""
        return self._place(partition)[1]

    def by_sender(self, positions: Iterable[Position]) -> dict[PartitionSender, list[Position]]:
        """Positions by the way that they take."""
        found: dict[PartitionSender, list[Position]] = {}
        for position in positions:
            found.setdefault(self.sender_of(position[0].source), []).append(position)
        return found

    def write(self, positions: Mapping[PartitionSender, Sequence[Position]]) -> None:
        """Sends positions, as one batch for each way that they take."""
        for sender, each in positions.items():
            self._write(sender, each)

    def _write(self, sender: PartitionSender, positions: Sequence[Position]) -> None:
        now = self._now_ms()
        records = [
            DecodedRecord(
                number,
                max(now, each.progress.elsewhere_ms + 1),
                _body(self._place(each.source)[0], offset, lineage),
            )
            for number, (each, offset, lineage) in enumerate(positions)
        ]
        batch = encode(records, UNCOMPRESSED)
        self._producer.send(sender, batch.data, list(batch.offsets))

    def check(self, flow: str) -> None:
        """
        Nothing, normally.

        Raises:
            FlowError: the target refuses to store positions for good.
        """
        if self.refusal is not None:
            raise FlowError(
                flow, f"the positions topic answers {code_name(self.refusal)}: see its limits"
            )

    def _place(self, partition: TopicPartition) -> tuple[bytes, PartitionSender]:
        """Key and sender; they are asked for at each commit, and change if the topic grows."""
        self._refresh_count()
        if (place := self._places.get(partition)) is None:
            key = encode_key(self._connector, SourcePartition(self._source, *partition))
            place = key, self._sender(partition_for(key, self._count))
            self._places[partition] = place
        return place

    def _sender(self, number: int) -> PartitionSender:
        if (sender := self._senders.get(number)) is None:
            sender = PartitionSender(TopicPartition(self._topic, number), on_refused=self._refuse)
            self._senders[number] = sender
        return sender

    def _refresh_count(self) -> None:
        if (count := self._partitions()) in {0, self._count}:
            return
        if self._count:
            log.warning(
                "positions.partitions_changed", topic=self._topic, before=self._count, now=count
            )
        self._count = count
        self._places.clear()

    def _refuse(self, _batch: OutgoingBatch, code: int) -> SendState:
        self.refusal = code
        return SendState.STOP


def _body(key: bytes, offset: int, lineage: Lineage) -> bytes:
    """Connect's own key and value, and a header that Connect passes over."""
    return keyed_body(key, encode_position(offset), [(HEADER.encode(), lineage.encode())])
