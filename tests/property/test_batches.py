"""
Batches as bytes: views, stamps and splits, against aiokafka's codec and one written by hand.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import example, given
from hypothesis import strategies as st

from flows.source.forward.record_batch import (
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    CorruptBatch,
    assemble,
    rewrite_header,
    split,
)
from tests.support.batches import Plain, read_batch, read_header, with_checksum, write_batch

_bytes = st.none() | st.binary(max_size=40)
_headers = st.lists(st.tuples(st.text(max_size=5), _bytes), max_size=3)
_timestamps = st.integers(0, 1 << 45)
_rows = st.lists(st.tuples(_timestamps, _bytes, _bytes, _headers), min_size=1, max_size=8)
_stamps = st.tuples(
    st.integers(0, (1 << 63) - 1), st.integers(0, (1 << 15) - 1), st.integers(0, (1 << 31) - 1)
)
_plain = st.builds(
    Plain,
    timestamp=_timestamps,
    key=_bytes,
    value=_bytes,
    headers=st.lists(st.tuples(st.binary(max_size=5), _bytes), max_size=3).map(tuple),
)


def _contiguous(records: list[Plain], base: int) -> list[Plain]:
    return [replace(record, offset=base + n) for n, record in enumerate(records)]


def _built(
    rows: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    codec: int,
    *,
    transactional: bool = False,
) -> bytes:
    builder = DefaultRecordBatchBuilder(2, codec, transactional, -1, -1, -1, 1 << 20)
    for offset, (timestamp, key, value, headers) in enumerate(rows):
        assert builder.append(offset, timestamp, key, value, headers) is not None
    return bytes(builder.build())


def _client_view(data: bytes | bytearray) -> list[tuple[object, ...]]:
    batch = DefaultRecordBatch(bytes(data))
    assert batch.validate_crc()
    return [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in batch]


@given(rows=_rows, codec=st.integers(0, 4), transactional=st.booleans(), stamp=_stamps)
def test_a_batch_with_another_header_holds_the_same_records_for_a_client(
    rows: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    codec: int,
    transactional: bool,
    stamp: tuple[int, int, int],
) -> None:
    """C209, C210."""
    data = _built(rows, codec, transactional=transactional)
    producer_id, epoch, sequence = stamp
    stamped = rewrite_header(data, producer_id=producer_id, epoch=epoch, sequence=sequence)
    assert _client_view(stamped) == _client_view(data)


@given(
    records=st.lists(_plain, min_size=1, max_size=5),
    codec=st.integers(0, 4),
    bits=st.sampled_from([0, TRANSACTIONAL, DELETE_HORIZON, TRANSACTIONAL | DELETE_HORIZON]),
    base=st.integers(0, 1 << 60),
    stamp=_stamps,
    transactional=st.booleans(),
)
def test_a_stamp_changes_only_what_the_target_asks_for(
    records: list[Plain],
    codec: int,
    bits: int,
    base: int,
    stamp: tuple[int, int, int],
    *,
    transactional: bool,
) -> None:
    data = write_batch(_contiguous(records, base), codec_number=codec, attributes=bits)
    producer_id, epoch, sequence = stamp
    stamped = rewrite_header(
        data,
        producer_id=producer_id,
        epoch=epoch,
        sequence=sequence,
        transactional=transactional,
    )
    before, after = read_header(data), read_header(stamped)
    assert after == replace(
        before,
        base_offset=0,
        leader_epoch=-1,
        checksum=after.checksum,
        attributes=codec | (TRANSACTIONAL if transactional else 0),
        producer_id=producer_id,
        epoch=epoch,
        sequence=sequence,
    )
    assert stamped[61:] == data[61:]
    assert [r.content for r in read_batch(stamped)] == [r.content for r in read_batch(data)]


@given(records=st.lists(_plain, min_size=1, max_size=4), codec=st.integers(0, 4))
def test_a_split_batch_says_what_its_header_says(records: list[Plain], codec: int) -> None:
    data = write_batch(
        _contiguous(records, 77), codec_number=codec, attributes=TRANSACTIONAL, producer=(9, 1, 4)
    )
    (batch,) = split(memoryview(data))
    header = read_header(data)
    assert (batch.magic, batch.base_offset, batch.last_offset) == (2, 77, 76 + len(records))
    assert (batch.count, batch.codec, batch.producer_id) == (len(records), codec, 9)
    assert batch.max_timestamp == header.max_timestamp
    assert batch.is_transactional
    assert not batch.is_control
    assert batch.is_forwardable(77)
    assert not batch.is_forwardable(78)
    batch.verify()


@given(
    sets=st.lists(st.lists(_plain, min_size=1, max_size=3), max_size=5), cut=st.integers(0, 10_000)
)
def test_a_cut_answer_yields_its_whole_batches(sets: list[list[Plain]], cut: int) -> None:
    batches = [write_batch(_contiguous(records, 10 * n)) for n, records in enumerate(sets)]
    whole = b"".join(batches)
    data = whole[: min(cut, len(whole))]
    sizes, fits = 0, []
    for batch in batches:
        sizes += len(batch)
        if sizes <= len(data):
            fits.append(batch)
    assert [bytes(batch.data) for batch in split(memoryview(data))] == fits


@given(st.binary(max_size=200))
@example(b"\0" * 16 + b"\2" + b"\0" * 60)  # a length of 0
@example(b"\0" * 8 + b"\xff\xff\xff\xf4" + b"\0" * 20)  # a length that leads nowhere
@example(b"\0" * 8 + b"\0\0\0\x10" + b"\0" * 4 + b"\2" + b"\0" * 20)  # too short for its header
def test_garbage_is_refused_or_cut_and_never_hangs(data: bytes) -> None:
    try:
        batches = list(split(memoryview(data)))
    except ValueError:
        return
    assert sum(len(batch.data) for batch in batches) <= len(data)


@given(records=st.lists(_plain, min_size=1, max_size=3), flip=st.data())
def test_a_flipped_bit_under_the_checksum_is_noticed(
    records: list[Plain], flip: st.DataObject
) -> None:
    data = bytearray(write_batch(_contiguous(records, 5)))
    at = flip.draw(st.integers(21, len(data) - 1))
    data[at] ^= 1 << flip.draw(st.integers(0, 7))
    (batch,) = split(memoryview(data))
    with pytest.raises(CorruptBatch, match="does not match its checksum"):
        batch.verify()


@pytest.mark.parametrize(
    ("attributes", "last", "forwardable"),
    [(0, 11, True), (0, 12, False), (LOG_APPEND_TIME, 11, False), (DELETE_HORIZON, 11, True)],
)
def test_gaps_and_append_time_keep_a_batch_from_being_forwarded(
    attributes: int, last: int, forwardable: bool
) -> None:
    records = [Plain(offset=10, value=b"a"), Plain(offset=last, value=b"b")]
    (batch,) = split(memoryview(write_batch(records, attributes=attributes)))
    assert batch.is_forwardable(10) is forwardable


def test_a_batch_whose_last_record_was_compacted_away_is_not_forwarded() -> None:
    data = write_batch([Plain(offset=10)], last_offset=14)
    (batch,) = split(memoryview(data))
    assert (batch.last_offset, batch.count) == (14, 1)
    assert not batch.is_forwardable(10)


@given(
    payload=st.binary(max_size=50),
    attributes=st.integers(0, 15),
    count=st.integers(1, 1000),
    times=st.tuples(_timestamps, _timestamps),
)
def test_an_assembled_batch_has_the_header_asked_for(
    payload: bytes, attributes: int, count: int, times: tuple[int, int]
) -> None:
    data = assemble(
        payload,
        attributes=attributes,
        count=count,
        base_timestamp=times[0],
        max_timestamp=times[1],
    )
    header = read_header(data)
    assert DefaultRecordBatch(with_checksum(data)).validate_crc()
    assert (header.base_offset, header.length, header.magic) == (0, len(data) - 12, 2)
    assert (header.attributes, header.last_delta, header.count) == (attributes, count - 1, count)
    assert (header.base_timestamp, header.max_timestamp) == times
    assert (header.producer_id, header.epoch, header.sequence) == (-1, -1, -1)
    assert data[61:] == payload
