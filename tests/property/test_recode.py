"""
Re-encoding of batches that cannot be forwarded: whatever a consumer of the source would see, a
consumer of the target sees.
"""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import example, given
from hypothesis import strategies as st

from flows.source.fetch.contiguous_batches import MOST_RECORDS
from flows.source.forward.recode import Recoded, first_of, halve, recode, recode_bytes, records_of
from flows.source.forward.record_batch import (
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    Batch,
    split,
)
from flows.source.forward.record_body import keyed_body, read_varint, varint
from mm2.kafka.wire.compression import UNCOMPRESSED, Compression, TooLarge
from tests.support.batches import (
    Headers,
    Plain,
    read_batch,
    read_header,
    with_checksum,
    write_batch,
    write_legacy,
)

_NOT_UTF8 = b"\xff\xfe"
_bytes = st.none() | st.sampled_from([b"", _NOT_UTF8]) | st.binary(max_size=40)
_BASE_TIMESTAMP_AT = 27
_keys = st.sampled_from([b"", b"same", _NOT_UTF8]) | st.binary(max_size=5)
_timestamps = st.integers(0, 1 << 50)
_codecs = st.integers(0, 4)


@st.composite
def _records(draw: st.DrawFn, *, least: int = 1, gaps: bool = True) -> list[Plain]:
    """Records with ascending offsets, with holes, and timestamps in any order."""
    offset = draw(st.integers(0, 1 << 40))
    records = []
    for _ in range(draw(st.integers(least, 8))):
        headers = draw(st.lists(st.tuples(_keys, _bytes), max_size=3))
        records.append(
            Plain(
                offset=offset,
                timestamp=draw(_timestamps),
                key=draw(_bytes),
                value=draw(_bytes),
                headers=tuple(headers),
            )
        )
        offset += draw(st.integers(1, 70)) if gaps else 1
    return records


def _batch(data: bytes) -> Batch:
    (batch,) = split(memoryview(data))
    return batch


def _recoded(batch: Batch, position: int) -> Recoded:
    recoded = recode([batch], position, Compression(batch.codec))
    assert recoded is not None
    return recoded


def _assert_forwardable(data: bytes | bytearray, codec: int) -> None:
    """What a broker demands of a produced batch."""
    header = read_header(data)
    assert header.attributes == codec
    assert (header.base_offset, header.last_delta) == (0, header.count - 1)
    assert [r.offset for r in read_batch(with_checksum(data))] == list(range(header.count))
    assert header.max_timestamp == max(r.timestamp for r in read_batch(with_checksum(data)))


@given(
    records=_records(),
    codec=_codecs,
    bits=st.sampled_from([0, TRANSACTIONAL, DELETE_HORIZON]),
    tail=st.integers(0, 9),
    horizon=_timestamps,
)
def test_gaps_and_delete_horizons_vanish_and_records_stay(
    records: list[Plain], codec: int, bits: int, tail: int, horizon: int
) -> None:
    """C210, C228: compaction leaves gaps anywhere; a delete horizon takes the base timestamp."""
    data = write_batch(
        records,
        codec_number=codec,
        attributes=bits,
        last_offset=records[-1].offset + tail,
        base_timestamp=horizon if bits & DELETE_HORIZON else None,
    )
    recoded = _recoded(_batch(data), 0)
    _assert_forwardable(recoded.data, codec)
    assert [r.content for r in read_batch(with_checksum(recoded.data))] == [
        r.content for r in records
    ]
    assert list(recoded.offsets) == [r.offset for r in records]
    assert read_header(recoded.data).max_timestamp == max(r.timestamp for r in records)


@given(records=_records(), codec=_codecs, appended=_timestamps)
def test_append_time_becomes_create_time(records: list[Plain], codec: int, appended: int) -> None:
    """C211: readers of the source see the append time, the timestamp's type is not kept."""
    data = write_batch(
        records, codec_number=codec, attributes=LOG_APPEND_TIME, max_timestamp=appended
    )
    recoded = _recoded(_batch(data), 0)
    _assert_forwardable(recoded.data, codec)
    expected = [replace(record, timestamp=appended).content for record in records]
    assert [r.content for r in read_batch(with_checksum(recoded.data))] == expected


@given(records=_records(), codec=_codecs, data=st.data())
def test_records_before_the_position_are_left_out(
    records: list[Plain], codec: int, data: st.DataObject
) -> None:
    """C206: a fetch may answer with a batch that begins before the asked offset."""
    position = data.draw(st.integers(records[0].offset, records[-1].offset + 1))
    recoded = recode(
        [_batch(write_batch(records, codec_number=codec))], position, Compression(codec)
    )
    left = [r for r in records if r.offset >= position]
    if not left:
        assert recoded is None
        return
    assert recoded is not None
    _assert_forwardable(recoded.data, codec)
    assert [r.content for r in read_batch(with_checksum(recoded.data))] == [r.content for r in left]
    assert list(recoded.offsets) == [r.offset for r in left]


