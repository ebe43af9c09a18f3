"""What groups commit, as brokers write it down."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.translation.group_commits import GroupCommit, decode_commit
from mm2.errors import SchemaError

_texts = st.text(max_size=9)


def _text(text: str) -> bytes:
    return len(text.encode()).to_bytes(2, "big") + text.encode()


def _key(version: int, group: str, topic: str, partition: int) -> bytes:
    return struct.pack(">h", version) + _text(group) + _text(topic) + struct.pack(">i", partition)


@given(
    st.sampled_from([0, 1]),
    _texts,
    _texts,
    st.integers(0, 2**31 - 1),
    st.none() | st.tuples(st.integers(0, 9), st.integers(0, 2**63 - 1), st.binary(max_size=9)),
)
def test_a_commit_is_read_whatever_follows_the_offset(
    version: int, group: str, topic: str, partition: int, value: tuple[int, int, bytes] | None
) -> None:
    written = None if value is None else struct.pack(">hq", *value[:2]) + value[2]
    assert decode_commit(_key(version, group, topic, partition), written) == GroupCommit(
        GroupId(group),
        TopicPartition(TopicName(topic), partition),
        None if value is None else value[1],
    )


@pytest.mark.parametrize("version", [2, 3, 15])
def test_records_about_groups_and_their_members_are_no_commits(version: int) -> None:
    assert decode_commit(struct.pack(">h", version) + b"?", b"?") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\0", None),
        (b"\0\1\0\5g", None),
        (b"\0\1\xff\xff", None),
        (b"\0\1" + _text("g") + _text("t") + b"\0", None),
        (b"\0\1\0\1\xff" + _text("t") + bytes(4), None),
        (_key(1, "g", "t", 0), b"\0\1"),
    ],
)
def test_what_brokers_do_not_write_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(SchemaError, match="__consumer_offsets"):
        decode_commit(key, value)
