"""Records of the dead-letter topic, and where batches end that cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flows.source.forward.damaged_batch import damaged_batch
from flows.source.forward.dead_letters import (
    CONSUMED,
    Failure,
    context_headers,
    dead_letter,
    key_and_value,
)
from flows.source.forward.recode import records_of
from flows.source.forward.record_batch import split
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.error_codes import Code
from tests.support.batches import Plain, read_batch, with_checksum, write_batch

_BYTES = st.none() | st.binary(max_size=300)
_HEADERS = st.lists(st.tuples(st.binary(max_size=9), _BYTES), max_size=70).map(tuple)


@settings(deadline=None)
@given(
    key=_BYTES,
    value=_BYTES,
    headers=_HEADERS,
    added=st.lists(st.tuples(st.text(max_size=9), st.binary(max_size=9)), max_size=70),
)
def test_a_dead_letter_is_the_record_with_more_headers(
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[bytes, bytes | None], ...],
    added: list[tuple[str, bytes]],
) -> None:
    plain = Plain(offset=0, timestamp=12, key=key, value=value, headers=headers)
    (batch,) = split(memoryview(write_batch([plain])))
    (record,) = records_of(batch)
    assert key_and_value(record.body) == (key, value)
    (found,) = read_batch(with_checksum(dead_letter(record, added).data))
    assert (found.timestamp, found.key, found.value) == (12, key, value)
    assert found.headers == (*headers, *((name.encode(), text) for name, text in added))


def test_context_headers_are_connects() -> None:
    """KIP-298, ``DeadLetterQueueReporter``."""
    failure = Failure(
        source=TopicPartition(TopicName("t"), 3),
        offset=42,
        stage=CONSUMED,
        code=Code.CORRUPT_MESSAGE,
        reason="no batch",
    )
    assert dict(context_headers(failure, connector="MirrorSourceConnector", task=1)) == {
        "__connect.errors.topic": b"t",
        "__connect.errors.partition": b"3",
        "__connect.errors.offset": b"42",
        "__connect.errors.connector.name": b"MirrorSourceConnector",
        "__connect.errors.task.id": b"1",
        "__connect.errors.stage": b"KAFKA_CONSUME",
        "__connect.errors.class.name": b"flows.source.forward.dead_letters",
        "__connect.errors.exception.class.name": (
            b"org.apache.kafka.common.errors.CorruptRecordException"
        ),
        "__connect.errors.exception.message": b"no batch",
        "__connect.errors.exception.stacktrace": b"no batch",
    }


def _batch(first: int, count: int) -> bytes:
    return write_batch([Plain(offset=first + n, value=b"v") for n in range(count)])


def _offsets(records: bytes, position: int, end: int = 100) -> range | None:
    found = damaged_batch(memoryview(records), position, end)
    return None if found is None else found.offsets


def test_a_damaged_batch_ends_where_the_next_one_begins() -> None:
    records = _batch(0, 5) + _batch(5, 3) + _batch(20, 2)
    found = damaged_batch(memoryview(records), 5, 100)
    assert found is not None
    assert (found.data, found.offsets) == (_batch(5, 3), range(5, 20))


def _broken(batch: bytes, last_delta: int | None = None) -> bytes:
    """A batch whose checksum does not hold, maybe with another last offset."""
    broken = bytearray(batch)
    broken[-1] ^= 1
    if last_delta is not None:
        broken[23:27] = last_delta.to_bytes(4, "big")
    return bytes(broken)


def test_a_last_batch_whose_checksum_holds_ends_where_its_header_says() -> None:
    records = _batch(0, 5) + _batch(5, 3)
    assert _offsets(records, 5) == range(5, 8)
    assert _offsets(records, 6) == range(6, 8)


@pytest.mark.parametrize("last_delta", [None, 900_000, 40])
def test_a_damaged_header_does_not_tell_where_its_batch_ends(last_delta: int | None) -> None:
    broken = _broken(_batch(5, 3), last_delta)
    assert _offsets(broken, 5, end=1_000_000) is None
    assert _offsets(broken + _batch(8, 1), 5, end=1_000_000) == range(5, 8)


def test_a_damaged_header_is_believed_that_ends_where_the_source_does() -> None:
    assert _offsets(_broken(_batch(5, 3)), 5, end=8) == range(5, 8)
    assert _offsets(_broken(_batch(5, 3), 3), 5, end=8) is None


def test_a_header_is_not_believed_that_names_offsets_which_do_not_exist() -> None:
    assert _offsets(_batch(0, 5), 0, end=3) is None
    assert _offsets(_batch(0, 5), 7) is None


def test_garbage_does_not_tell_where_it_ends() -> None:
    assert _offsets(b"", 0) is None
    assert _offsets(b"\0" * 61, 0) is None
    assert _offsets(b"\0" * 8 + b"\0\0\0\x05" + b"\0" * 5, 0) is None


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 100), st.integers(0, 100))
def test_whatever_comes_it_only_ever_goes_forward(data: bytes, position: int, end: int) -> None:
    offsets = _offsets(data, position, end)
    assert offsets is None or offsets.start == position < offsets.stop


@settings(deadline=None)
@given(
    value=st.binary(min_size=40, max_size=200),
    length=st.integers(49, 200),
    end=st.integers(8, 1 << 62),
)
@example(value=b"\1" * 60, length=60, end=100)
@example(value=(50).to_bytes(8, "big") * 9, length=66, end=100)
def test_a_damaged_length_does_not_make_a_batch_of_what_it_holds(
    value: bytes, length: int, end: int
) -> None:
    damaged = bytearray(write_batch([Plain(offset=5, value=value)]))
    damaged[8:12] = length.to_bytes(4, "big")
    offsets = _offsets(bytes(damaged) + _batch(6, 2), 5, end)
    assert offsets is None or offsets.stop <= end
    at = 12 + length
    if at + 17 <= len(damaged) and damaged[at + 16] > 2:
        base = int.from_bytes(damaged[at : at + 8], "big", signed=True)
        assert offsets is None or base <= 5
