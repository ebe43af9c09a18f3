"""Records as columns of Arrow: what Python reads of the same bytes, and the same bytes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from flows.source.forward.recode import encode as encode_records
from flows.source.forward.recode import records_of
from flows.source.forward.record_batch import assemble, split
from flows.source.forward.record_body import DecodedRecord, fields_of
from mm2.core.transforms.column_schema import SCHEMA, WrongColumns
from mm2.kafka.wire.columns.record_columns import decode, encode
from mm2.kafka.wire.compression import NONE, UNCOMPRESSED
from tests.support.batches import Plain, write_batch

_HEADER_SIZE = 61
_bytes = st.none() | st.binary(max_size=80) | st.just(b"y" * 9_000)
_plain = st.builds(
    Plain,
    timestamp=st.integers(-1, 1 << 62) | st.integers(0, 300),
    key=_bytes,
    value=_bytes,
    headers=st.lists(
        st.tuples(st.text(max_size=9).map(lambda name: name.encode("utf-8", "replace")), _bytes),
        max_size=4,
    ).map(tuple),
)


@st.composite
def _batches(draw: st.DrawFn) -> tuple[bytes, list[Plain]]:
    """Batches side by side, with gaps between offsets, and their records."""
    data, found, offset = b"", [], draw(st.integers(0, 1 << 40))
    for _ in range(draw(st.integers(1, 4))):
        records = []
        for plain in draw(st.lists(_plain, min_size=1, max_size=30)):
            records.append(replace(plain, offset=offset))
            offset += draw(st.sampled_from([1, 1, 1, 70]))
        data += write_batch(records)
        found += records
    return data, found


def _rows(records: Sequence[DecodedRecord]) -> list[dict[str, Any]]:
    """What Python makes of them, with the names of the columns."""
    found = []
    for record in records:
        key, value, headers = fields_of(record.body)
        found.append(
            {
                "key": key,
                "value": value,
                "headers": [{"key": name, "value": content} for name, content in headers],
                "timestamp": record.timestamp,
                "topic": "t",
                "partition": 3,
                "offset": record.offset,
            }
        )
    return found


def _listed(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    times = batch.column("timestamp").view(pa.int64())
    listed: list[dict[str, Any]] = pa.record_batch(
        [times if name == "timestamp" else batch.column(name) for name in batch.schema.names],
        names=batch.schema.names,
    ).to_pylist()
    return listed


@given(batches=_batches(), skipped=st.integers(0, 90))
def test_columns_have_what_python_reads(batches: tuple[bytes, list[Plain]], skipped: int) -> None:
    data, records = batches
    position = records[0].offset + skipped
    batch = decode(data, topic="t", partition=3, position=position)
    batch.validate(full=True)
    assert batch.schema.equals(SCHEMA)
    read = [record for each in split(memoryview(data)) for record in records_of(each)]
    assert _listed(batch) == _rows([record for record in read if record.offset >= position])


@given(batches=_batches(), start=st.integers(0, 40), length=st.integers(0, 200))
def test_rows_become_the_bytes_that_python_writes(
    batches: tuple[bytes, list[Plain]], start: int, length: int
) -> None:
    data, _ = batches
    read = [record for each in split(memoryview(data)) for record in records_of(each)]
    sections = encode(decode(data, topic="t", partition=3).slice(start, length))
    wanted = read[start : start + length]
    if not wanted:
        assert sections == []
        return
    (section,) = sections
    assert bytes(section.payload) == encode_records(wanted, UNCOMPRESSED).data[_HEADER_SIZE:]
    assert list(section.offsets) == [record.offset for record in wanted]
    assert section.base_timestamp == wanted[0].timestamp
    assert section.max_timestamp == max(record.timestamp for record in wanted)


@given(
    batches=_batches(), most=st.integers(1, 20_000), most_rows=st.integers(1, 50), data=st.data()
)
def test_sections_are_as_large_as_they_may_be_and_have_all_rows_that_are_left(
    batches: tuple[bytes, list[Plain]], most: int, most_rows: int, data: st.DataObject
) -> None:
    batch = decode(batches[0], topic="t", partition=3)
    stays = data.draw(st.lists(st.booleans(), min_size=len(batch), max_size=len(batch)))
    left = batch.filter(pa.array(stays, pa.bool_()))
    found: list[DecodedRecord] = []
    for section in encode(left, most=most, most_rows=most_rows):
        count = len(section.offsets)
        assert count <= most_rows
        assert count == 1 or len(section.payload) <= most
        whole = assemble(
            section.payload,
            attributes=NONE,
            count=count,
            base_timestamp=section.base_timestamp,
            max_timestamp=section.max_timestamp,
        )
        (read,) = split(memoryview(whole))
        found += [
            replace(record, offset=offset)
            for record, offset in zip(records_of(read), section.offsets, strict=True)
        ]
    assert _rows(found) == _listed(left)


@given(
    batches=_batches(),
    noise=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=5),
    cut=st.integers(0, 3),
)
def test_what_is_damaged_is_refused_or_read_as_python_reads_it(
    batches: tuple[bytes, list[Plain]], noise: list[tuple[int, int]], cut: int
) -> None:
    damaged = bytearray(batches[0])[: len(batches[0]) - cut]
    for at, byte in noise:
        damaged[at % len(damaged)] = byte
    try:
        batch = decode(bytes(damaged), topic="t", partition=3)
    except ValueError:
        return
    found = list(split(memoryview(damaged)))
    assume(all(each.magic == 2 and each.codec == NONE for each in found))
    batch.validate(full=True)
    read = [record for each in found for record in records_of(each)]
    assert _listed(batch) == [row for row in _rows(read) if row["offset"] >= 0]


def _batch(**columns: pa.Array) -> pa.RecordBatch:
    """Two rows, some columns of which are others."""
    first = Plain(key=b"k", value=b"v", headers=((b"h", b"w"), (b"i", None)))
    found = decode(write_batch([first, replace(first, offset=1)]), topic="t", partition=3)
    for name, column in columns.items():
        found = found.set_column(found.schema.get_field_index(name), name, column)
    return found


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("key", pa.array(["a", "b"]), "column key is string: cast it to binary"),
        ("value", pa.array([b"a", b"b"], pa.large_binary()), "column value is large_binary"),
        ("timestamp", pa.array([0, None], SCHEMA.field("timestamp").type), "timestamp has a null"),
        ("timestamp", pa.array([0, -2], SCHEMA.field("timestamp").type), "has -2 ms"),
        ("offset", pa.array([0, None], pa.int64()), "column offset has a null"),
        ("headers", pa.array([[None], []], SCHEMA.field("headers").type), "a header that is null"),
        (
            "headers",
            pa.array(
                [[{"key": None, "value": b""}], []],
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
            "a header that is null, or whose key is",
        ),
        ("headers", pa.array([["a"], []]), "cast it to list"),
    ],
)
def test_columns_that_are_no_records_are_refused(name: str, column: pa.Array, reason: str) -> None:
    with pytest.raises(WrongColumns, match=reason):
        encode(_batch(**{name: column}))


def test_columns_that_are_missing_or_twice_there_are_refused_by_name() -> None:
    batch = _batch()
    with pytest.raises(WrongColumns, match="no columns value"):
        encode(batch.drop_columns(["value"]))
    with pytest.raises(WrongColumns, match="2 columns key"):
        encode(batch.append_column("key", batch.column("key")))


def test_no_list_of_headers_is_none_and_other_columns_are_passed_over() -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    changed = _batch(headers=pa.array([None, [{"key": "é", "value": None}]], kind))
    (section,) = encode(changed.append_column("mine", pa.array([1, 2])))
    wanted = [
        Plain(key=b"k", value=b"v"),
        Plain(key=b"k", value=b"v", headers=(("é".encode(), None),)),
    ]
    wanted[1] = replace(wanted[1], offset=1)
    assert bytes(section.payload) == write_batch(wanted)[_HEADER_SIZE:]


def test_cells_outside_of_their_data_are_never_read() -> None:
    starts = pa.array([0, 9, 2], pa.int32()).buffers()[1]
    value = pa.Array.from_buffers(pa.binary(), 2, [None, starts, pa.py_buffer(b"ab")])
    with pytest.raises(ValueError, match="outside of its data"):
        encode(_batch(value=value))
    headers = _batch().column("headers")
    firsts = pa.array([0, 9, 2], pa.int32())
    with pytest.raises(ValueError, match="outside of its data"):
        encode(_batch(headers=pa.ListArray.from_arrays(firsts, headers.values)))


def test_the_name_of_a_header_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(ValueError, match="UTF8"):
        decode(write_batch([Plain(headers=((b"\xff", b""),))]), topic="t", partition=0)


def test_a_record_of_an_append_time_batch_has_that_time() -> None:
    data = write_batch([Plain(timestamp=5), Plain(offset=1)], attributes=8, max_timestamp=77)
    batch = decode(data, topic="t", partition=0)
    assert batch.column("timestamp").view(pa.int64()).to_pylist() == [77, 77]
