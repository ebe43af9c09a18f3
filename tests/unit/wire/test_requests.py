"""Fetch and Produce, byte by byte against aiokafka's own classes."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.protocol.fetch import (
    FetchRequest_v11,
    FetchResponse_v10,
    FetchResponse_v11,
)
from aiokafka.protocol.produce import ProduceRequest_v7, ProduceResponse_v7
from aiokafka.protocol.types import (
    CompactArray,
    CompactBytes,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)
from hypothesis import given
from hypothesis import strategies as st

from mm2.kafka.wire.frame import uvarint
from mm2.kafka.wire.requests.fetch import (
    FetchedPartition,
    FetchRequest,
    _FetchResponse,
    _FetchResponseV10,
    _FetchResponseV13,
    _FetchV10,
    _FetchV11,
)
from mm2.kafka.wire.requests.produce import (
    ProducedPartition,
    ProduceRequest,
    _ProduceResponse,
    _ProduceV7,
)

_NO_TAGS = TaggedFields.encode({})

_i32 = st.integers(0, (1 << 31) - 1)
_i64 = st.integers(-1, (1 << 63) - 1)
_topics = st.text(max_size=8)
_errors = st.integers(-1, 120)


@given(
    waits=st.tuples(_i32, _i32, _i32),
    read_committed=...,
    rack_and_session=st.tuples(_topics, _i32, _i32),
    forgotten=st.dictionaries(_topics, st.lists(_i32, max_size=3), max_size=3),
    topics=st.dictionaries(_topics, st.lists(st.tuples(_i32, _i64, _i32), max_size=3), max_size=3),
)
def test_a_fetch_request_has_the_bytes_of_the_client_library(
    waits: tuple[int, int, int],
    read_committed: bool,
    rack_and_session: tuple[str, int, int],
    forgotten: dict[str, list[int]],
    topics: dict[str, list[tuple[int, int, int]]],
) -> None:
    wait, least, most = waits
    rack, *session = rack_and_session
    request = FetchRequest(
        max_wait_ms=wait,
        min_bytes=least,
        max_bytes=most,
        read_committed=read_committed,
        topics=topics,
        rack=rack,
        session=session[0],
        epoch=session[1],
        forgotten=forgotten,
    )
    listed = [
        (topic, [(n, -1, offset, -1, size) for n, offset, size in partitions])
        for topic, partitions in topics.items()
    ]
    isolation = 1 if read_committed else 0
    theirs = FetchRequest_v11(
        -1, wait, least, most, isolation, *session, listed, list(forgotten.items()), rack
    ).encode()
    assert request.build(_FetchV11).encode() == theirs
    # Version 10 is the same without the rack.
    assert request.build(_FetchV10).encode() == theirs[: -2 - len(rack.encode())]


@given(
    timeout=_i32,
    transactional_id=st.none() | st.text(max_size=9),
    batches=st.dictionaries(st.tuples(_topics, _i32), st.binary(max_size=40), max_size=5),
)
def test_a_produce_request_has_the_bytes_of_the_client_library(
    timeout: int, transactional_id: str | None, batches: dict[tuple[str, int], bytes]
) -> None:
    request = ProduceRequest(
        timeout_ms=timeout,
        batches=[(*where, bytearray(data)) for where, data in batches.items()],
        transactional_id=transactional_id,
    )
    topics: dict[str, list[tuple[int, bytes]]] = {}
    for (topic, number), data in batches.items():
        topics.setdefault(topic, []).append((number, data))
    theirs = ProduceRequest_v7(transactional_id, -1, timeout, list(topics.items()))
    assert request.build(_ProduceV7).encode() == theirs.encode()


class _Tags(TaggedFields):  # type: ignore[misc]  # untyped
    """Optional fields with their sizes, which aiokafka's class leaves out."""

    @classmethod
    def encode(cls, value: dict[int, bytes]) -> bytes:
        fields = (uvarint(tag) + uvarint(len(data)) + data for tag, data in value.items())
        return uvarint(len(value)) + b"".join(fields)


_by_id = st.dictionaries(st.uuids(), st.lists(st.tuples(_i32, _i64, _i32), max_size=3), max_size=3)


@given(
    waits=st.tuples(_i32, _i32, _i32),
    session=st.tuples(_i32, _i32),
    rack=_topics,
    forgotten=st.dictionaries(st.uuids(), st.lists(_i32, max_size=3), max_size=3),
    topics=_by_id,
)
def test_a_fetch_request_by_ids_has_the_bytes_of_the_protocol(
    waits: tuple[int, int, int],
    session: tuple[int, int],
    rack: str,
    forgotten: dict[UUID, list[int]],
    topics: dict[UUID, list[tuple[int, int, int]]],
) -> None:
    """FetchRequest.json, version 13."""
    request = FetchRequest(
        max_wait_ms=waits[0],
        min_bytes=waits[1],
        max_bytes=waits[2],
        read_committed=True,
        topics=topics,
        rack=rack,
        session=session[0],
        epoch=session[1],
        forgotten=forgotten,
        by_id=True,
    )
    partition = Schema(
        ("partition", Int32),
        ("current leader epoch", Int32),
        ("offset", Int64),
        ("last fetched epoch", Int32),
        ("log start", Int64),
        ("max bytes", Int32),
        ("tags", TaggedFields),
    )
    written = [
        topic.bytes
        + CompactArray(partition).encode([(n, -1, at, -1, -1, most, {}) for n, at, most in asked])
        + _NO_TAGS
        for topic, asked in topics.items()
    ]
    gone = [
        topic.bytes + CompactArray(Int32).encode(numbers) + _NO_TAGS
        for topic, numbers in forgotten.items()
    ]
    head = struct.pack(">iiiibii", -1, *waits, 1, *session)
    length = [uvarint(len(each) + 1) for each in (written, gone)]
    expected = head + length[0] + b"".join(written) + length[1] + b"".join(gone)
    versions = {1: (4, 17)}
    assert request.prepare(versions).encode() == (
        expected + CompactString("utf-8").encode(rack) + _NO_TAGS
    )
    with pytest.raises(IncompatibleBrokerVersion):
        request.prepare({1: (4, 12)})