def test_a_batch_that_compaction_emptied_yields_nothing() -> None:
    """Brokers keep such batches for the producer's sequence numbers."""
    data = write_batch([], base_offset=5, last_offset=9, base_timestamp=1, max_timestamp=-1)
    batch = _batch(data)
    assert not batch.is_forwardable(5)
    assert recode([batch], 5, UNCOMPRESSED) is None


@given(records=_records(least=2, gaps=False), codec=_codecs, first=st.integers(0, 1 << 40))
def test_halves_hold_the_whole_in_order(records: list[Plain], codec: int, first: int) -> None:
    zero_based = [replace(r, offset=n) for n, r in enumerate(records)]
    offsets = range(first, first + len(records))
    halves = halve(write_batch(zero_based, codec_number=codec), offsets)
    assert [o for half in halves for o in half.offsets] == list(offsets)
    assert all(half.offsets for half in halves)
    for half in halves:
        _assert_forwardable(half.data, codec)
    found = [r.content for half in halves for r in read_batch(with_checksum(half.data))]
    assert found == [r.content for r in records]


@given(st.integers(-(1 << 63), (1 << 63) - 1))
@example(0)
@example(-1)
@example(63)
@example(-65)
@example((1 << 63) - 1)
@example(-(1 << 63))
def test_numbers_survive_encoding(value: int) -> None:
    data = b"x" + varint(value) + b"y"
    assert read_varint(data, 1) == (value, len(data) - 1)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (300, "d804")],
)
def test_numbers_have_their_documented_bytes(value: int, encoded: str) -> None:
    assert varint(value).hex() == encoded


@given(st.binary(max_size=12), st.integers(0, 12))
def test_damaged_numbers_are_refused_or_read(data: bytes, at: int) -> None:
    try:
        _, after = read_varint(data, at)
    except ValueError:
        return
    assert at < after <= min(len(data), at + 10)


@given(
    records=_records(),
    codec=_codecs,
    noise=st.lists(st.tuples(st.integers(61, 300), st.integers(0, 255)), min_size=1, max_size=5),
)
def test_damaged_records_never_end_in_another_error(
    records: list[Plain], codec: int, noise: list[tuple[int, int]]
) -> None:
    """A task stops one partition on ValueError; anything else would stop them all."""
    data = bytearray(write_batch(records, codec_number=codec))
    for at, byte in noise:
        data[min(at, len(data) - 1)] = byte
    try:
        _recoded(_batch(bytes(data)), 0)
    except ValueError:
        return


def test_a_time_that_no_batch_can_hold_is_refused() -> None:
    # Such a header key is not for the compiled codec.
    records = [Plain(offset=n, timestamp=n, headers=((_NOT_UTF8, b""),)) for n in (0, 1)]
    data = bytearray(write_batch(records, codec_number=0))
    struct.pack_into(">q", data, _BASE_TIMESTAMP_AT, (1 << 63) - 1)
    with pytest.raises(ValueError, match="offset 1 has no possible time"):
        _recoded(_batch(bytes(data)), 0)


def test_an_unknown_codec_is_refused() -> None:
    data = write_batch([Plain(value=b"v")], attributes=5)
    with pytest.raises(ValueError, match="unknown compression codec 5"):
        _recoded(_batch(data), 0)


def test_a_record_that_claims_more_than_there_is_is_refused() -> None:
    data = bytearray(write_batch([Plain(value=b"value")]))
    data[61] = 0x7E
    with pytest.raises(ValueError, match="ends inside a record"):
        records_of(_batch(bytes(data)))


@given(key=_bytes, value=_bytes)
def test_a_keyed_body_is_that_of_a_record_without_headers(
    key: bytes | None, value: bytes | None
) -> None:
    (record,) = records_of(_batch(write_batch([Plain(key=key, value=value)])))
    assert keyed_body(key, value) == record.body


_messages = st.lists(st.tuples(_timestamps, _bytes, _bytes), min_size=1, max_size=5)


def _placed(
    messages: list[tuple[int, bytes | None, bytes | None]], first: int
) -> list[tuple[int, int, bytes | None, bytes | None]]:
    return [(first + n, *message) for n, message in enumerate(messages)]


