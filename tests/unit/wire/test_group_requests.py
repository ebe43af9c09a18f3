"""
Requests about many groups, against the client library's types for the newer encoding.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.protocol.types import (
    Array,
    Boolean,
    CompactArray,
    CompactString,
    Int8,
    Int16,
    Int32,
    Int64,
    Schema,
    String,
    UnsignedVarInt32,
)
from hypothesis import given
from hypothesis import strategies as st

from mm2.kafka.wire.requests.describe_groups import (
    ConsumerGroupsRequest,
    ConsumerGroupsResponse,
    ConsumerGroupsV0,
    DescribedGroup,
    DescribedMember,
)
from mm2.kafka.wire.requests.find_coordinators import (
    CoordinatorFound,
    FindCoordinatorsRequest,
    FindCoordinatorsResponse,
    FindCoordinatorsV4,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    ListGroupsResponseV2,
    ListGroupsResponseV4,
    ListGroupsV2,
    ListGroupsV4,
    ListGroupsV5,
)
from mm2.kafka.wire.requests.offset_fetch import (
    FetchedOffset,
    FetchedOffsets,
    OffsetsRequest,
    OffsetsResponse,
    OffsetsV8,
)


class _TaggedFields:
    """The client library's own writes fields without their sizes."""

    @staticmethod
    def encode(fields: dict[int, bytes]) -> bytes:
        number = UnsignedVarInt32.encode
        return bytes(number(len(fields))) + b"".join(
            number(tag) + number(len(data)) + data for tag, data in sorted(fields.items())
        )


_TEXT = CompactString("utf-8")
_TAGS = ("tags", _TaggedFields)
_UUID = tuple((f"byte_{n}", Int8) for n in range(16))

_texts = st.text(max_size=9)
_nullable = st.none() | _texts
_i16 = st.integers(-1, 120)
_i32 = st.integers(-1, (1 << 31) - 1)
_i64 = st.integers(-1, (1 << 63) - 1)
_tags = st.dictionaries(st.integers(0, 9), st.binary(max_size=5), max_size=2)


@given(st.lists(_texts, max_size=4))
def test_requests_have_the_bytes_that_the_protocol_asks_for(groups: list[str]) -> None:
    listed = CompactArray(_TEXT)
    assert FindCoordinatorsRequest(groups).build(FindCoordinatorsV4).encode() == Schema(
        ("kind", Int8), ("keys", listed), _TAGS
    ).encode((0, groups, {}))
    assert ListGroupsRequest(groups).build(ListGroupsV5).encode() == Schema(
        ("states", listed), ("types", listed), _TAGS
    ).encode(([], groups, {}))
    assert ConsumerGroupsRequest(groups).build(ConsumerGroupsV0).encode() == Schema(
        ("groups", listed), ("permissions", Boolean), _TAGS
    ).encode((groups, False, {}))
    group = (("id", _TEXT), ("topics", CompactArray(_TEXT)), _TAGS)
    assert OffsetsRequest(groups).build(OffsetsV8).encode() == Schema(
        ("groups", CompactArray(*group)), ("stable", Boolean), _TAGS
    ).encode(([(each, None, {}) for each in groups], False, {}))


@given(st.lists(st.tuples(_texts, _i32, _texts, _i32, _i16, _nullable, _tags), max_size=4), _tags)
def test_coordinators_are_read(
    found: list[tuple[str, int, str, int, int, str | None, dict[int, bytes]]],
    tags: dict[int, bytes],
) -> None:
    fields = (
        ("key", _TEXT),
        ("node", Int32),
        ("host", _TEXT),
        ("port", Int32),
        ("error", Int16),
        ("message", _TEXT),
        _TAGS,
    )
    schema = Schema(("throttle", Int32), ("found", CompactArray(*fields)), _TAGS)
    answer = FindCoordinatorsResponse.decode(schema.encode((0, found, tags)))
    assert answer.found == [CoordinatorFound(each[0], each[1], each[4]) for each in found]


@given(_i16, st.lists(st.tuples(_texts, _texts, _texts, _texts, _tags), max_size=4), _tags)
def test_lists_of_groups_are_read(
    error: int,
    groups: list[tuple[str, str, str, str, dict[int, bytes]]],
    tags: dict[int, bytes],
) -> None:
    fields = (("id", _TEXT), ("protocol", _TEXT), ("state", _TEXT), ("type", _TEXT), _TAGS)
    schema = Schema(("throttle", Int32), ("error", Int16), ("groups", CompactArray(*fields)), _TAGS)
    answer = ListGroupsResponse.decode(schema.encode((0, error, groups, tags)))
    assert answer.error == error
    assert answer.groups == [ListedGroup(*words) for *words, _tags in groups]


