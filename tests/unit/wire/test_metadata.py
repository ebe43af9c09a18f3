"""Metadata and the ends of leader epochs, byte by byte against aiokafka's primitive types."""

from __future__ import annotations

import struct
from dataclasses import replace
from uuid import UUID

import pytest
from aiokafka.protocol.types import (
    Array,
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
    String,
    TaggedFields,
)
from hypothesis import given
from hypothesis import strategies as st

from mm2.kafka.wire.frame import FrameResponse
from mm2.kafka.wire.requests.epoch_ends import (
    EpochEnd,
    EpochEndsRequest,
    EpochEndsResponse,
    EpochEndsV2,
    EpochEndsV3,
)
from mm2.kafka.wire.requests.metadata import (
    BrokerMetadata,
    FlexibleMetadataResponse,
    Metadata,
    MetadataRequest,
    MetadataResponse,
    MetadataV7,
    MetadataV12,
    PartitionMetadata,
    TopicMetadata,
)
from mm2.kafka.wire.requests.topic_names import (
    FlexibleTopicNamesResponse,
    TopicNamesRequest,
    TopicNamesResponse,
    TopicNamesV7,
    TopicNamesV12,
)

_NO_TAGS = TaggedFields.encode({})
_ONE_TAG = bytes([1, 0, 2]) + b"ab"
_NOBODY = UUID(int=0)

