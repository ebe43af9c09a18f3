"""What ``mm2 dump-log`` shows of files, and what it finds wrong with them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey, encode_key, encode_value
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


def test_what_groups_have_committed_is_decoded(tmp_path: Path) -> None:
    key = encode_key(OffsetKey("billing", TopicPartition(TopicName("orders"), 3)))
    value = encode_value(StoredOffset(offset=42, metadata="half", commit_ms=7))
    records = [Plain(offset=10, key=key, value=value), Plain(offset=11, key=key)]
    found = rows(dumped(segment(tmp_path, write_batch(records)), "--offsets-decoder"))
    assert [(each["key"], each["value"]) for each in found] == [
        ("billing orders-3", "offset=42 metadata=half"),
        ("billing orders-3", None),
    ]


def test_what_a_terminal_would_obey_is_escaped(tmp_path: Path) -> None:
    batch = write_batch([Plain(offset=10, key=b"\x1b[2J\n", value=b"\xff")])
    (row,) = rows(dumped(segment(tmp_path, batch), "--deep-iteration"))
    assert (row["key"], row["value"]) == (r"\x1b[2J\n", r"\xff")


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "leader-epoch-checkpoint"
    file.write_text("0")
    assert dumped(file).exit_code == 2
