"""Which commits an offset manager refuses, and what its log's records look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import OffsetError, StoredOffset, commit_refusal
from mm2.core.offset_manager.committed_offset_records import (
    OffsetKey,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from mm2.core.translation.group_commits import decode_commit
from mm2.errors import SchemaError

GOOD = TopicPartition(TopicName("orders"), 0)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(0, 2**63 - 1)
KEYS = st.builds(
    OffsetKey,
    TEXTS,
    st.builds(TopicPartition, TEXTS.map(TopicName), st.integers(0, 2**31 - 1)),
)
WITH_EPOCH = st.builds(
    StoredOffset,
    offset=NUMBERS,
    metadata=TEXTS,
    leader_epoch=st.integers(-1, 2**31 - 1),
    commit_ms=NUMBERS,
    expire_ms=st.none(),
)
WITH_EXPIRY = st.builds(
    StoredOffset,
    offset=NUMBERS,
    metadata=TEXTS,
    leader_epoch=st.just(-1),
    commit_ms=NUMBERS,
    expire_ms=NUMBERS,
)


def stored(offset: int = 5, metadata: str = "") -> StoredOffset:
    return StoredOffset(offset=offset, metadata=metadata, commit_ms=0)


@pytest.mark.parametrize(
    ("where", "value", "error"),
    [
        (GOOD, stored(metadata="x" * 11), OffsetError.OFFSET_METADATA_TOO_LARGE),
        (GOOD, stored(metadata="é" * 6), OffsetError.OFFSET_METADATA_TOO_LARGE),
        (GOOD, stored(-1), OffsetError.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition(TopicName("orders"), -1), stored(), OffsetError.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition(TopicName("a b"), 0), stored(), OffsetError.INVALID_TOPIC_EXCEPTION),
        (TopicPartition(TopicName(""), 0), stored(), OffsetError.INVALID_TOPIC_EXCEPTION),
        (TopicPartition(TopicName(".."), 0), stored(), OffsetError.INVALID_TOPIC_EXCEPTION),
        (TopicPartition(TopicName("x" * 250), 0), stored(), OffsetError.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_one_bad_partition_refuses_the_whole_commit(
    where: TopicPartition, value: StoredOffset, error: OffsetError
) -> None:
    others = {TopicPartition(TopicName("orders"), n): stored() for n in range(1, 4)}
    assert commit_refusal("g", others | {where: value}, metadata_bytes=10) is error
    assert commit_refusal("g", others, metadata_bytes=10) is OffsetError.NONE


def test_metadata_of_exactly_the_limit_is_taken() -> None:
    assert commit_refusal("g", {GOOD: stored(metadata="x" * 10)}, metadata_bytes=10) == 0


@pytest.mark.parametrize("group", ["", "g" * 2**15])
def test_a_group_needs_a_name_that_fits_into_a_record(group: str) -> None:
    error = commit_refusal(group, {GOOD: stored()}, metadata_bytes=10)
    assert error is OffsetError.INVALID_GROUP_ID


@given(KEYS, WITH_EPOCH | WITH_EXPIRY)
def test_records_are_read_as_they_were_written(key: OffsetKey, value: StoredOffset) -> None:
    assert decode_key(encode_key(key)) == key
    assert decode_value(encode_value(value)) == value


@given(KEYS, WITH_EPOCH | WITH_EXPIRY)
def test_records_are_those_of_kafkas_own_offsets_topic(key: OffsetKey, value: StoredOffset) -> None:
    commit = decode_commit(encode_key(key), encode_value(value))
    assert commit is not None
    assert (commit.group, commit.partition, commit.offset) == (key.group, key.where, value.offset)


@given(st.binary(max_size=60))
def test_other_bytes_are_a_schema_error_or_a_record(data: bytes) -> None:
    for decode in (decode_key, decode_value):
        try:
            decode(data)
        except SchemaError:
            continue


@pytest.mark.parametrize("decode", [decode_key, decode_value])
@pytest.mark.parametrize("data", [b"", b"\0", b"\0\x63" + bytes(40), b"\0\1\x7f\xff"])
def test_what_is_no_record_is_refused(decode: object, data: bytes) -> None:
    assert callable(decode)
    with pytest.raises(SchemaError):
        decode(data)


def test_a_value_of_the_oldest_version_is_read() -> None:
    data = b"\0\0" + (7).to_bytes(8, "big") + b"\0\1m" + (9).to_bytes(8, "big")
    assert decode_value(data) == StoredOffset(offset=7, metadata="m", commit_ms=9)


@pytest.mark.parametrize("metadata", ["", "m", "x" * 200])
def test_a_value_as_kafka_4_3_writes_it_is_read(metadata: str) -> None:
    length = len(metadata) + 1
    compact = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
    numbers = (7).to_bytes(8, "big") + (2).to_bytes(4, "big")
    data = b"\0\4" + numbers + compact + metadata.encode() + (9).to_bytes(8, "big") + b"\0"
    expected = StoredOffset(offset=7, metadata=metadata, leader_epoch=2, commit_ms=9)
    assert decode_value(data) == expected
    for end in (13, 14, len(data) - 2):
        with pytest.raises(SchemaError):
            decode_value(data[:end])
