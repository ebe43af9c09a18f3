"""Records divided among partitions by compiled code: as Python and Java's producer do it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.source.forward.recode import batch_of
from mm2.core.murmur2 import partition_for
from mm2.kafka.wire.compiled import NotCarried, compile_division, divide
from mm2.kafka.wire.compression import UNCOMPRESSED
from tests.support.batches import Plain, read_batch, with_checksum, write_batch

_LOG_APPEND_TIME = 8
_plain = st.builds(
    Plain,
    timestamp=st.integers(0, 1 << 62) | st.integers(0, 300),
    key=st.none() | st.binary(max_size=9) | st.just(b"k" * 300),
    value=st.none() | st.binary(max_size=200),
    headers=st.lists(st.tuples(st.sampled_from([b"", b"\xff"]), st.none() | st.binary())).map(
        tuple
    ),
)


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compile_division(wait=True)


@st.composite
def _batches(draw: st.DrawFn) -> tuple[bytes, list[Plain]]:
    """Batches side by side, with gaps between offsets, and their records as consumers see them."""
    data, found, offset = b"", [], draw(st.integers(0, 1 << 40))
    for _ in range(draw(st.integers(1, 4))):
        records = []
        for plain in draw(st.lists(_plain, min_size=1, max_size=60)):
            records.append(replace(plain, offset=offset))
            offset += draw(st.sampled_from([1, 1, 70]))
        append_time = draw(st.sampled_from([None, None, 17]))
        if append_time is None:
            data += write_batch(records)
            found += records
        else:
            data += write_batch(records, attributes=_LOG_APPEND_TIME, max_timestamp=append_time)
            found += [replace(record, timestamp=append_time) for record in records]
    return data, found


@given(
    batches=_batches(),
    skipped=st.integers(0, 90),
    partitions=st.integers(1, 9),
    keyless=st.integers(0, 8),
    most=st.integers(1, 5_000),
)
def test_each_partition_gets_its_records_in_order_and_no_section_is_too_large(
    batches: tuple[bytes, list[Plain]], skipped: int, partitions: int, keyless: int, most: int
) -> None:
    data, records = batches
    position, keyless = records[0].offset + skipped, keyless % partitions
    wanted: dict[int, list[tuple[int, tuple[object, ...]]]] = {}
    for record in (each for each in records if each.offset >= position):
        at = keyless if record.key is None else partition_for(record.key, partitions)
        wanted.setdefault(at, []).append((record.offset, record.content))
    found: dict[int, list[tuple[int, tuple[object, ...]]]] = {}
    for at, section in divide(data, position, partitions=partitions, keyless=keyless, most=most):
        copies = read_batch(with_checksum(batch_of(section, UNCOMPRESSED, len(section.offsets))))
        assert [copy.offset for copy in copies] == list(range(len(copies)))
        assert len(section.payload) <= most or len(copies) == 1
        assert section.max_timestamp == max(copy.timestamp for copy in copies)
        contents = [copy.content for copy in copies]
        found.setdefault(at, []).extend(zip(section.offsets, contents, strict=True))
    assert found == wanted


@given(
    batches=_batches(),
    noise=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=5),
    cut=st.integers(0, 3),
)
def test_what_is_damaged_is_refused_or_read_within_its_bounds(
    batches: tuple[bytes, list[Plain]], noise: list[tuple[int, int]], cut: int
) -> None:
    damaged = bytearray(batches[0])[: len(batches[0]) - cut]
    for at, byte in noise:
        damaged[at % len(damaged)] = byte
    try:
        sections = divide(bytes(damaged), 0, partitions=3, keyless=0, most=100)
    except NotCarried:
        return
    assert all(0 <= at < 3 and len(section.offsets) for at, section in sections)


def test_without_records_there_are_no_sections() -> None:
    data = write_batch([Plain(offset=5, value=b"x")])
    assert divide(data, 6, partitions=3, keyless=0, most=100) == []
    assert divide(b"", 0, partitions=3, keyless=0, most=100) == []
