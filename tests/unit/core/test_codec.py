"""Behaviours 1.3 and section 11: MirrorMaker's own records."""

from __future__ import annotations

from uuid import UUID

import pytest

from mm2.core.internal_records import (
    EXACT_HEADER,
    LOGS_HEADER,
    Checkpoint,
    Heartbeat,
    OffsetSync,
    is_heartbeat,
)
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs
from mm2.errors import SchemaError

ONE, TWO = UUID(int=1), UUID(int=2)
Record = Heartbeat | Checkpoint | OffsetSync


def heartbeat(source: str, target: str, timestamp_ms: int) -> Heartbeat:
    return Heartbeat(ClusterAlias(source), ClusterAlias(target), timestamp_ms)


def at(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), partition)


GOLDEN = [
    (
        heartbeat("source-1", "target-2", 1234567890),
        "0008736f757263652d3100087461726765742d32",
        "000000000000499602d2",
    ),
    (
        Checkpoint(GroupId("group-1"), at("topic-2", 3), 4, 5, "metadata-6"),
        "000767726f75702d310007746f7069632d3200000003",
        "000000000000000000040000000000000005000a6d657461646174612d36",
    ),
    (
        OffsetSync(at("topic-1", 2), 3, 4),
        "0007746f7069632d3100000002",
        "00" * 7 + "03" + "00" * 7 + "04",
    ),
    (
        heartbeat("", "ünïcode", -1),
        "00000009c3bc6ec3af636f6465",
        "0000ffffffffffffffff",
    ),
    (
        Checkpoint(GroupId("grüppe"), at("A.té", 0), 2**63 - 1, 0),
        "00076772c3bc7070650005412e74c3a900000000",
        "00007fffffffffffffff00000000000000000000",
    ),
    (
        OffsetSync(at("t", 2147483647), -1, 2**40),
        "0001747fffffff",
        "ffffffffffffffff0000010000000000",
    ),
]


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_golden_bytes(record: Record, key: str, value: str) -> None:
    """C319-C321; captured from Java 4.3.0."""
    assert record.key().hex() == key
    assert record.value().hex() == value
    assert type(record).decode(record.key(), record.value()) == record


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_what_follows_the_last_field_is_ignored(record: Record, key: str, value: str) -> None:
    """C322."""
    read = type(record).decode(bytes.fromhex(key) + b"more", bytes.fromhex(value) + b"more")
    assert read == record


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_bytes_that_end_too_soon_are_a_schema_error(record: Record, key: str, value: str) -> None:
    """C322."""
    with pytest.raises(SchemaError, match="Error reading field"):
        type(record).decode(bytes.fromhex(key)[:-1], bytes.fromhex(value))
    with pytest.raises(SchemaError, match="Error reading field"):
        type(record).decode(bytes.fromhex(key), bytes.fromhex(value)[:-1])


def test_the_error_names_the_field() -> None:
    """C322."""
    with pytest.raises(SchemaError, match="Error reading field 'timestamp'"):
        Heartbeat.decode(b"\0\0\0\0", b"\0\0\0")


def test_a_negative_length_is_a_schema_error() -> None:
    """C322."""
    with pytest.raises(SchemaError, match="Error reading field 'topic'"):
        OffsetSync.decode(b"\xff\xff\0\0\0\0", bytes(16))


def test_any_version_is_read_as_the_first() -> None:
    """C323."""
    assert Heartbeat.decode(b"\0\1A\0\1B", b"\0\7" + bytes(8)) == heartbeat("A", "B", 0)


