"""How records of internal topics are printed (behaviours section 11)."""

from __future__ import annotations

import pytest

from mm2.client.formatters import (
    CHECKPOINTS,
    CONTROL,
    FORMATTERS,
    GROUP_OFFSETS,
    HEARTBEATS,
    MANAGED_OFFSETS,
    OFFSET_RUNS,
    OFFSET_SYNCS,
    POSITIONS,
    PROGRESS,
    Formatter,
    formatter_for,
)
from mm2.core.connect.offset_records import SourcePartition, encode_key, encode_offset
from mm2.core.internal_records import Checkpoint, Heartbeat, OffsetSync
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.offset_manager import committed_offset_records
from mm2.core.offset_manager.commits import StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey
from mm2.core.policy import DefaultReplicationPolicy
from mm2.core.positions.log_identity import HEADER, Lineage
from mm2.core.translation.run_codec import encode_key as encode_key_of_block
from mm2.core.translation.run_codec import encode_value
from mm2.core.translation.runs import Block, Run, Runs
from mm2.errors import SchemaError
from mm2.kafka.logs.records import Record

BEAT = Heartbeat(ClusterAlias("source-1"), ClusterAlias("target-2"), 1234567890)
CHECKPOINT = Checkpoint(
    GroupId("group-1"), TopicPartition(TopicName("topic-2"), 3), 4, 5, "metadata-6"
)
SYNC = OffsetSync(TopicPartition(TopicName("topic-1"), 2), 3, 4)
LINES: dict[Formatter, tuple[Heartbeat | Checkpoint | OffsetSync, str]] = {
    HEARTBEATS: (
        BEAT,
        "Heartbeat{sourceClusterAlias=source-1, targetClusterAlias=target-2, timestamp=1234567890}",
    ),
    CHECKPOINTS: (
        CHECKPOINT,
        (
            "Checkpoint{consumerGroupId=group-1, topicPartition=topic-2-3, upstreamOffset=4, "
            "downstreamOffset=5, metadata=metadata-6}"
        ),
    ),
    OFFSET_SYNCS: (
        SYNC,
        "OffsetSync{topicPartition=topic-1-2, upstreamOffset=3, downstreamOffset=4}",
    ),
}


