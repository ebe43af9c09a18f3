"""
Blocks of exact runs as records of ``mm2-offset-runs.<cluster>.internal``.

The key is that of an offset sync, topic and partition, and the block's start. The value is a
version, flags and both topic ids, and then varints: the block's length and, for each run, how far
behind the former it begins on either side and how many records it has. The first run is told from
the block's start and from remote offset 0. A run of a busy transactional partition takes three or
four bytes. No value (a tombstone) takes a block back.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final
from uuid import UUID

from mm2.core.codec import OffsetSync
from mm2.core.model import NO_OFFSET, ClusterAlias, TopicName, TopicPartition
from mm2.core.runs import Block, Logs, Run, Runs
from mm2.errors import SchemaError

_VERSION: Final = 1
_START: Final = struct.Struct(">q")
_HEAD: Final = struct.Struct(">BB16s16s")
_FRESH, _SPARSE, _TRANSACTIONAL = 1, 2, 4
_UNKNOWN: Final = UUID(int=0)
_MOST: Final = 2**63 - 1
_CONTINUES: Final = 0x80
_PAYLOAD: Final = 0x7F


def runs_topic(alias: ClusterAlias) -> TopicName:
    """Names the topic of runs with the cluster ``alias``, the one that it is not on."""
    return TopicName(f"mm2-offset-runs.{alias}.internal")


def encode_key(partition: TopicPartition, start: int) -> bytes:
    """The key of the block that begins at a source offset."""
    return OffsetSync(partition, NO_OFFSET, NO_OFFSET).key() + _START.pack(start)


def encode_value(block: Block) -> bytes:
    """The value of a block."""
    flags = (
        _FRESH * block.is_fresh
        + _SPARSE * block.is_sparse
        + _TRANSACTIONAL * block.is_transactional
    )
    out = bytearray(_HEAD.pack(_VERSION, flags, _id(block.logs.source), _id(block.logs.remote)))
    _put(out, block.end - block.start)
    upstream, downstream = block.start, 0
    for run in block.runs:
        _put(out, run.upstream - upstream)
        _put(out, run.downstream - downstream)
        _put(out, run.records)
        upstream, downstream = run.upstream + run.records, run.downstream + run.records
    return bytes(out)


def decode_key(key: bytes | None) -> tuple[TopicPartition, int]:
    """
    The partition and the start of a block.

    Raises:
        SchemaError: these bytes are no such key.
    """
    if key is None or len(key) < _START.size:
        raise SchemaError("Error reading field 'start': the bytes end too soon")
    partition = OffsetSync.decode(key[: -_START.size], bytes(16)).partition
    (start,) = _START.unpack(key[-_START.size :])
    return partition, int(start)


def decode_value(start: int, value: bytes) -> Block:
    """
    The block that begins at ``start``.

    Raises:
        SchemaError: these bytes are no block, or one of a later version.
    """
    try:
        version, flags, source, remote = _HEAD.unpack_from(value)
        numbers = list(_numbers(value[_HEAD.size :]))
        length, rest = numbers[0], numbers[1:]
        runs = Runs(_runs(start, rest))
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        raise SchemaError(f"Error reading a block of runs: {error}") from error
    if version != _VERSION:
        raise SchemaError(f"Error reading a block of runs: version {version} is not known")
    return Block(
        start=start,
        end=start + length,
        runs=runs,
        logs=Logs(_topic_id(source), _topic_id(remote)),
        is_fresh=bool(flags & _FRESH),
        is_sparse=bool(flags & _SPARSE),
        is_transactional=bool(flags & _TRANSACTIONAL),
    )


def _runs(start: int, numbers: list[int]) -> Iterator[Run]:
    upstream, downstream = start, 0
    each = iter(numbers)
    for gap, jump, count in zip(each, each, each, strict=True):
        run = Run(upstream + gap, downstream + jump, count)
        upstream, downstream = run.upstream + count, run.downstream + count
        if max(upstream, downstream) > _MOST:
            raise ValueError("an offset is larger than 64 bits")
        yield run


def _put(out: bytearray, number: int) -> None:
    """Adds an unsigned varint."""
    while number > _PAYLOAD:
        out.append(number & _PAYLOAD | _CONTINUES)
        number >>= 7
    out.append(number)


def _numbers(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & _PAYLOAD) << shift
        shift += 7
        if byte < _CONTINUES:
            yield number
            number = shift = 0
    if shift:
        raise ValueError("the bytes end inside a number")


def _id(topic: UUID | None) -> bytes:
    return (topic or _UNKNOWN).bytes


def _topic_id(data: bytes) -> UUID | None:
    topic = UUID(bytes=data)
    return None if topic == _UNKNOWN else topic
