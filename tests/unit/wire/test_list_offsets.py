"""ListOffsets, byte by byte against aiokafka's classes and primitive types."""

from __future__ import annotations

import pytest
from aiokafka.protocol.offset import OffsetRequest_v2, OffsetResponse_v2
from aiokafka.protocol.types import (
    CompactArray,
    CompactString,
    Int8,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)
from hypothesis import given
from hypothesis import strategies as st

from mm2.kafka.wire.requests.list_offsets import (
    LATEST,
    MAX_TIMESTAMP,
    FlexibleListOffsetsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsV2,
    ListOffsetsV7,
    OffsetFound,
)

_i16 = st.integers(-1, (1 << 15) - 1)
_i32 = st.integers(-1, (1 << 31) - 1)
_i64 = st.integers(-3, (1 << 63) - 1)
_names = st.text(max_size=8)
_TAGGED = ("tags", TaggedFields)


@given(
    partitions=st.dictionaries(_names, st.lists(_i32, max_size=3), max_size=3),
    at=st.integers(-2, (1 << 63) - 1),
    read_committed=...,
)
def test_offsets_are_asked_for(
    partitions: dict[str, list[int]], at: int, read_committed: bool
) -> None:
    request = ListOffsetsRequest(partitions, at, read_committed=read_committed)
    old = [(topic, [(number, at) for number in each]) for topic, each in partitions.items()]
    level = int(read_committed)
    assert request.build(ListOffsetsV2).encode() == OffsetRequest_v2(-1, level, old).encode()
    asked = (("p", Int32), ("e", Int32), ("t", Int64), _TAGGED)
    topics = CompactArray(("n", CompactString()), ("p", CompactArray(*asked)), _TAGGED)
    whole = Schema(("r", Int32), ("l", Int8), ("t", topics), _TAGGED)
    new: list[object] = [
        (topic, [(number, -1, at, {}) for number in each], {}) for topic, each in partitions.items()
    ]
    assert request.build(ListOffsetsV7).encode() == whole.encode((-1, level, new, {}))


_found = st.lists(
    st.tuples(_names, st.lists(st.tuples(_i32, _i16, _i64, _i64), max_size=3)), max_size=3
)


@given(topics=_found)
def test_offsets_are_read(topics: list[tuple[str, list[tuple[int, int, int, int]]]]) -> None:
    expected = [OffsetFound(topic, *found) for topic, each in topics for found in each]
    old = OffsetResponse_v2(3, topics).encode()
    assert ListOffsetsResponse.decode(old).found == expected
    fields = (("p", Int32), ("c", Int16), ("t", Int64), ("o", Int64), ("e", Int32), _TAGGED)
    listed = CompactArray(("n", CompactString()), ("p", CompactArray(*fields)), _TAGGED)
    whole = Schema(("t", Int32), ("l", listed), _TAGGED)
    new: list[object] = [(topic, [(*found, 7, {}) for found in each], {}) for topic, each in topics]
    data = whole.encode((3, new, {}))
    assert FlexibleListOffsetsResponse.decode(data).found == expected


def test_older_brokers_are_not_asked_for_the_highest_timestamp() -> None:
    request = ListOffsetsRequest({"t": [0]}, MAX_TIMESTAMP)
    with pytest.raises(NotImplementedError, match="before 3"):
        request.build(ListOffsetsV2)
    assert ListOffsetsRequest({"t": [0]}, LATEST).build(ListOffsetsV2).encode()
