"""What ``mm2 dump-log`` shows of files, and what it finds wrong with them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.core.internal_records import Checkpoint, Heartbeat, OffsetSync
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.offset_manager.commits import StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey, encode_key, encode_value
from mm2.kafka.logs import segment_file
from tests.support.batches import CODECS, Plain, write_batch, write_legacy

NAME = "00000000000000000010"
RECORDS = [Plain(offset=10 + n, timestamp=5, key=b"k%d" % n, value=b"v") for n in range(3)]


def segment(folder: Path, *batches: bytes) -> Path:
    file = folder / f"{NAME}.log"
    file.write_bytes(b"".join(batches))
    return file


def index(folder: Path, *entries: tuple[int, int], padding: int = 0) -> Path:
    file = folder / f"{NAME}.index"
    file.write_bytes(b"".join(struct.pack(">ii", *each) for each in entries) + bytes(8 * padding))
    return file


def time_index(folder: Path, *entries: tuple[int, int], padding: int = 0) -> Path:
    file = folder / f"{NAME}.timeindex"
    file.write_bytes(b"".join(struct.pack(">qi", *each) for each in entries) + bytes(12 * padding))
    return file


def dumped(*words: object) -> Result:
    return CliRunner().invoke(main, ["dump-log", "--format", "json", *map(str, words)])


def rows(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("codec", CODECS)
def test_batches_are_shown_with_their_places_and_records(tmp_path: Path, codec: int) -> None:
    first = write_batch(RECORDS, codec_number=codec)
    second = write_batch([Plain(offset=13, timestamp=9, value=b"last")])
    file = segment(tmp_path, first, second)
    found = rows(dumped(file))
    assert [(each["position"], each["size"]) for each in found] == [
        (0, len(first)),
        (len(first), len(second)),
    ]
    assert [(each["base_offset"], each["last_offset"]) for each in found] == [(10, 12), (13, 13)]
    assert [each["is_valid"] for each in found] == [True, True]
    deep = rows(dumped(file, "--deep-iteration"))
    assert [(each["offset"], each["key"], each["value"]) for each in deep] == [
        (10, "k0", "v"),
        (11, "k1", "v"),
        (12, "k2", "v"),
        (13, None, "last"),
    ]


def test_a_changed_byte_and_a_batch_that_is_cut_short_are_told_together(tmp_path: Path) -> None:
    changed = bytearray(write_batch(RECORDS))
    changed[-1] ^= 1
    cut = write_batch(RECORDS)[:-3]
    done = dumped(segment(tmp_path, bytes(changed), cut))
    assert done.exit_code == 1
    assert "the checksum of the batch at offset 10 is wrong" in done.stderr
    assert f"{len(cut)} bytes at the end are no whole batch" in done.stderr


def test_messages_of_older_formats_are_shown(tmp_path: Path) -> None:
    (row,) = rows(dumped(segment(tmp_path, write_legacy([(10, 5, b"k", b"v")], magic=1))))
    assert (row["magic"], row["base_offset"], row["is_valid"]) == (1, 10, True)


def test_zeros_at_the_end_of_a_file_are_room_and_no_batch(tmp_path: Path) -> None:
    assert len(rows(dumped(segment(tmp_path, write_batch(RECORDS), bytes(100))))) == 1


def test_an_index_that_fits_its_segment_is_right(tmp_path: Path) -> None:
    first = write_batch(RECORDS)
    segment(tmp_path, first, write_batch([Plain(offset=13)]))
    assert dumped(index(tmp_path, (2, 0), (3, len(first)), padding=4)).exit_code == 0


@pytest.mark.parametrize(
    ("entries", "mistake"),
    [
        ([(2, 7)], "offset 12: no batch begins at position 7"),
        ([(3, 0)], "offset 13: the batch at position 0 does not have it"),
        ([(2, 0), (1, 0)], "offset 11 stands behind 12"),
    ],
)
def test_what_is_wrong_with_an_index_is_named(
    tmp_path: Path, entries: list[tuple[int, int]], mistake: str
) -> None:
    segment(tmp_path, write_batch(RECORDS))
    done = dumped(index(tmp_path, *entries))
    assert done.exit_code == 1
    assert mistake in done.stderr


def test_a_time_index_that_fits_its_segment_is_right(tmp_path: Path) -> None:
    segment(tmp_path, write_batch(RECORDS), write_batch([Plain(offset=13, timestamp=9)]))
    done = dumped(time_index(tmp_path, (5, 0), (6, 2), (9, 3), padding=4))
    assert (done.exit_code, done.output) == (0, "")


@pytest.mark.parametrize(
    ("entries", "mistake"),
    [
        ([(5, 2), (5, 2)], "timestamp 5 stands behind 5"),
        ([(5, 3)], "timestamp 5: the segment has no offset 13"),
        ([(5, -1)], "timestamp 5: the segment has no offset 9"),
        ([(5, 2), (6, 1)], "timestamp 6: offset 11 stands behind 12"),
    ],
)
def test_what_is_wrong_with_a_time_index_is_named(
    tmp_path: Path, entries: list[tuple[int, int]], mistake: str
) -> None:
    segment(tmp_path, write_batch(RECORDS))
    file = time_index(tmp_path, *entries)
    done = dumped(file)
    assert done.exit_code == 1
    assert done.stderr.splitlines() == [f"{file}: {mistake}"]


def _at(*offsets: int) -> bytes:
    return write_batch([Plain(offset=each, value=b"v") for each in offsets])


@pytest.mark.parametrize(
    ("batches", "mistakes"),
    [
        ([(10, 11), (20, 25), (26,)], []),
        ([(10, 11), (11, 12)], ["the batch at offset 11 stands behind offset 11"]),
        ([(10, 15), (12, 13)], ["the batch at offset 12 stands behind offset 15"]),
        ([(20,), (10,), (11,)], ["the batch at offset 10 stands behind offset 20"]),
    ],
)
def test_offsets_that_go_back_or_overlap_are_told_and_gaps_are_not(
    tmp_path: Path, batches: list[tuple[int, ...]], mistakes: list[str]
) -> None:
    file = segment(tmp_path, *(_at(*each) for each in batches))
    for words in ([], ["--deep-iteration"]):
        done = dumped(file, *words)
        assert done.exit_code == bool(mistakes)
        assert done.stderr.splitlines() == [f"{file}: {each}" for each in mistakes]


def test_messages_of_older_formats_have_an_order_too(tmp_path: Path) -> None:
    messages = [(10, 5, b"k", b"v"), (10, 5, b"k", b"v")]
    done = dumped(segment(tmp_path, *(write_legacy([each], magic=1) for each in messages)))
    assert "the batch at offset 10 stands behind offset 10" in done.stderr


def test_what_groups_have_committed_is_decoded(tmp_path: Path) -> None:
    key = encode_key(OffsetKey("billing", TopicPartition(TopicName("orders"), 3)))
    value = encode_value(StoredOffset(offset=42, metadata="half", commit_ms=7))
    records = [Plain(offset=10, key=key, value=value), Plain(offset=11, key=key)]
    found = rows(dumped(segment(tmp_path, write_batch(records)), "--offsets-decoder"))
    assert [(each["key"], each["value"]) for each in found] == [
        ("billing orders-3", "offset=42 metadata=half"),
        ("billing orders-3", None),
    ]


SOURCE = TopicPartition(TopicName("orders"), 3)
CHECKPOINT = Checkpoint(GroupId("billing"), SOURCE, 10, 11, "half")
SYNC = OffsetSync(SOURCE, 10, 11)
BEAT = Heartbeat(ClusterAlias("A"), ClusterAlias("B"), 7)

OF_MM2 = [
    ("heartbeats-0", BEAT.key(), BEAT.value(), {"source": "A", "target": "B", "timestamp": 7}),
    (
        "A.checkpoints.internal-0",
        CHECKPOINT.key(),
        CHECKPOINT.value(),
        {"group": "billing", "topic": "orders", "partition": 3, "upstream": 10, "downstream": 11},
    ),
    (
        "mm2-offset-syncs.B.internal-0",
        SYNC.key(),
        SYNC.value(),
        {"topic": "orders", "partition": 3, "upstream": 10, "downstream": 11},
    ),
    (
        "mm2-control.A.internal-0",
        b"lease",
        b'{"epoch": 5}',
        {"key": "lease", "value": '{"epoch":5}'},
    ),
    (
        "mm2-progress.A.internal-11",
        b"bundle-1",
        b'{"rate": 5}',
        {"key": "bundle-1", "value": '{"rate":5}'},
    ),
    (
        "mm2-offsets.A.internal-24",
        b'["MirrorSourceConnector",{"cluster":"A","partition":3,"topic":"orders"}]',
        b'{"offset":4}',
        {"connector": "MirrorSourceConnector", "offset": 4},
    ),
]
"""Folders of brokers, keys and values in there, and what is shown of them."""


def in_folder(tmp_path: Path, name: str, *batches: bytes) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    return segment(folder, *batches)


@pytest.mark.parametrize(("folder", "key", "value", "shown"), OF_MM2, ids=[n[0] for n in OF_MM2])
def test_records_of_internal_topics_are_decoded_by_the_name_of_their_folder(
    tmp_path: Path, folder: str, key: bytes, value: bytes, shown: dict[str, object]
) -> None:
    records = [Plain(offset=10, timestamp=5, key=key, value=value), Plain(offset=11, key=key)]
    file = in_folder(tmp_path, folder, write_batch(records))
    row, tombstone = rows(dumped(file, "--deep-iteration"))
    partition = folder.rpartition("-")[2]
    assert (row["record"], row["written"]) == (f"{partition}:10", 5)
    assert tombstone["record"] == f"{partition}:11"
    assert shown.items() <= row.items()
    assert row["error"] is tombstone["error"] is None
    assert len(rows(dumped(file))) == 1
    raw, _ = rows(dumped(file, "--deep-iteration", "--kind", "raw"))
    assert raw.keys() == {"offset", "timestamp", "key", "value"}


@pytest.mark.parametrize(
    "folder", ["mm2-offset-syncs.B.internal-0.8f0a2b-delete", "mm2-offset-syncs.B.internal-7"]
)
def test_the_folder_may_be_one_that_a_broker_gives_up(tmp_path: Path, folder: str) -> None:
    batch = write_batch([Plain(offset=10, key=SYNC.key(), value=SYNC.value())])
    (row,) = rows(dumped(in_folder(tmp_path, folder, batch), "--deep-iteration"))
    assert row["upstream"] == 10


def test_a_kind_that_is_named_needs_no_folder_of_that_name(tmp_path: Path) -> None:
    batch = write_batch([Plain(offset=10, key=SYNC.key(), value=SYNC.value())])
    (row,) = rows(dumped(segment(tmp_path, batch), "--kind", "offset-sync"))
    assert (row["record"], row["topic"], row["downstream"]) == ("10", "orders", 11)


def test_records_that_are_not_of_the_kind_are_shown_and_counted(tmp_path: Path) -> None:
    records = [
        Plain(offset=10, key=SYNC.key(), value=SYNC.value()),
        Plain(offset=11, key=b"k", value=b"v"),
    ]
    done = dumped(segment(tmp_path, write_batch(records)), "--kind", "offset-sync")
    assert done.exit_code == 1
    assert "1 records cannot be read" in done.stderr
    good, bad = json.loads(done.stdout)
    assert good["error"] is None
    assert (bad["record"], bad["topic"]) == ("11", None)
    assert bad["error"]


def test_files_of_several_kinds_are_not_decoded(tmp_path: Path) -> None:
    files = [
        in_folder(tmp_path, folder, write_batch([Plain(offset=10, key=key, value=value)]))
        for folder, key, value, _ in OF_MM2[:2]
    ]
    assert {"key", "value"} <= rows(dumped(*files, "--deep-iteration"))[0].keys()


def test_what_decoded_records_have_a_terminal_obey_is_escaped(tmp_path: Path) -> None:
    beat = Heartbeat(ClusterAlias("\x1b[2J"), ClusterAlias("B"), 7)
    file = in_folder(
        tmp_path,
        "heartbeats-0",
        write_batch([Plain(offset=10, key=beat.key(), value=beat.value())]),
    )
    (row,) = rows(dumped(file, "--deep-iteration"))
    assert row["source"] == r"\x1b[2J"


def test_one_decoder_at_a_time(tmp_path: Path) -> None:
    file = segment(tmp_path, write_batch(RECORDS))
    assert dumped(file, "--offsets-decoder", "--kind", "heartbeat").exit_code == 2


def test_what_a_terminal_would_obey_is_escaped(tmp_path: Path) -> None:
    batch = write_batch([Plain(offset=10, key=b"\x1b[2J\n", value=b"\xff")])
    (row,) = rows(dumped(segment(tmp_path, batch), "--deep-iteration"))
    assert (row["key"], row["value"]) == (r"\x1b[2J\n", r"\xff")


def test_a_batch_is_printed_before_the_one_behind_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def read(data: memoryview, batch: segment_file.SegmentBatch) -> Any:
        steps.append(f"reads {batch.base_offset}")
        return read_records(data, batch)

    read_records = segment_file.read_records
    monkeypatch.setattr(segment_file, "read_records", read)
    monkeypatch.setattr("click.echo", lambda text: steps.append(f"prints {text[:2]}"))
    batches = [write_batch([Plain(offset=n, value=b"v")]) for n in (10, 11, 12)]
    dumped(segment(tmp_path, *batches), "--deep-iteration", "--format", "tsv")
    assert steps == [
        "prints of",
        *(f"{does} {offset}" for offset in (10, 11, 12) for does in ("reads", "prints")),
    ]


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "leader-epoch-checkpoint"
    file.write_text("0")
    assert dumped(file).exit_code == 2
