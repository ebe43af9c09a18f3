"""What is allowed in a log, and what aiokafka's own consumer fails at for good."""

from __future__ import annotations

from contextlib import nullcontext
from struct import Struct
from typing import Any, Final

import pytest
from aiokafka.consumer import fetcher
from aiokafka.consumer.fetcher import READ_COMMITTED
from aiokafka.errors import CorruptRecordException
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.util import calc_crc32c
from aiokafka.structs import TopicPartition
from structlog.testing import capture_logs

from flows.source.forward.recode import encode
from flows.source.forward.record_batch import rewrite_header
from flows.source.forward.record_body import DecodedRecord, keyed_body
from mm2.kafka.logs import odd_records
from mm2.kafka.logs.odd_records import read_odd_records, too_large_passed_over
from mm2.kafka.wire.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD, Compression
from tests.support.odd_batches import EMPTY_CONTROL_BATCH

_FIRST: Final = Struct(">q")
_CHECKSUM: Final = Struct(">I")
_TRANSACTIONAL_CONTROL: Final = 0b11_0000
_PRODUCER = 42
_ABORTED = [(_PRODUCER, 0)]


@pytest.fixture(autouse=True)
def _a_megabyte_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(odd_records, "_MOST_PLAIN", 1 << 20)


def _read(data: bytes, aborted: list[tuple[int, int]] | None = None) -> tuple[list[Any], int]:
    """What a consumer of committed records hands out, and where it fetches next."""
    read_odd_records()
    records = fetcher.MemoryRecords(data)
    assert records.has_next()
    assert records.size_in_bytes() == len(data)
    where = TopicPartition("mm2-offsets.A.internal", 0)
    partition = fetcher.PartitionRecords(
        where, records, aborted, 0, None, None, True, READ_COMMITTED
    )
    return list(partition), partition.next_fetch_offset


def _batch(
    offset: int,
    *bodies: bytes,
    codec: int = NONE,
    transactional: bool = False,
    timestamp_ms: int = 1_700_000_000_000,
) -> bytes:
    records = [
        DecodedRecord(number, timestamp_ms + number, body) for number, body in enumerate(bodies)
    ]
    data = encode(records, Compression(codec)).data
    stamped = rewrite_header(
        data, producer_id=_PRODUCER, epoch=3, sequence=0, transactional=transactional
    )
    _FIRST.pack_into(stamped, 0, offset)  # The checksum begins behind it.
    return bytes(stamped)


def test_an_emptied_control_batch_is_passed_over() -> None:
    """KAFKA-7467: the cleaner keeps it as long as its producer is known."""
    plain = _batch(6, keyed_body(b"k", b"v"))
    records, after = _read(EMPTY_CONTROL_BATCH + plain)
    assert [(record.offset, record.value) for record in records] == [(6, b"v")]
    assert after == 7


def test_an_emptied_control_batch_ends_what_was_aborted_before_it() -> None:
    aborted = _batch(4, keyed_body(b"k", b"aborted"), transactional=True)
    committed = _batch(6, keyed_body(b"k", b"committed"), transactional=True)
    records, _ = _read(aborted + EMPTY_CONTROL_BATCH + committed, _ABORTED)
    assert [record.value for record in records] == [b"committed"]


@pytest.mark.parametrize("key", [b"\0\0\0\0", b"\0\0\0\1"], ids=["abort", "commit"])
def test_a_marker_ends_what_was_aborted_before_it(key: bytes) -> None:
    aborted = _batch(4, keyed_body(b"k", b"aborted"), transactional=True)
    committed = _batch(6, keyed_body(b"k", b"committed"), transactional=True)
    records, after = _read(aborted + _marker(5, key) + committed, _ABORTED)
    assert ([record.value for record in records], after) == ([b"committed"], 7)


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_header_keys_that_are_not_utf_8_are_read(codec: int) -> None:
    plain, odd = keyed_body(b"a", b"1", [(b"name", b"x")]), keyed_body(None, None, [(b"\xff", b"")])
    data = _batch(5, plain, odd, plain, codec=codec)
    records, after = _read(data)
    assert [
        (each.offset, each.timestamp, each.key, each.value, tuple(each.headers)) for each in records
    ] == [
        (5, 1_700_000_000_000, b"a", b"1", (("name", b"x"),)),
        (6, 1_700_000_000_001, None, None, (("\ufffd", b""),)),
        (7, 1_700_000_000_002, b"a", b"1", (("name", b"x"),)),
    ]
    assert after == 8