_i16 = st.integers(-1, (1 << 15) - 1)
_i32 = st.integers(-1, (1 << 31) - 1)
_i64 = st.integers(-1, (1 << 63) - 1)
_texts = st.text(max_size=200)
_nodes = st.lists(_i32, max_size=3).map(tuple)
_brokers = st.builds(BrokerMetadata, _i32, _texts, _i32, _texts)
_partitions = st.builds(PartitionMetadata, _i32, _i16, _i32, _i32, _nodes, _nodes)
_topics = st.builds(
    TopicMetadata,
    _texts,
    _i16,
    st.none() | st.uuids(),
    st.booleans(),
    st.lists(_partitions, max_size=3).map(lambda found: {p.partition: p for p in found}),
)
_metadata = st.builds(
    Metadata,
    _texts,
    st.lists(_brokers, max_size=3),
    _i32,
    st.lists(_topics, max_size=140 // 20),
)


def _version_7(metadata: Metadata) -> bytes:
    numbers = Array(Int32)
    leads = [(name, Int32) for name in ("number", "leader", "epoch")]
    nodes = [(name, numbers) for name in ("replicas", "in sync", "offline")]
    partition = Schema(("error", Int16), *leads, *nodes)
    topic = Schema(("e", Int16), ("n", String()), ("i", Boolean), ("p", Array(partition)))
    broker = Schema(("n", Int32), ("h", String()), ("p", Int32), ("r", String()))
    whole = Schema(
        ("t", Int32), ("b", Array(broker)), ("c", String()), ("n", Int32), ("m", Array(topic))
    )
    data = whole.encode(
        (
            7,
            [(b.node, b.host, b.port, b.rack or None) for b in metadata.brokers],
            metadata.cluster_id or None,
            metadata.controller,
            [
                (
                    t.error,
                    t.name,
                    t.is_internal,
                    [
                        (p.error, p.partition, p.leader, p.leader_epoch, p.replicas, p.in_sync, [9])
                        for p in t.partitions.values()
                    ],
                )
                for t in metadata.topics
            ],
        )
    )
    return bytes(data)


def _version_12(metadata: Metadata, tags: bytes) -> bytes:
    text, numbers = CompactString(), CompactArray(Int32)
    brokers = [
        Int32.encode(b.node) + text.encode(b.host) + Int32.encode(b.port) + text.encode(b.rack)
        + tags
        for b in metadata.brokers
    ]  # fmt: skip
    topics = [
        b"".join(
            (
                Int16.encode(t.error),
                text.encode(t.name),
                (t.topic_id or _NOBODY).bytes,
                Boolean.encode(t.is_internal),
                _listed([_partition_12(p, numbers) + tags for p in t.partitions.values()]),
                Int32.encode(-(1 << 31)),
                tags,
            )
        )
        for t in metadata.topics
    ]
    return b"".join(
        (
            Int32.encode(7),
            _listed(brokers),
            text.encode(metadata.cluster_id or None),
            Int32.encode(metadata.controller),
            _listed(topics),
            tags,
        )
    )


def _partition_12(partition: PartitionMetadata, numbers: CompactArray) -> bytes:
    fixed = (partition.error, partition.partition, partition.leader, partition.leader_epoch)
    lists = (partition.replicas, partition.in_sync, (9,))
    return struct.pack(">hiii", *fixed) + b"".join(numbers.encode(nodes) for nodes in lists)


class _Encoded:
    """An item that is encoded already."""

    encode = staticmethod(bytes)


def _listed(items: list[bytes]) -> bytes:
    kind = CompactArray(Int32)
    kind.array_of = _Encoded
    return bytes(kind.encode(items))


@given(metadata=_metadata)
def test_metadata_without_topic_ids_are_read(metadata: Metadata) -> None:
    read = MetadataResponse.decode(_version_7(metadata)).metadata
    assert read.cluster_id == metadata.cluster_id
    assert read.brokers == metadata.brokers
    assert read.controller == metadata.controller
    assert read.topics == [
        TopicMetadata(t.name, t.error, None, t.is_internal, t.partitions) for t in metadata.topics
    ]


@given(
    metadata=_metadata,
    tags=st.dictionaries(st.integers(0, 300), st.binary(max_size=200), max_size=2),
)
def test_metadata_with_topic_ids_are_read(metadata: Metadata, tags: dict[int, bytes]) -> None:
    text = CompactString("latin-1")
    unknown = CompactArray(Int32).encode([])[:0] + bytes([len(tags)])
    for tag, value in tags.items():
        number = text.encode("x" * (tag - 1))[: 1 + (tag > 127)] if tag else b"\0"
        size = text.encode("x" * (len(value) - 1))[: 1 + (len(value) > 127)] if value else b"\0"
        unknown += number + size + value
    data = _version_12(metadata, unknown)
    read = FlexibleMetadataResponse.decode(data).metadata
    expected = [
        TopicMetadata(
            t.name,
            t.error,
            None if t.topic_id == _NOBODY else t.topic_id,
            t.is_internal,
            t.partitions,
        )
        for t in metadata.topics
    ]
    assert (read.cluster_id, read.brokers, read.controller, read.topics) == (
        metadata.cluster_id,
        metadata.brokers,
        metadata.controller,
        expected,
    )


def test_topics_of_which_the_same_is_said_again_are_not_read_again() -> None:
    first, again = (
        FlexibleMetadataResponse.decode(_version_12(each, _NO_TAGS)).metadata
        for each in (_SOME, replace(_SOME, brokers=[]))
    )
    assert again.topics is first.topics
    assert (len(first.brokers), len(again.brokers)) == (1, 0)


@given(topics=st.lists(_texts, max_size=140))
def test_topics_are_asked_for_by_name_and_not_created(topics: list[str]) -> None:
    request = MetadataRequest(topics)
    old = Schema(("t", Array(String())), ("c", Boolean))
    assert request.build(MetadataV7).encode() == old.encode((topics, False))
    name = CompactString()
    new = _listed([bytes(16) + name.encode(topic) + _NO_TAGS for topic in topics])
    assert request.build(MetadataV12).encode() == new + b"\0\0" + _NO_TAGS


def test_all_topics_are_asked_for_by_naming_none() -> None:
    request = TopicNamesRequest()
    assert request.build(TopicNamesV7).encode() == Array(String()).encode(None) + b"\0"
    assert request.build(TopicNamesV12).encode() == b"\0" + b"\0\0" + _NO_TAGS


@given(metadata=_metadata)
def test_names_of_topics_are_read_without_their_partitions(metadata: Metadata) -> None:
    names = [topic.name for topic in metadata.topics]
    for kind, data in (
        (TopicNamesResponse, _version_7(metadata)),
        (FlexibleTopicNamesResponse, _version_12(metadata, _ONE_TAG)),
    ):
        response = kind.decode(data)
        assert response.brokers == metadata.brokers
        assert response.names() == names
        assert response.names() == names, "read once more"


def test_names_of_topics_displace_no_answer_that_is_remembered() -> None:
    data = _version_12(_SOME, _NO_TAGS)
    first = FlexibleMetadataResponse.decode(data).metadata
    for number in range(5):
        topics = [replace(topic, name=f"t{number}") for topic in _SOME.topics]
        others = _version_12(replace(_SOME, topics=topics), _NO_TAGS)
        assert FlexibleTopicNamesResponse.decode(others).names() == [f"t{number}"]
    assert FlexibleMetadataResponse.decode(data).metadata.topics is first.topics


_asked = st.dictionaries(_texts, st.lists(st.tuples(_i32, _i32, _i32), max_size=3), max_size=3)


@given(topics=_asked)
def test_the_ends_of_epochs_are_asked_for(topics: dict[str, list[tuple[int, int, int]]]) -> None:
    partition = Schema(("p", Int32), ("c", Int32), ("e", Int32))
    body = Array(Schema(("t", String()), ("p", Array(partition)))).encode(list(topics.items()))
    request = EpochEndsRequest(topics)
    assert request.build(EpochEndsV2).encode() == body
    assert request.build(EpochEndsV3).encode() == Int32.encode(-1) + body


_ends = st.lists(
    st.tuples(_texts, st.lists(st.tuples(_i16, _i32, _i32, _i64), max_size=3)), max_size=3
)


@given(topics=_ends)
def test_the_ends_of_epochs_are_read(
    topics: list[tuple[str, list[tuple[int, int, int, int]]]],
) -> None:
    partition = Schema(("c", Int16), ("p", Int32), ("e", Int32), ("o", Int64))
    topic = Schema(("t", String()), ("p", Array(partition)))
    data = Schema(("t", Int32), ("a", Array(topic))).encode((3, topics))
    assert EpochEndsResponse.decode(data).ends == [
        EpochEnd(name, number, error, epoch, end)
        for name, ends in topics
        for error, number, epoch, end in ends
    ]


_SOME = Metadata(
    "c",
    [BrokerMetadata(1, "host", 9092, "rack")],
    1,
    [TopicMetadata("t", 0, None, is_internal=False, partitions={0: PartitionMetadata(0, 0, 1, 5)})],
)


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (MetadataResponse, _version_7(_SOME)),
        (FlexibleMetadataResponse, _version_12(_SOME, _NO_TAGS)),
    ],
)
def test_metadata_that_end_early_are_refused(kind: type[FrameResponse], whole: bytes) -> None:
    for size in range(len(whole)):
        with pytest.raises((struct.error, IndexError, ValueError)):
            kind.decode(whole[:size])
