"""Records rewritten by compiled code: the same bytes as client libraries write, or none at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import assume, given
from hypothesis import strategies as st

from flows.source.forward.recode import recode_bytes
from flows.source.forward.record_batch import split
from mm2.kafka.wire.compiled import compile_now, reencode
from mm2.kafka.wire.compression import UNCOMPRESSED
from tests.support.batches import Plain, read_header, write_batch

_HEADER_SIZE = 61
_MAGIC = 2
_bytes = st.none() | st.binary(max_size=80) | st.just(b"y" * 9_000)
_plain = st.builds(
    Plain,
    timestamp=st.integers(0, 1 << 62) | st.integers(0, 300),
    key=_bytes,
    value=_bytes,
    headers=st.lists(st.tuples(st.sampled_from([b"", b"a", "é".encode()]), _bytes)).map(tuple),
)


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compile_now()


@st.composite
def _batches(draw: st.DrawFn) -> tuple[bytes, list[Plain]]:
    """Batches side by side, with gaps between offsets, and their records."""
    data, found, offset = b"", [], draw(st.integers(0, 1 << 40))
    for _ in range(draw(st.integers(1, 4))):
        records = []
        for plain in draw(st.lists(_plain, min_size=1, max_size=80)):
            records.append(replace(plain, offset=offset))
            offset += draw(st.sampled_from([1, 1, 1, 70]))
        data += write_batch(records)
        found += records
    return data, found


@given(batches=_batches(), skipped=st.integers(0, 90))
def test_they_are_as_client_libraries_write_them(
    batches: tuple[bytes, list[Plain]], skipped: int
) -> None:
    data, records = batches
    position = records[0].offset + skipped
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 40)
    left = [record for record in records if record.offset >= position]
    for number, record in enumerate(left):
        headers = [(key.decode(), value) for key, value in record.headers]
        builder.append(number, record.timestamp, record.key, record.value, headers)
    section = reencode(data, position)
    if not left:
        assert section is None
        return
    assert section is not None
    assert bytes(section.payload) == bytes(builder.build()[_HEADER_SIZE:])
    assert section.offsets == [record.offset for record in left]
    assert section.base_timestamp == left[0].timestamp
    assert section.max_timestamp == max(record.timestamp for record in left)


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
        section = reencode(bytes(damaged), 0)
        found = list(split(memoryview(damaged)))
    except ValueError:
        return
    assume(all(batch.magic == _MAGIC and batch.codec == UNCOMPRESSED.codec for batch in found))
    python = recode_bytes(found, 0, UNCOMPRESSED)
    if section is None:
        assert python is None
        return
    assert python is not None
    assert python.data[_HEADER_SIZE:] == bytes(section.payload)
    assert list(python.offsets) == section.offsets
    assert read_header(python.data).max_timestamp == section.max_timestamp