def test_topics_by_their_names_are_asked_for_in_a_version_that_knows_names() -> None:
    request = FetchRequest(
        max_wait_ms=0, min_bytes=1, max_bytes=1, read_committed=False, topics={"t": [(0, 1, 2)]}
    )
    for newest, expected in ((10, _FetchV10), (11, _FetchV11), (17, _FetchV11)):
        assert type(request.prepare({1: (4, newest)})) is expected


_fetched = st.tuples(
    _i32,
    _errors,
    _i64,
    _i64,
    _i64,
    st.none() | st.lists(st.tuples(_i64, _i64), max_size=3),
    _i32,
    st.none() | st.binary(max_size=40),
)


@given(
    head=st.tuples(_i32, _errors, _i32),
    topics=st.lists(st.tuples(_topics, st.lists(_fetched, max_size=3)), max_size=3),
)
def test_a_fetch_response_is_read_as_the_client_library_writes_it(
    head: tuple[int, int, int],
    topics: list[
        tuple[
            str,
            list[tuple[int, int, int, int, int, list[tuple[int, int]] | None, int, bytes | None]],
        ]
    ],
) -> None:
    expected = [
        (topic, n, code, high, stable, start, tuple(aborted or ()), data or b"")
        for topic, partitions in topics
        for n, code, high, stable, start, aborted, _, data in partitions
    ]
    newest = _FetchResponse.decode(FetchResponse_v11(*head, topics).encode()).answer
    assert (newest.throttle_ms, newest.error, newest.session) == head
    assert [partition.preferred_replica for partition in newest.partitions] == [
        partition[6] for _, partitions in topics for partition in partitions
    ]
    assert [_fields(partition) for partition in newest.partitions] == expected
    without_replica = [
        (topic, [(*partition[:6], partition[7]) for partition in partitions])
        for topic, partitions in topics
    ]
    older = _FetchResponseV10.decode(FetchResponse_v10(*head, without_replica).encode()).answer
    assert [_fields(partition) for partition in older.partitions] == expected


def _fields(fetched: FetchedPartition) -> tuple[object, ...]:
    return (
        fetched.topic,
        fetched.partition,
        fetched.error,
        fetched.high_watermark,
        fetched.last_stable,
        fetched.log_start,
        fetched.aborted,
        bytes(fetched.records),
    )


@given(
    head=st.tuples(_i32, _errors, _i32),
    topics=st.lists(st.tuples(st.uuids(), st.lists(_fetched, max_size=3)), max_size=3),
    tags=st.dictionaries(st.integers(0, 5), st.binary(max_size=5), max_size=2),
)
def test_a_fetch_response_by_ids_is_read_whatever_optional_fields_it_has(
    head: tuple[int, int, int],
    topics: list[
        tuple[
            UUID,
            list[tuple[int, int, int, int, int, list[tuple[int, int]] | None, int, bytes | None]],
        ]
    ],
    tags: dict[int, bytes],
) -> None:
    """FetchResponse.json, version 13."""
    transaction = Schema(("producer", Int64), ("first", Int64), ("tags", _Tags))
    partition = Schema(
        *(("number", Int32), ("error", Int16), ("high", Int64), ("stable", Int64)),
        *(("start", Int64), ("aborted", CompactArray(transaction)), ("replica", Int32)),
        *(("records", CompactBytes), ("tags", _Tags)),
    )
    written = [
        topic.bytes
        + CompactArray(partition).encode(
            [
                (
                    *numbers,
                    None if aborted is None else [(*each, tags) for each in aborted],
                    replica,
                    data,
                    tags,
                )
                for *numbers, aborted, replica, data in partitions
            ]
        )
        + _Tags.encode(tags)
        for topic, partitions in topics
    ]
    frame = struct.pack(">ihi", *head) + uvarint(len(written) + 1)
    frame += b"".join(written) + _Tags.encode(tags)
    answer = _FetchResponseV13.decode(frame).answer
    assert (answer.throttle_ms, answer.error, answer.session) == head
    assert [(*_fields(p), p.preferred_replica) for p in answer.partitions] == [
        (topic, n, code, high, stable, start, tuple(aborted or ()), data or b"", replica)
        for topic, partitions in topics
        for n, code, high, stable, start, aborted, replica, data in partitions
    ]


@given(
    topics=st.lists(
        st.tuples(_topics, st.lists(st.tuples(_i32, _errors, _i64, _i64, _i64), max_size=3)),
        max_size=3,
    ),
    throttle=_i32,
)
def test_a_produce_response_is_read_as_the_client_library_writes_it(
    topics: list[tuple[str, list[tuple[int, int, int, int, int]]]], throttle: int
) -> None:
    answer = _ProduceResponse.decode(ProduceResponse_v7(topics, throttle).encode()).answer
    assert answer.throttle_ms == throttle
    assert answer.partitions == [
        ProducedPartition(topic, number, error, base)
        for topic, partitions in topics
        for number, error, base, _, _ in partitions
    ]


def test_a_response_that_ends_early_is_refused() -> None:
    whole = ProduceResponse_v7([("t", [(0, 0, 5, -1, 0)])], 0).encode()
    for size in range(len(whole)):
        try:
            _ProduceResponse.decode(whole[:size])
        except struct.error:
            continue
        raise AssertionError(f"{size} of {len(whole)} bytes were taken for a response")
