"""Fetch and Produce, byte by byte against aiokafka's own classes."""

from __future__ import annotations

import struct

from aiokafka.protocol.fetch import (
    FetchRequest_v11,
    FetchResponse_v10,
    FetchResponse_v11,
)
from aiokafka.protocol.produce import ProduceRequest_v7, ProduceResponse_v7
from hypothesis import given
from hypothesis import strategies as st

from mm2.kafka.wire.requests import (
    FetchedPartition,
    FetchRequest,
    ProducedPartition,
    ProduceRequest,
    _FetchResponse,
    _FetchResponseV10,
    _FetchV10,
    _FetchV11,
    _ProduceResponse,
    _ProduceV7,
)

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