@pytest.mark.parametrize(
    "beat", [heartbeat("A", "B", 0), heartbeat("ünïcode", "x" * 32767, -1)], ids=["short", "long"]
)
def test_a_heartbeat_is_told_by_its_bytes(beat: Heartbeat) -> None:
    assert is_heartbeat(beat.key(), beat.value())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\0\1A\0\1B", None),
        (None, b"\0\0" + bytes(8)),
        (b"\0\1A\0\1B", b"\0\7" + bytes(8)),
        (b"\0\1A\0\1B", b"\0\0" + bytes(9)),
        (b"\0\1A\0\1Bx", b"\0\0" + bytes(8)),
        (b"\0\1A\0\1\xff", b"\0\0" + bytes(8)),
        (b"\0\0\0\1B", b"\0\0" + bytes(8)),
        (b"\0\x09A", b"\0\0" + bytes(8)),
        (b"\x7f\xff" + b"\xff" * 32767 + b"\0\1B", b"\0\0" + bytes(8)),
    ],
)
def test_what_may_be_anything_else_is_taken_for_no_heartbeat(
    key: bytes | None, value: bytes | None
) -> None:
    assert not is_heartbeat(key, value)


@pytest.mark.parametrize("kind", [Heartbeat, Checkpoint, OffsetSync])
@pytest.mark.parametrize(("key", "value"), [(None, bytes(40)), (bytes(40), None), (None, None)])
def test_a_missing_key_or_value_is_a_schema_error(
    kind: type[Record], key: bytes | None, value: bytes | None
) -> None:
    """C323, C324; Java ends with a null-pointer error here (C428, C429)."""
    with pytest.raises(SchemaError, match="no key or no value"):
        kind.decode(key, value)


@pytest.mark.parametrize(
    ("logs", "header"),
    [
        (UNKNOWN_LOGS, None),
        (Logs(ONE, TWO), ONE.bytes + TWO.bytes),
        (Logs(None, TWO), bytes(16) + TWO.bytes),
    ],
)
def test_a_checkpoint_may_say_of_which_topics_it_is(logs: Logs, header: bytes | None) -> None:
    written = Checkpoint(GroupId("g"), at("t", 0), 1, 2, "", True, logs)
    assert dict(written.headers()) == {EXACT_HEADER: b"1"} | (
        {LOGS_HEADER: header} if header else {}
    )
    read = Checkpoint.decode(written.key(), written.value(), written.headers())
    assert (read, read.logs) == (written, logs)


@pytest.mark.parametrize("header", [None, b"", bytes(31), bytes(32)])
def test_ids_that_cannot_be_read_are_not_known(header: bytes | None) -> None:
    written = Checkpoint(GroupId("g"), at("t", 0), 1, 2)
    read = Checkpoint.decode(written.key(), written.value(), [(LOGS_HEADER, header)])
    assert read.logs == UNKNOWN_LOGS


@pytest.mark.parametrize(
    ("told", "there", "expected"),
    [(ONE, ONE, True), (ONE, TWO, False), (None, TWO, True), (ONE, None, True)],
)
def test_a_checkpoint_may_be_about_any_topic_unless_both_ids_are_known(
    told: UUID | None,
    there: UUID | None,
    expected: bool,
) -> None:
    checkpoint = Checkpoint(GroupId("g"), at("t", 0), 1, 2, logs=Logs(remote=told))
    assert checkpoint.may_be_about(there) is expected


def test_texts_have_at_most_32767_bytes() -> None:
    """C322."""
    assert len(heartbeat("x" * 32767, "", 0).key()) == 2 + 32767 + 2
    with pytest.raises(SchemaError, match="sourceClusterAlias"):
        heartbeat("x" * 32768, "", 0).key()


def test_texts_that_are_not_utf_8_are_replaced() -> None:
    read = OffsetSync.decode(b"\0\1\xff\0\0\0\0", bytes(16))
    assert read.partition.topic == "\ufffd"


def test_text_form() -> None:
    """C325."""
    assert [str(record) for record, _, _ in GOLDEN[:3]] == [
        "Heartbeat{sourceClusterAlias=source-1, targetClusterAlias=target-2, timestamp=1234567890}",
        (
            "Checkpoint{consumerGroupId=group-1, topicPartition=topic-2-3, upstreamOffset=4, "
            "downstreamOffset=5, metadata=metadata-6}"
        ),
        "OffsetSync{topicPartition=topic-1-2, upstreamOffset=3, downstreamOffset=4}",
    ]