@given(_i16, st.lists(st.tuples(_texts, _texts, _texts, _tags), max_size=4), _tags)
def test_older_brokers_list_groups_without_kinds(
    error: int, groups: list[tuple[str, str, str, dict[int, bytes]]], tags: dict[int, bytes]
) -> None:
    fields = (("id", _TEXT), ("protocol", _TEXT), ("state", _TEXT), _TAGS)
    schema = Schema(("throttle", Int32), ("error", Int16), ("groups", CompactArray(*fields)), _TAGS)
    answer = ListGroupsResponseV4.decode(schema.encode((0, error, groups, tags)))
    assert answer.error == error
    assert answer.groups == [ListedGroup(*words) for *words, _tags in groups]
    states = Schema(("states", CompactArray(_TEXT)), _TAGS).encode(([], {}))
    assert ListGroupsRequest().build(ListGroupsV4).encode() == states

    text = String("utf-8")
    oldest = Schema(("t", Int32), ("e", Int16), ("groups", Array(("id", text), ("protocol", text))))
    answer_2 = ListGroupsResponseV2.decode(oldest.encode((0, error, [g[:2] for g in groups])))
    assert answer_2.error == error
    assert answer_2.groups == [ListedGroup(*each[:2]) for each in groups]
    assert ListGroupsRequest().build(ListGroupsV2).encode() == b""


@pytest.mark.parametrize("version", [ListGroupsV2, ListGroupsV4])
def test_groups_of_some_kinds_are_not_asked_of_brokers_that_know_none(
    version: type[ListGroupsV2 | ListGroupsV4],
) -> None:
    with pytest.raises(IncompatibleBrokerVersion):
        ListGroupsRequest(["share"]).build(version)


_partitions = st.lists(st.tuples(_i32, _i64, _i32, _nullable, _i16, _tags), max_size=3)
_topics = st.lists(st.tuples(_texts, _partitions, _tags), max_size=3)


@given(st.lists(st.tuples(_texts, _topics, _i16, _tags), max_size=3), _tags)
def test_offsets_of_several_groups_are_read(
    groups: list[
        tuple[
            str,
            list[
                tuple[
                    str,
                    list[tuple[int, int, int, str | None, int, dict[int, bytes]]],
                    dict[int, bytes],
                ]
            ],
            int,
            dict[int, bytes],
        ]
    ],
    tags: dict[int, bytes],
) -> None:
    partition = (
        ("number", Int32),
        ("offset", Int64),
        ("epoch", Int32),
        ("metadata", _TEXT),
        ("error", Int16),
        _TAGS,
    )
    topic = (("name", _TEXT), ("partitions", CompactArray(*partition)), _TAGS)
    group = (("id", _TEXT), ("topics", CompactArray(*topic)), ("error", Int16), _TAGS)
    schema = Schema(("throttle", Int32), ("groups", CompactArray(*group)), _TAGS)
    # The body stands behind a header in what the client library hands over.
    data = BytesIO(b"head" + schema.encode((0, groups, tags)))
    data.seek(4)
    assert OffsetsResponse.decode(data).groups == [
        FetchedOffsets(
            name,
            [
                FetchedOffset(topic_name, number, offset, metadata or "", code)
                for topic_name, partitions, _ in topics
                for number, offset, _, metadata, code, _ in partitions
            ],
            error,
        )
        for name, topics, error, _ in groups
    ]


_assignments = st.tuples(
    st.lists(
        st.tuples(*[st.integers(-128, 127)] * 16, _texts, st.lists(_i32, max_size=2), _tags),
        max_size=2,
    ),
    _tags,
)
_members = st.lists(
    st.tuples(
        _texts,
        _nullable,
        _nullable,
        _i32,
        _texts,
        _texts,
        st.lists(_texts, max_size=2),
        _nullable,
        _assignments.map(lambda each: each[0]),
        _tags,
        _assignments.map(lambda each: each[0]),
        _tags,
        _tags,
    ),
    max_size=2,
)


@given(
    st.lists(
        st.tuples(_i16, _nullable, _texts, _texts, _i32, _i32, _texts, _members, _i32, _tags),
        max_size=2,
    ),
    _tags,
)
def test_groups_of_the_new_protocol_are_read_with_their_members(
    groups: list[tuple[int, str | None, str, str, int, int, str, list[object], int, object]],
    tags: dict[int, bytes],
) -> None:
    """KIP-848."""
    topic = (*_UUID, ("name", _TEXT), ("partitions", CompactArray(Int32)), _TAGS)
    assigned = CompactArray(*topic)
    member = (
        ("id", _TEXT),
        ("instance", _TEXT),
        ("rack", _TEXT),
        ("epoch", Int32),
        ("client", _TEXT),
        ("host", _TEXT),
        ("topics", CompactArray(_TEXT)),
        ("pattern", _TEXT),
        ("assignment", assigned),
        ("assignment_tags", _TaggedFields),
        ("target", assigned),
        ("target_tags", _TaggedFields),
        _TAGS,
    )
    group = (
        ("error", Int16),
        ("message", _TEXT),
        ("id", _TEXT),
        ("state", _TEXT),
        ("epoch", Int32),
        ("assignment_epoch", Int32),
        ("assignor", _TEXT),
        ("members", CompactArray(*member)),
        ("permissions", Int32),
        _TAGS,
    )
    schema = Schema(("throttle", Int32), ("groups", CompactArray(*group)), _TAGS)
    answer = ConsumerGroupsResponse.decode(schema.encode((0, groups, tags)))
    assert answer.groups == [
        DescribedGroup(name, error, state, epoch, tuple(map(_described_member, members)))
        for error, _, name, state, epoch, _, _, members, *_ in groups
    ]


def _described_member(fields: Any) -> DescribedMember:
    member_id, _, _, _, client_id, host, topics, _, assigned, *_ = fields
    has = tuple((name, tuple(numbers)) for *_, name, numbers, _ in assigned)
    return DescribedMember(member_id, client_id, host, tuple(topics), has)
