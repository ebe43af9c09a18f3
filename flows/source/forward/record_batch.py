"""
Record batches of format v2 as bytes: reading their headers, and rewriting these for the target.

Layout and rules are those of Kafka's message format documentation (KIP-98, KIP-534): the header
takes 61 bytes; the checksum covers everything from the attributes on. Keys, values, record
headers, timestamps, compression and batch boundaries survive because they are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from crc32c import crc32c

_HEADER: Final = Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = _HEADER.size
MAGIC: Final = 2
"""Of record batches; older messages have 0 or 1."""

_LENGTH: Final = Struct(">qi")
_MAGIC_AT: Final = 16
_LEGACY_ATTRIBUTES_AT: Final = 17
_SMALLEST: Final = 26
"""Bytes of a message of format 0 without key and value."""

CRC_FROM: Final = 21
_CRC_AT: Final = 17
_CRC: Final = Struct(">I")
_RESTAMPED_HEAD: Final = Struct(">qiib")
_ATTRIBUTES: Final = Struct(">h")
_TIMES_AT: Final = 27
_TIMES: Final = Struct(">qq")
_PRODUCER_AT: Final = 43
_PRODUCER: Final = Struct(">qhi")
PREFIX_SIZE: Final = 12
"""Base offset and length, which the length itself does not count."""

SHORTEST: Final = HEADER_SIZE - PREFIX_SIZE
"""What a batch without records gives as its length."""

CODEC_BITS: Final = 0b111
LOG_APPEND_TIME: Final = 1 << 3
TRANSACTIONAL: Final = 1 << 4
CONTROL: Final = 1 << 5
DELETE_HORIZON: Final = 1 << 6

SEQUENCE_MASK: Final = 0x7FFF_FFFF
"""Sequence numbers wrap from 2^31-1 to 0."""


class CorruptBatch(ValueError):
    """Bytes that are no batch, or do not match their checksum."""


@dataclass(slots=True)  # frozen ones take three times as long to make
class Batch:
    """
    One batch of the source log, not decoded.

    Attributes:
        data: all its bytes, a view on the fetch response.
        magic: format; everything else below holds for 2 only.
        base_offset: offset of its first record, even if that was compacted away.
        last_offset: offset of its last record, even if that was compacted away.
        attributes: codec, timestamp type, transactional, control and delete-horizon bits.
        max_timestamp: largest timestamp in ms, or the append time.
        producer_id: who wrote it, -1 without idempotence.
        leader_epoch: of the leader that appended it, -1 if that is not known.
    """

    data: memoryview
    magic: int
    base_offset: int
    last_offset: int
    count: int
    attributes: int
    max_timestamp: int
    producer_id: int
    leader_epoch: int
    checksum: int

    @property
    def is_control(self) -> bool:
        """Whether it holds a transaction marker and no data."""
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def codec(self) -> int:
        """Number of the compression codec."""
        return self.attributes & CODEC_BITS

    def is_forwardable(self, position: int) -> bool:
        """
        Whether the target's broker takes it as it is but for the producer's fields.

        The broker demands consecutive offsets (no gap from compaction) and create time; a batch
        that begins before ``position`` must lose its first records.
        """
        return (
            self.magic == MAGIC
            and self.base_offset >= position
            and self.last_offset - self.base_offset + 1 == self.count
            and not self.attributes & LOG_APPEND_TIME
        )

    def verify(self) -> None:
        """
        Checks the checksum, which a rewritten header would make right.

        Older formats have one for each message; it is checked when they are read.

        Raises:
            CorruptBatch: it does not match.
        """
        if self.magic == MAGIC and crc32c(self.data[CRC_FROM:]) != self.checksum:
            raise CorruptBatch(
                f"the batch at offset {self.base_offset} does not match its checksum"
            )


def split(data: memoryview) -> Iterator[Batch]:
    """
    The whole batches of a fetch response, in order.

    A batch cut off at the end is left out; the next fetch brings it whole. Batches of the old
    formats (magic 0 and 1) come as single entries whose last offset is their own offset, which for
    a compressed set is that of its last record.

    Raises:
        CorruptBatch: an entry cannot have its stated length, or is of no known format.
    """
    at = 0
    while (batch := read(data, at)) is not None:
        yield batch
        at += len(batch.data)


def read(data: memoryview, at: int) -> Batch | None:
    """
    The batch that begins at ``at``; None if it is cut off, see ``split``.

    Raises:
        CorruptBatch: it cannot have its stated length, or is of no known format.
    """
    if len(data) - at < PREFIX_SIZE + 5:
        return None
    base, length = _LENGTH.unpack_from(data, at)
    following = at + PREFIX_SIZE + length
    if following > len(data):
        return None
    if length < SHORTEST or data[at + _MAGIC_AT] != MAGIC:
        return _legacy(data[at:following], base)
    (_, _, epoch, _, crc, attributes, last_delta, _, max_timestamp, producer, _, _, count) = (
        _HEADER.unpack_from(data, at)
    )
    return Batch(
        data=data[at:following],
        magic=2,
        base_offset=base,
        last_offset=base + last_delta,
        count=count,
        attributes=attributes,
        max_timestamp=max_timestamp,
        producer_id=producer,
        leader_epoch=epoch,
        checksum=crc,
    )


def _legacy(data: memoryview, base: int) -> Batch:
    """A message of the formats before record batches, whose codec has the same bits."""
    magic = data[_MAGIC_AT] if len(data) >= _SMALLEST else None
    if magic not in (0, 1):
        raise CorruptBatch(
            f"the bytes at offset {base} are no batch: {len(data)} of format {magic}"
        )
    codec = data[_LEGACY_ATTRIBUTES_AT] & CODEC_BITS
    return Batch(data, magic, base, base, 1, codec, -1, -1, -1, 0)


def plain(batch: Batch, records: bytes) -> bytes:
    """
    A batch as if its records, which are given decompressed, had never been compressed.

    Its checksum is that of the compressed ones still.
    """
    head = bytearray(batch.data[:HEADER_SIZE])
    _LENGTH.pack_into(head, 0, batch.base_offset, HEADER_SIZE - PREFIX_SIZE + len(records))
    _ATTRIBUTES.pack_into(head, CRC_FROM, batch.attributes & ~CODEC_BITS)
    return bytes(head) + records


def rewrite_header(
    data: bytes | bytearray | memoryview,
    *,
    producer_id: int,
    epoch: int,
    sequence: int,
    transactional: bool = False,
) -> bytearray:
    """
    A batch that the producer ``(producer_id, epoch)`` may send as its own.

    A ``bytearray`` is changed and given back, of anything else it is a copy. It belongs to that
    producer's open transaction if ``transactional``, whatever it belonged to before.

    Base offset becomes 0 and the leader epoch unknown, as in every Produce request. The delete
    horizon bit goes: it is the source cleaner's, and the base timestamp stays valid without it.
    """
    batch = data if isinstance(data, bytearray) else bytearray(data)
    _RESTAMPED_HEAD.pack_into(batch, 0, 0, len(batch) - PREFIX_SIZE, -1, 2)
    (attributes,) = _ATTRIBUTES.unpack_from(batch, CRC_FROM)
    attributes &= ~(TRANSACTIONAL | DELETE_HORIZON)
    _ATTRIBUTES.pack_into(batch, CRC_FROM, attributes | (TRANSACTIONAL if transactional else 0))
    _PRODUCER.pack_into(batch, _PRODUCER_AT, producer_id, epoch, sequence)
    _CRC.pack_into(batch, _CRC_AT, crc32c(memoryview(batch)[CRC_FROM:]))
    return batch


def assemble(
    records: bytes | memoryview,
    *,
    attributes: int,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
) -> bytearray:
    """
    A batch around an (already compressed) records section, offsets from 0.

    It has no producer and no checksum yet: ``rewrite_header`` gives it both.
    """
    length = HEADER_SIZE - PREFIX_SIZE + len(records)
    header = _HEADER.pack(
        0, length, -1, 2, 0, attributes, count - 1, base_timestamp, max_timestamp, -1, -1, -1, count
    )
    return bytearray().join((header, records))


def oldest_timestamp(data: bytes | bytearray | memoryview) -> int:
    """
    The time in ms of a batch's first record or its newest, whichever is older; -1 if it has none.

    Producers write records in the order of their time, or nearly so: the first one is the oldest. A
    cleaned batch of a compacted topic may have another time there, which is later than all others.
    """
    times: tuple[int, int] = _TIMES.unpack_from(data, _TIMES_AT)
    first, newest = times
    return first if 0 <= first < newest else newest


def base_timestamp(data: memoryview) -> int:
    """The timestamp in ms to which the records' timestamp deltas are added."""
    return int(_HEADER.unpack_from(data)[7])