def test_several_batches_are_told_apart() -> None:
    odd = keyed_body(b"k", b"v", [(b"\xff\xfe", b"")])
    data = _batch(0, odd) + _batch(1, keyed_body(b"k", b"v")) + _batch(2, odd)
    records, after = _read(data + data[:40])
    assert [record.offset for record in records] == [0, 1, 2]
    assert after == 3


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_a_batch_that_would_fill_the_memory_is_refused(codec: int) -> None:
    """Whoever may write to a topic can put there a small batch of hundreds of megabytes."""
    good = _batch(5, keyed_body(b"k", b"v"))
    bad = _batch(6, keyed_body(b"k", bytes(2 << 20)), codec=codec)
    with pytest.raises(
        CorruptRecordException,
        match=r"mm2-offsets\.A\.internal-0 cannot be read at offset 6: .*"
        r"the batch at offset 6 has more than 1048576 bytes when it is decompressed",
    ):
        _read(good + bad)


def test_those_who_read_what_mm2_writes_pass_over_such_batches() -> None:
    bad = [_batch(offset, keyed_body(b"k", bytes(2 << 20)), codec=ZSTD) for offset in (6, 7, 9)]
    good = [_batch(offset, keyed_body(b"k", b"v")) for offset in (5, 8)]
    with capture_logs() as logs, too_large_passed_over():
        for _ in range(2):
            records, after = _read(good[0] + bad[0] + bad[1] + good[1] + bad[2])
            assert ([record.offset for record in records], after) == ([5, 8], 10)
    told = [(each["topic"], each["partition"], each["offset"], each["size"]) for each in logs]
    assert told == [("mm2-offsets.A.internal", 0, n, len(bad[0])) for n in (6, 7, 9)], "once each"


def test_what_was_aborted_stays_so_behind_such_a_batch() -> None:
    data = [
        _batch(4, keyed_body(b"k", b"aborted"), transactional=True),
        _batch(5, keyed_body(b"k", bytes(2 << 20)), codec=ZSTD),
        _batch(6, keyed_body(b"k", b"aborted"), transactional=True),
        _batch(7, keyed_body(b"k", b"v" * 100), codec=ZSTD),
    ]
    with too_large_passed_over():
        records, _ = _read(b"".join(data), _ABORTED)
    assert [record.offset for record in records] == [7]


@pytest.mark.parametrize("magic", [0, 1])
def test_one_of_an_old_format_is_refused_as_well(magic: int) -> None:
    for size, is_refused in ((1 << 19, False), (2 << 20, True)):
        builder = LegacyRecordBatchBuilder(magic, GZIP, 128 << 20)
        builder.append(0, 1, b"k", bytes(size))
        data = bytes(builder.build())
        with (
            pytest.raises(CorruptRecordException, match="has more than 1048576 bytes")
            if is_refused
            else nullcontext()
        ):
            records, _ = _read(data)
            assert [len(record.value) for record in records] == [size]
        if is_refused:
            with too_large_passed_over():
                assert _read(data) == ([], 1)


def test_a_batch_that_does_not_decompress_is_told() -> None:
    good = _batch(6, keyed_body(b"k", b"v" * 100), codec=GZIP)
    with pytest.raises(CorruptRecordException, match="the batch at offset 6 cannot be read"):
        _read(_checked(bytearray(good[:61] + b"x" * (len(good) - 61))))


def _marker(offset: int, key: bytes) -> bytes:
    batch = bytearray(_batch(offset, keyed_body(key, b"\0\0\0\0\0\0"), transactional=True))
    batch[22] |= _TRANSACTIONAL_CONTROL
    return _checked(batch)


def _checked(batch: bytearray) -> bytes:
    _CHECKSUM.pack_into(batch, 17, calc_crc32c(bytes(batch[21:])))
    return bytes(batch)
