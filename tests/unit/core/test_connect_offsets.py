"""Behaviours 1.4: positions in Connect's format."""

from __future__ import annotations

import pytest

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
from mm2.core.model import ClusterAlias, GroupId, TopicName
from mm2.core.murmur2 import murmur2, partition_for
from mm2.errors import SchemaError

A, B = ClusterAlias("A"), ClusterAlias("B")

CAPTURED: list[tuple[str, OffsetPartition, str]] = [
    (
        "MirrorSourceConnector",
        SourcePartition(A, TopicName("orders"), 7),
        '["MirrorSourceConnector",{"cluster":"A","partition":7,"topic":"orders"}]',
    ),
    (
        "MirrorCheckpointConnector",
        CheckpointPartition(GroupId("grp"), TopicName("A.orders"), 7),
        '["MirrorCheckpointConnector",{"partition":7,"topic":"A.orders","group":"grp"}]',
    ),
    (
        "MirrorHeartbeatConnector",
        HeartbeatPartition(A, B),
        '["MirrorHeartbeatConnector",{"sourceClusterAlias":"A","targetClusterAlias":"B"}]',
    ),
    (
        "nämé",
        SourcePartition(A, TopicName('té"x/ü'), 0),
        '["nämé",{"cluster":"A","partition":0,"topic":"té\\"x/ü"}]',
    ),
]


@pytest.mark.parametrize(("name", "partition", "key"), CAPTURED)
def test_keys_are_javas_bytes(name: str, partition: OffsetPartition, key: str) -> None:
    """C450."""
    assert encode_key(name, partition).decode() == key
    assert decode_key(key.encode()) == (name, partition)


def test_unusual_letters_are_written_as_jackson_does() -> None:
    """C450."""
    key = encode_key("\x1f\\u001f\t😀", HeartbeatPartition(A, B))
    assert key.startswith(b'["\\u001F\\\\u001f\\t\\uD83D\\uDE00",')


def test_names_may_stand_in_any_order_and_with_blanks() -> None:
    key = b'[ "c", {"topic": "t", "cluster": "A", "partition": 1} ]'
    assert decode_key(key) == ("c", SourcePartition(A, TopicName("t"), 1))


@pytest.mark.parametrize("offset", [0, 42, 9007199254740993])
def test_offsets_are_javas_bytes(offset: int) -> None:
    assert encode_offset(offset) == b'{"offset":%d}' % offset
    assert decode_offset(encode_offset(offset)) == offset


@pytest.mark.parametrize("value", [None, b"null", b"{}", b'{"offset":null}', b'{"offset":-1}'])
def test_a_position_that_was_reset_or_never_written_is_none(value: bytes | None) -> None:
    """C207."""
    assert decode_offset(value) is None


@pytest.mark.parametrize("value", [b"", b"[1]", b'{"offset":"1"}', b'{"offset":true}', b"\xff"])
def test_a_value_that_is_no_position_is_a_schema_error(value: bytes) -> None:
    with pytest.raises(SchemaError):
        decode_offset(value)


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"\xff",
        b'"name"',
        b'["name"]',
        b'["name",{}]',
        b'[1,{"sourceClusterAlias":"A","targetClusterAlias":"B"}]',
        b'["name",{"sourceClusterAlias":1,"targetClusterAlias":"B"}]',
        b'["name",{"cluster":"A","topic":"t","partition":"1"}]',
        b'["name",{"cluster":"A","topic":"t","partition":true}]',
    ],
)
def test_a_key_of_something_else_is_a_schema_error(key: bytes) -> None:
    with pytest.raises(SchemaError):
        decode_key(key)


@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        (b"", 275646681),
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
    ],
)
def test_murmur2_is_kafkas(data: bytes, hashed: int) -> None:
    assert murmur2(data) == hashed % 2**32


def test_keys_go_to_the_partition_that_kafkas_producer_chooses() -> None:
    assert partition_for(b"21", 25) == (-973932308 & 0x7FFFFFFF) % 25
