"""Codecs: what is written can be read, and reading ends well or with a schema error."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.connect.offset_records import (
    CheckpointPartition,
    HeartbeatPartition,
    OffsetPartition,
    SourcePartition,
    decode_key,
    decode_offset,
    encode_key,
    encode_offset,
)
from mm2.core.internal_records import Checkpoint, Heartbeat, OffsetSync
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.errors import SchemaError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
ALIASES = TEXT.map(ClusterAlias)
TOPICS = TEXT.map(TopicName)
GROUPS = TEXT.map(GroupId)
PARTITIONS = st.builds(TopicPartition, TOPICS, INT32)

RECORDS: st.SearchStrategy[Heartbeat | Checkpoint | OffsetSync] = st.one_of(
    st.builds(Heartbeat, ALIASES, ALIASES, INT64),
    st.builds(Checkpoint, GROUPS, PARTITIONS, INT64, INT64, TEXT),
    st.builds(OffsetSync, PARTITIONS, INT64, INT64),
)
POSITIONS: st.SearchStrategy[OffsetPartition] = st.one_of(
    st.builds(SourcePartition, ALIASES, TOPICS, INT32),
    st.builds(CheckpointPartition, GROUPS, TOPICS, INT32),
    st.builds(HeartbeatPartition, ALIASES, ALIASES),
)


@given(record=RECORDS, more=st.binary(max_size=8))
def test_records_survive_and_ignore_what_follows(
    record: Heartbeat | Checkpoint | OffsetSync, more: bytes
) -> None:
    """C319-C322."""
    assert type(record).decode(record.key() + more, record.value() + more) == record


@given(
    kind=st.sampled_from([Heartbeat, Checkpoint, OffsetSync]),
    key=st.none() | st.binary(max_size=40),
    value=st.none() | st.binary(max_size=40),
)
def test_any_bytes_are_a_record_or_a_schema_error(
    kind: type[Heartbeat | Checkpoint | OffsetSync], key: bytes | None, value: bytes | None
) -> None:
    """C322, C428, C429."""
    with contextlib.suppress(SchemaError):
        assert isinstance(kind.decode(key, value), kind)


@given(name=TEXT, partition=POSITIONS)
def test_positions_survive(name: str, partition: OffsetPartition) -> None:
    """C450."""
    assert decode_key(encode_key(name, partition)) == (name, partition)


@given(offset=st.integers(0, 2**63 - 1))
def test_offsets_survive(offset: int) -> None:
    assert decode_offset(encode_offset(offset)) == offset


@given(data=st.binary(max_size=60))
def test_any_bytes_are_a_position_or_a_schema_error(data: bytes) -> None:
    with contextlib.suppress(SchemaError):
        decode_key(data)
    with contextlib.suppress(SchemaError):
        decode_offset(data)


@given(key=st.binary(), count=st.integers(1, 1000))
def test_every_key_has_a_partition(key: bytes, count: int) -> None:
    assert 0 <= partition_for(key, count) < count