@given(messages=_messages, first=st.integers(0, 1 << 40), magic=st.integers(0, 1))
def test_plain_message_sets_of_old_formats_are_recoded_one_by_one(
    messages: list[tuple[int, bytes | None, bytes | None]], first: int, magic: int
) -> None:
    placed = _placed(messages, first)
    batches = list(split(memoryview(write_legacy(placed, magic=magic))))
    assert [b.base_offset for b in batches] == [offset for offset, *_ in placed]
    for batch, (offset, timestamp, key, value) in zip(batches, placed, strict=True):
        assert not batch.is_forwardable(0)
        recoded = _recoded(batch, 0)
        expected = Plain(timestamp=timestamp if magic else -1, key=key, value=value)
        assert read_batch(with_checksum(recoded.data)) == [expected]
        assert list(recoded.offsets) == [offset]


@given(
    messages=_messages,
    first=st.integers(0, 1 << 40),
    magic=st.integers(0, 1),
    codec=st.sampled_from([1, 2]),
    data=st.data(),
)
def test_compressed_message_sets_of_old_formats_keep_offsets_and_codec(
    messages: list[tuple[int, bytes | None, bytes | None]],
    first: int,
    magic: int,
    codec: int,
    data: st.DataObject,
) -> None:
    placed = _placed(messages, first)
    batch = _batch(write_legacy(placed, magic=magic, codec_number=codec))
    assert batch.last_offset == placed[-1][0]
    position = data.draw(st.integers(first, placed[-1][0]))
    recoded = _recoded(batch, position)
    left = [message for message in placed if message[0] >= position]
    assert list(recoded.offsets) == [offset for offset, *_ in left]
    _assert_forwardable(recoded.data, codec)
    found = [(r.timestamp, r.key, r.value) for r in read_batch(with_checksum(recoded.data))]
    assert found == [(t if magic else -1, k, v) for _, t, k, v in left]


@given(
    messages=_messages, magic=st.integers(0, 1), codec=st.sampled_from([0, 1, 2, 3]), flip=st.data()
)
def test_damaged_old_messages_are_refused(
    messages: list[tuple[int, bytes | None, bytes | None]],
    magic: int,
    codec: int,
    flip: st.DataObject,
) -> None:
    data = bytearray(write_legacy(_placed(messages, 3), magic=magic, codec_number=codec))
    end = len(write_legacy(_placed(messages, 3)[:1], magic=magic)) if not codec else len(data)
    at = flip.draw(st.integers(17, end - 1))
    data[at] ^= 0xFF
    with pytest.raises(ValueError, match="message set"):
        records_of(next(split(memoryview(data))))


@given(headers=st.lists(st.tuples(st.text(max_size=4), _bytes), max_size=4), codec=_codecs)
def test_clients_read_recoded_headers(headers: list[tuple[str, bytes | None]], codec: int) -> None:
    """C209, C210: null values, duplicates, order."""
    raw: Headers = tuple((key.encode(), value) for key, value in headers)
    records = [Plain(offset=1, headers=raw), Plain(offset=3)]
    recoded = _recoded(_batch(write_batch(records, codec_number=codec)), 0)
    batch = DefaultRecordBatch(with_checksum(recoded.data))
    assert batch.validate_crc()
    assert [record.headers for record in batch] == [list(headers), []]


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_compressed_message_sets_of_old_formats_are_bounded(codec: int) -> None:
    """Their reader, a library, knows no bound."""
    batch = _batch(write_legacy([(0, 1, b"k", bytes(4 << 20))], magic=1, codec_number=codec))
    assert len(records_of(batch)) == 1
    with pytest.raises(TooLarge):
        records_of(batch, 16 << 20)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_whatever_takes_records_apart_is_bounded(codec: int) -> None:
    records = [Plain(offset=n, value=bytes(1 << 20)) for n in range(2)]
    data = write_batch(records, codec_number=codec)
    (batch,) = split(memoryview(data))
    for take in (
        lambda: records_of(batch, 1 << 20),
        lambda: recode([batch], 0, Compression(codec), 1 << 20),
        lambda: recode_bytes([batch], 0, Compression(codec), 1 << 20),
        lambda: halve(data, range(2), 1 << 20),
        lambda: first_of(data, range(2), 1 << 20),
    ):
        with pytest.raises(TooLarge):
            take()


def test_records_count_however_small_they_are() -> None:
    (batch,) = split(
        memoryview(write_batch([Plain(offset=n) for n in range(20_000)], codec_number=4))
    )
    assert len(records_of(batch)) == 20_000
    for take in (
        lambda: records_of(batch, 1 << 20),
        lambda: recode([batch], 0, Compression(4), 1 << 20),
    ):
        with pytest.raises(TooLarge, match="20000 records, which count 128 bytes each"):
            take()


def test_as_many_as_we_write_into_one_are_not_too_many() -> None:
    records = [Plain(offset=n) for n in range(MOST_RECORDS)]
    (batch,) = split(memoryview(write_batch(records, codec_number=4)))
    assert len(records_of(batch, 1 << 20)) == MOST_RECORDS
    assert recode([batch], 0, Compression(4), 1 << 20) is not None
