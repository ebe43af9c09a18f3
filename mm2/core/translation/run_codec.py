"""
Blocks of exact runs as records of ``mm2-offset-runs.<cluster>.internal``.

The key is that of an offset sync, topic and partition, then the block's start, and a number that
stands for the tenure of the task that wrote it, if there is one: compaction must not take a block
for one that a task wrote which had lost the partition. The value is a version, flags and both topic
ids, and then varints: the tenure of the task that wrote it if a flag says that there is one, the
block's length and, for each run, how far behind the former it begins on either side and how many
records it has. The first run is told from the block's start and from remote offset 0. A run of a
busy transactional partition takes three or four bytes. No value (a tombstone) takes a block back.

Version 2 has no numbers in its keys, and version 1 no tenures; both are still read. Releases that
know no others refuse version 3, as they must: they would misread where such a block begins.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from itertools import accumulate
from operator import add, or_
from typing import Final
from uuid import UUID

from mm2.core.internal_records import OffsetSync
from mm2.core.model import NO_OFFSET, ClusterAlias, TopicName, TopicPartition
from mm2.core.translation.runs import Block, BlockName, Logs, Run, Runs, TaskTenure
from mm2.errors import SchemaError

_VERSION: Final = 3
_EARLIER: Final = (1, 2)
_START: Final = struct.Struct(">q")
_TAG: Final = struct.Struct(">I")
_START_AND_TAG: Final = struct.Struct(">qI")
_NO_OFFSETS: Final = bytes(16)
_HEAD: Final = struct.Struct(">BB16s16s")
_FRESH, _SPARSE, _TRANSACTIONAL, _TENURE = 1, 2, 4, 8
_UNKNOWN: Final = UUID(int=0)
_MOST: Final = 2**63 - 1
_NUMBER: Final = re.compile(rb"[\x80-\xff]*+[\0-\x7f]")
"""One varint: what is not its last byte has the highest bit."""

_CONTINUES: Final = 0x80
_PAYLOAD: Final = 0x7F


def runs_topic(alias: ClusterAlias) -> TopicName:
    """Names the topic of runs with the cluster ``alias``, the one that it is not on."""
    return TopicName(f"mm2-offset-runs.{alias}.internal")


def encode_key(partition: TopicPartition, start: int, tag: int = 0) -> bytes:
    """The key of the block of this name."""
    key = OffsetSync(partition, NO_OFFSET, NO_OFFSET).key() + _START.pack(start)
    return key + _TAG.pack(tag) if tag else key


def encode_value(block: Block) -> bytes:
    """The value of a block."""
    flags = (
        _FRESH * block.is_fresh
        + _SPARSE * block.is_sparse
        + _TRANSACTIONAL * block.is_transactional
        + _TENURE * (block.tenure is not None)
    )
    out = bytearray(_HEAD.pack(_VERSION, flags, _id(block.logs.source), _id(block.logs.remote)))
    for number in block.tenure or ():
        _put(out, number)
    _put(out, block.end - block.start)
    upstream, downstream = block.start, 0
    for run in block.runs:
        _put(out, run.upstream - upstream)
        _put(out, run.downstream - downstream)
        _put(out, run.records)
        upstream, downstream = run.upstream + run.records, run.downstream + run.records
    return bytes(out)


def decode_key(key: bytes | None) -> tuple[TopicPartition, BlockName]:
    """
    The partition and the name of a block.

    Raises:
        SchemaError: these bytes are no such key.
    """
    partition = OffsetSync.decode(key, _NO_OFFSETS).partition
    rest = (key or b"")[len(OffsetSync(partition, NO_OFFSET, NO_OFFSET).key()) :]
    if len(rest) == _START.size:
        return partition, BlockName(*_START.unpack(rest))
    try:
        return partition, BlockName(*_START_AND_TAG.unpack(rest))
    except struct.error as error:
        raise SchemaError("Error reading field 'start': its size is wrong") from error


def decode_value(name: BlockName, value: bytes) -> Block:
    """
    The block of this name.

    Raises:
        SchemaError: these bytes are no block, or one of a later version.
    """
    try:
        version, flags, source, remote = _HEAD.unpack_from(value)
        numbers = _numbers(value[_HEAD.size :])
        tenure = TaskTenure(*numbers[: len(TaskTenure._fields)]) if flags & _TENURE else None
        length, *rest = numbers if tenure is None else numbers[len(tenure) :]
        runs = _runs(name.start, rest)
    except (struct.error, TypeError, OverflowError, ValueError) as error:
        raise SchemaError(f"Error reading a block of runs: {error}") from error
    if version not in (_VERSION, *_EARLIER):
        raise SchemaError(f"Error reading a block of runs: version {version} is not known")
    return Block(
        start=name.start,
        end=name.start + length,
        runs=runs,
        logs=Logs(_topic_id(source), _topic_id(remote)),
        is_fresh=bool(flags & _FRESH),
        is_sparse=bool(flags & _SPARSE),
        is_transactional=bool(flags & _TRANSACTIONAL),
        tenure=tenure,
        is_tagged=tenure is None or bool(name.tag),
    )


def _runs(start: int, numbers: list[int]) -> Runs:
    """Decoded in one pass: a starting reader has many of them."""
    gaps, jumps, counts = numbers[::3], numbers[1::3], numbers[2::3]
    if not len(gaps) == len(jumps) == len(counts):
        raise ValueError("the bytes end inside a run")
    upstreams = _begins(start, gaps, counts)
    downstreams = _begins(0, jumps, counts)
    if counts and max(upstreams[-1], downstreams[-1]) + counts[-1] > _MOST:
        raise ValueError("an offset is larger than 64 bits")
    if 0 in map(or_, gaps[1:], jumps[1:]):
        return Runs(map(Run, upstreams, downstreams, counts))  # Some are one.
    return Runs.of(upstreams, downstreams, counts)


def _begins(first: int, gaps: list[int], counts: list[int]) -> list[int]:
    ends = accumulate(map(add, gaps, counts), initial=first)
    return list(map(add, ends, gaps))


def _put(out: bytearray, number: int) -> None:
    while number > _PAYLOAD:
        out.append(number & _PAYLOAD | _CONTINUES)
        number >>= 7
    out.append(number)


def _numbers(data: bytes) -> list[int]:
    if data[-1:] > b"\x7f":
        raise ValueError("the bytes end inside a number")
    return [each[0] if len(each) == 1 else _number(each) for each in _NUMBER.findall(data)]


def _number(data: bytes) -> int:
    number = 0
    for byte in reversed(data):
        number = number << 7 | byte & _PAYLOAD
    return number


def _id(topic: UUID | None) -> bytes:
    return (topic or _UNKNOWN).bytes


@lru_cache(maxsize=4096)
def _topic_id(data: bytes) -> UUID | None:
    topic = UUID(bytes=data)
    return None if topic == _UNKNOWN else topic