def record(
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> Record:
    return Record(
        topic="t", partition=2, offset=7, timestamp_ms=99, key=key, value=value, headers=headers
    )


def position(offset: int | None, headers: tuple[tuple[str, bytes | None], ...] = ()) -> Record:
    where = SourcePartition(ClusterAlias("A"), TopicName("t"), 1)
    key = encode_key("MirrorSourceConnector", where)
    return record(key, None if offset is None else encode_offset(offset), headers)


@pytest.mark.parametrize("formatter", LINES, ids=lambda formatter: formatter.name)
def test_javas_kinds_print_as_javas_formatters_do(formatter: Formatter) -> None:
    """C319, C320, C321, C325."""
    each, line = LINES[formatter]
    written = record(each.key(), each.value())
    assert formatter.line(written) == line
    assert formatter.shown(written).line == line


@pytest.mark.parametrize("formatter", LINES, ids=lambda formatter: formatter.name)
def test_what_javas_formatters_cannot_read_raises(formatter: Formatter) -> None:
    """C322, C324, C325: truncated records and tombstones."""
    each, _ = LINES[formatter]
    for damaged in (
        record(each.key(), each.value()[:-1]),
        record(each.key()[:-1], each.value()),
        record(each.key(), None),
        record(None, each.value()),
    ):
        with pytest.raises(SchemaError):
            formatter.line(damaged)


@pytest.mark.parametrize("formatter", LINES, ids=lambda formatter: formatter.name)
def test_other_versions_and_trailing_bytes_are_read(formatter: Formatter) -> None:
    """C322, C323."""
    each, line = LINES[formatter]
    assert formatter.line(record(each.key() + b"+", each.value() + b"+")) == line
    if not isinstance(each, OffsetSync):
        assert formatter.line(record(each.key(), b"\0\7" + each.value()[2:])) == line


def test_rows_have_a_field_for_each_column() -> None:
    headers = (("mm2.exact", b"1"),)
    shown = CHECKPOINTS.shown(record(CHECKPOINT.key(), CHECKPOINT.value(), headers))
    assert shown.fields == {
        "record": "2:7",
        "written": 99,
        "group": "group-1",
        "topic": "topic-2",
        "partition": 3,
        "upstream": 4,
        "downstream": 5,
        "exact": True,
        "metadata": "metadata-6",
        "error": None,
    }
    assert tuple(shown.fields) == CHECKPOINTS.all_columns
    beat = HEARTBEATS.shown(record(BEAT.key(), BEAT.value())).fields
    columns = [beat[name] for name in ("source", "target", "timestamp")]
    assert columns == ["source-1", "target-2", 1234567890]
    sync = OFFSET_SYNCS.shown(record(SYNC.key(), SYNC.value())).fields
    columns = [sync[name] for name in ("topic", "partition", "upstream", "downstream")]
    assert columns == ["topic-1", 2, 3, 4]


def test_a_tombstone_shows_what_its_key_says() -> None:
    shown = CHECKPOINTS.shown(record(CHECKPOINT.key(), None))
    assert shown.readable
    assert shown.line == (
        "Tombstone{record=2:7, written=99, group=group-1, topic=topic-2, partition=3}"
    )
    assert shown.fields["group"] == "group-1"
    assert shown.fields["upstream"] is None
    for formatter, key in (
        (HEARTBEATS, BEAT.key()),
        (OFFSET_SYNCS, SYNC.key()),
        (CONTROL, b"limit"),
        (POSITIONS, position(None).key),
    ):
        shown = formatter.shown(record(key, None))
        assert shown.readable
        assert shown.line.startswith("Tombstone{record=2:7, written=99, ")
        assert tuple(shown.fields) == formatter.all_columns


@pytest.mark.parametrize("formatter", FORMATTERS.values(), ids=lambda formatter: formatter.name)
def test_a_record_that_cannot_be_read_is_shown_as_such(formatter: Formatter) -> None:
    shown = formatter.shown(record(b"\xff?", b"\xff!"))
    assert not shown.readable
    assert shown.line.startswith("Undecodable{record=2:7, written=99, reason=")
    assert shown.line.endswith("key=ff3f, value=ff21}")
    assert tuple(shown.fields) == formatter.all_columns
    assert shown.fields["error"]


def test_positions_show_connects_partition_and_our_lineage() -> None:
    lineage = Lineage(leader_epoch=5)
    shown = POSITIONS.shown(position(41, ((HEADER, lineage.encode()),)))
    assert shown.fields["offset"] == 41
    assert shown.fields["partition"] == '{"cluster":"A","partition":1,"topic":"t"}'
    assert '"epoch":5' in str(shown.fields["lineage"])
    assert shown.line.startswith("Position{connector=MirrorSourceConnector, partition={")
    plain = POSITIONS.shown(position(41))
    assert plain.fields["lineage"] is None


def test_runs_show_where_the_copies_of_records_are() -> None:
    where = TopicPartition(TopicName("t"), 3)
    block = Block(
        start=10, end=40, runs=Runs([Run(10, 12, 5), Run(20, 18, 20)]), is_transactional=True
    )
    shown = OFFSET_RUNS.shown(record(encode_key_of_block(where, 10), encode_value(block)))
    assert shown.line == (
        "OffsetRuns{topic=t, partition=3, start=10, end=40, runs=10->12+5 20->18+20, "
        "flags=transactional}"
    )
    gone = OFFSET_RUNS.shown(record(encode_key_of_block(where, 10), None))
    assert gone.line == "Tombstone{record=2:7, written=99, topic=t, partition=3, start=10}"


@pytest.mark.parametrize(
    "formatter", [GROUP_OFFSETS, MANAGED_OFFSETS], ids=lambda formatter: formatter.name
)
def test_offsets_of_groups_show_what_was_committed(formatter: Formatter) -> None:
    key = committed_offset_records.encode_key(
        OffsetKey("billing", TopicPartition(TopicName("orders"), 3))
    )
    stored = StoredOffset(offset=42, commit_ms=7, metadata="half\n", leader_epoch=2)
    shown = formatter.shown(record(key, committed_offset_records.encode_value(stored)))
    assert shown.line == (
        f"{formatter.name}{{kind=offset, group=billing, topic=orders, partition=3, offset=42, "
        r"leader_epoch=2, committed=7, metadata=half\n}"
    )
    assert tuple(shown.fields) == formatter.all_columns
    gone = formatter.shown(record(key, None))
    assert tuple(gone.fields) == formatter.all_columns
    assert gone.line == (
        "Tombstone{record=2:7, written=99, kind=offset, group=billing, topic=orders, partition=3}"
    )


def test_members_of_a_group_are_no_commits_and_no_records_of_an_offset_manager() -> None:
    members = record(b"\0\2\0\7billing", b"whatever Kafka keeps")
    shown = GROUP_OFFSETS.shown(members)
    assert (shown.readable, shown.line) == (True, "GroupRecord{kind=members, group=billing}")
    assert tuple(shown.fields) == GROUP_OFFSETS.all_columns
    assert not MANAGED_OFFSETS.shown(members).readable
    for key in (b"\0", b"\0\2\0\7bill", b"\xff\2\0\0"):
        assert not GROUP_OFFSETS.shown(record(key, b"")).readable


def test_control_and_progress_show_their_json() -> None:
    written = record(b"lease", b'{"version": 1, "epoch": 3, "owner": "n\xc3\xb6"}')
    line = 'Control{key=lease, value={"version":1,"epoch":3,"owner":"nö"}}'
    assert CONTROL.line(written) == line
    assert PROGRESS.shown(written).fields["key"] == "lease"
    assert CONTROL.shown(record(None, b"{}")).fields["key"] is None


@pytest.mark.parametrize(
    ("topic", "formatter"),
    [
        ("heartbeats", HEARTBEATS),
        ("B.A.heartbeats", HEARTBEATS),
        ("A.checkpoints.internal", CHECKPOINTS),
        ("mm2-offset-syncs.B.internal", OFFSET_SYNCS),
        ("mm2-offset-syncs_B_internal", OFFSET_SYNCS),
        ("mm2-offset-runs.B.internal", OFFSET_RUNS),
        ("mm2-offsets.A.internal", POSITIONS),
        ("mm2-control.A.internal", CONTROL),
        ("mm2-progress.A.internal", PROGRESS),
        ("__consumer_offsets", GROUP_OFFSETS),
        ("mm2-group-offsets.internal", MANAGED_OFFSETS),
        ("mm2-offsets.A", None),
        ("orders", None),
    ],
)
def test_the_name_of_a_topic_tells_its_kind(topic: str, formatter: Formatter | None) -> None:
    assert formatter_for(TopicName(topic), DefaultReplicationPolicy()) is formatter
