"""Commits and fetches of offsets in all versions, beside kio's reading and writing of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.model import TopicName
from mm2.core.offset_manager.commits import OffsetError
from mm2.errors import SchemaError
from mm2.offset_manager.server.messages import (
    ANSWERED,
    OFFSET_COMMIT,
    OFFSET_FETCH,
)
from mm2.offset_manager.server.offset_answer_frames import (
    AnsweredGroup,
    AnsweredOffset,
    write_commit_answer,
    write_fetch_answer,
)
from mm2.offset_manager.server.offset_requests import (
    AskedGroup,
    ClientCommit,
    ClientFetch,
    CommittedPartition,
    read_offset_request,
)
from tests.support.kafka_requests import answer, request

_NAMES = st.text(st.characters(codec="utf-8"), max_size=9)
_NUMBERS = st.integers(0, 2**31 - 1)
_OFFSETS = st.integers(-1, 2**63 - 1)
_METADATA = st.none() | st.just("") | st.text(st.characters(codec="utf-8"), max_size=200)


def _versions(api: int) -> range:
    oldest, newest = ANSWERED[api]
    return range(oldest, newest + 1)


@given(
    st.sampled_from(_versions(OFFSET_COMMIT)),
    _NAMES,
    st.integers(-1, 9),
    st.lists(st.tuples(_NAMES, st.lists(st.tuples(_NUMBERS, _OFFSETS, _METADATA), max_size=3))),
)
def test_commits_of_all_versions_are_read_and_answered(
    version: int,
    group: str,
    generation: int,
    topics: list[tuple[str, list[tuple[int, int, str | None]]]],
) -> None:
    fields = ("partition_index", "committed_offset", "committed_metadata")
    values = {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": "member",
        "group_instance_id": None,
        "retention_time": timedelta(seconds=5),
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {**dict(zip(fields, each, strict=True)), "committed_leader_epoch": 3}
                    for each in partitions
                ],
            }
            for topic, partitions in topics
        ],
    }
    epoch = 3 if version >= 6 else -1
    found = read_offset_request(request(OFFSET_COMMIT, version, **values))
    assert found == ClientCommit(
        version=version,
        correlation=7,
        group=group,
        generation=generation,
        retention_ms=5_000 if version <= 4 else -1,
        topics=[
            (
                TopicName(topic),
                [
                    CommittedPartition(n, offset, epoch, data or "")
                    for n, offset, data in partitions
                ],
            )
            for topic, partitions in topics
        ],
    )
    written = write_commit_answer(found, OffsetError.NOT_COORDINATOR)
    assert [
        (topic.name, [(each.partition_index, each.error_code) for each in topic.partitions])
        for topic in answer(OFFSET_COMMIT, version, written).topics
    ] == [(topic, [(n, 16) for n, *_ in partitions]) for topic, partitions in topics]


@given(
    st.sampled_from(_versions(OFFSET_FETCH)),
    _NAMES,
    st.none() | st.lists(st.tuples(_NAMES, st.lists(_NUMBERS, max_size=3))),
    st.lists(
        st.tuples(
            _NAMES,
            st.lists(
                st.builds(
                    AnsweredOffset,
                    _NUMBERS,
                    _OFFSETS,
                    st.just(4),
                    _METADATA.map(lambda data: data or ""),
                    st.sampled_from(OffsetError),
                ),
                max_size=3,
            ),
        )
    ),
)
def test_fetches_of_all_versions_are_read_and_answered(
    version: int,
    group: str,
    asked: list[tuple[TopicName, list[int]]] | None,
    told: list[tuple[TopicName, list[AnsweredOffset]]],
) -> None:
    if version < 2:
        asked = asked or []
    topics: Any = None
    if asked is not None:
        topics = [{"name": topic, "partition_indexes": each} for topic, each in asked]
    one = {"group_id": group, "topics": topics}
    several = {"groups": [{**one, "member_id": None, "member_epoch": -1}]}
    values = {**(several if version >= 8 else one), "require_stable": True}
    found = read_offset_request(request(OFFSET_FETCH, version, **values))
    assert found == ClientFetch(version=version, correlation=7, groups=[AskedGroup(group, asked)])
    written = write_fetch_answer(found, [AnsweredGroup(group, OffsetError.NONE, told)])
    body = answer(OFFSET_FETCH, version, written)
    (of_group,) = body.groups if version >= 8 else (body,)
    assert getattr(of_group, "error_code", 0) == 0
    read = [
        (
            topic.name,
            [
                AnsweredOffset(
                    each.partition_index,
                    each.committed_offset,
                    getattr(each, "committed_leader_epoch", 4),
                    each.metadata,
                    each.error_code,
                )
                for each in topic.partitions
            ],
        )
        for topic in of_group.topics
    ]
    assert read == told


@pytest.mark.parametrize("api", [OFFSET_COMMIT, OFFSET_FETCH])
def test_a_request_that_was_cut_is_refused(api: int) -> None:
    topics = [
        {
            "name": "topic",
            "partitions": [
                {
                    "partition_index": number,
                    "committed_offset": 1,
                    "committed_leader_epoch": 1,
                    "committed_metadata": "data",
                }
                for number in range(2)
            ],
            "partition_indexes": [0, 1],
        }
    ]
    one = {"group_id": "group", "topics": topics, "member_id": "", "member_epoch": -1}
    rest: dict[str, Any] = {"generation_id_or_member_epoch": -1, "group_instance_id": None}
    rest |= {"retention_time": timedelta(0), "require_stable": False}
    for version in _versions(api):
        frame = request(api, version, **{**one, **rest, "groups": [one]})
        assert read_offset_request(frame) is not None
        for size in range(len(frame)):
            with pytest.raises(SchemaError):
                read_offset_request(frame[:size])


@given(st.sampled_from([OFFSET_COMMIT, OFFSET_FETCH]), st.integers(0, 10), st.binary())
def test_bytes_of_any_kind_are_a_request_or_refused(api: int, version: int, data: bytes) -> None:
    frame = api.to_bytes(2, "big") + version.to_bytes(2, "big") + data
    try:
        found = read_offset_request(frame)
    except SchemaError:
        return
    assert found is None or found.version == version


def test_other_requests_and_versions_are_left_to_others() -> None:
    assert read_offset_request(bytes([0, 3, 0, 1, 0, 0, 0, 7])) is None
    assert read_offset_request(bytes([0, 8, 0, 1, 0, 0, 0, 7])) is None
    assert read_offset_request(bytes([0, 8, 0, 10, 0, 0, 0, 7])) is None


@pytest.mark.parametrize("version", [1, 2, 6, 8])
def test_a_fetch_whose_group_has_no_name_is_refused(version: int) -> None:
    """The length of the name, -1 or 0, is changed in a request that can be read."""
    group = {"group_id": "GG", "topics": []}
    several = {"groups": [{**group, "member_id": None, "member_epoch": -1}]}
    frame = request(OFFSET_FETCH, version, **(several if version >= 8 else group))
    assert read_offset_request(frame) is not None
    name, null = (b"\x03GG", b"\0") if version >= 6 else (b"\0\x02GG", b"\xff\xff")
    with pytest.raises(SchemaError, match="null"):
        read_offset_request(frame.replace(name, null))


def test_all_topics_cannot_be_asked_for_before_the_second_version() -> None:
    frame = request(OFFSET_FETCH, 1, group_id="g", topics=[])
    assert read_offset_request(frame) is not None
    with pytest.raises(SchemaError, match="null"):
        read_offset_request(frame[:-4] + b"\xff" * 4)


@pytest.mark.parametrize("groups", [["g", "g"], [str(n) for n in range(1_001)]])
def test_a_group_is_fetched_once_and_so_many_at_most(groups: list[str]) -> None:
    several = [
        {"group_id": each, "topics": None, "member_id": None, "member_epoch": -1} for each in groups
    ]
    with pytest.raises(SchemaError, match="groups"):
        read_offset_request(request(OFFSET_FETCH, 9, groups=several, require_stable=False))


def test_a_name_longer_than_the_protocol_has_is_refused() -> None:
    frame = request(OFFSET_FETCH, 6, group_id="GG", topics=None)
    long = b"\x81\x80\x02" + b"g" * 2**15
    with pytest.raises(SchemaError, match="too long"):
        read_offset_request(frame.replace(b"\x03GG", long))


def test_a_request_of_too_many_partitions_is_refused() -> None:
    frame = request(OFFSET_FETCH, 1, group_id="g", topics=[])
    topics = b"\0\0\0\1\0\1t" + (200_000).to_bytes(4, "big") + bytes(800_000)
    with pytest.raises(SchemaError, match="more than 200000"):
        read_offset_request(frame[:-4] + topics)
