"""The codec that the demo's proof stands on agrees with aiokafka's, and keeps what that refuses."""

from __future__ import annotations

import dataclasses

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from mm2.demo.demo_traffic import shapes
from mm2.demo.raw_batches import CODECS, RawRecord, decode, encode

_BLOBS = st.none() | st.binary(max_size=40)
_TIMES = st.integers(0, 1 << 42)
_RECORDS = st.builds(
    RawRecord,
    key=_BLOBS,
    value=_BLOBS,
    headers=st.lists(st.tuples(st.binary(max_size=8), _BLOBS), max_size=3).map(tuple),
    timestamp_ms=_TIMES,
)


def _as_read(records: list[RawRecord], codec: str) -> list[RawRecord]:
    return [dataclasses.replace(r, offset=n, codec=codec) for n, r in enumerate(records)]


@given(st.lists(_RECORDS, min_size=1, max_size=5), st.sampled_from(CODECS))
def test_what_is_encoded_is_decoded_alike(records: list[RawRecord], codec: str) -> None:
    assert list(decode(encode(records, codec))) == _as_read(records, codec)


@given(st.lists(_RECORDS, min_size=1, max_size=5), st.sampled_from(CODECS))
def test_aiokafka_reads_what_is_encoded(records: list[RawRecord], codec: str) -> None:
    plain = [dataclasses.replace(record, headers=()) for record in records]
    batch = DefaultRecordBatch(encode(plain, codec))
    assert batch.validate_crc()
    read = [(each.key, each.value, each.timestamp) for each in batch]
    assert read == [(each.key, each.value, each.timestamp_ms) for each in plain]


@given(st.lists(st.tuples(_BLOBS, _BLOBS, _TIMES), min_size=1, max_size=5))
def test_what_aiokafka_encodes_is_read(
    records: list[tuple[bytes | None, bytes | None, int]],
) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        batch_size=1 << 20,
    )
    for offset, (key, value, time) in enumerate(records):
        builder.append(offset, time, key, value, [("h", b"1")])
    read = [(each.key, each.value, each.timestamp_ms) for each in decode(bytes(builder.build()))]
    assert read == records


@pytest.mark.parametrize("codec", CODECS)
def test_the_shapes_survive_every_codec(codec: str) -> None:
    written = shapes(1_700_000_000_000, codec)
    assert list(decode(encode(written, codec))) == _as_read(written, codec)


def test_a_batch_cut_off_is_left_for_the_next_fetch() -> None:
    whole = encode([RawRecord(value=b"1")], "none")
    assert len(list(decode(whole + whole[:-1]))) == 1


def test_a_damaged_batch_is_refused() -> None:
    damaged = bytearray(encode([RawRecord(value=b"value")], "none"))
    damaged[-3] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        list(decode(bytes(damaged)))
