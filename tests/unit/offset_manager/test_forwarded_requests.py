"""What is read of requests that brokers answer, beside kio's writing of them."""

from __future__ import annotations

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import SchemaError
from mm2.offset_manager.server.forwarded import (
    FETCH,
    FORWARDED,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    read_forwarded,
)
from tests.support.kafka_requests import CLIENT, CORRELATION, request

WHERE = TopicPartition(TopicName("orders"), 3)

FIELDS: dict[int, dict[str, object]] = {
    FETCH: {"topics": [{"topic": "orders", "partitions": [{"partition": 3}, {"partition": 9}]}]},
    LIST_OFFSETS: {
        "replica_id": -1,
        "topics": [{"name": "orders", "partitions": [{"partition_index": 3}]}],
    },
    OFFSET_FOR_LEADER_EPOCH: {
        "replica_id": -1,
        "topics": [{"topic": "orders", "partitions": [{"partition": 3}]}],
    },
}

VERSIONS = [
    (api, version)
    for api, (oldest, newest) in FORWARDED.items()
    for version in range(oldest, newest + 1)
]


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_the_first_partition_says_to_which_broker_a_request_belongs(api: int, version: int) -> None:
    found = read_forwarded(request(api, version, **FIELDS[api]))
    assert found is not None
    assert (found.first, found.client_id, found.correlation) == (WHERE, CLIENT, CORRELATION)
    assert (found.encoded.api, found.encoded.version) == (api, version)


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_what_is_forwarded_is_all_that_follows_the_header(api: int, version: int) -> None:
    frame = request(api, version, **FIELDS[api])
    found = read_forwarded(frame)
    assert found is not None
    assert frame.endswith(found.encoded.body)
    assert len(frame) - len(found.encoded.body) == 8 + 2 + len(CLIENT)


@pytest.mark.parametrize("replica", [-2, 0, 2])
@pytest.mark.parametrize(
    ("api", "version"), [each for each in VERSIONS if each != (OFFSET_FOR_LEADER_EPOCH, 2)]
)
def test_a_client_cannot_pose_as_a_broker_that_follows(
    api: int, version: int, replica: int
) -> None:
    fields = {**FIELDS[api], "replica_id": replica}
    with pytest.raises(SchemaError, match="replica"):
        read_forwarded(request(api, version, **fields))


def test_a_request_with_many_topics_and_no_partition_is_not_read_to_its_end() -> None:
    topics = [{"topic": "t", "partitions": []}] * 1_001
    with pytest.raises(SchemaError, match="no partition"):
        read_forwarded(request(FETCH, 10, topics=topics))


def test_a_fetch_of_a_session_may_name_no_partition() -> None:
    found = read_forwarded(request(FETCH, 10, topics=[]))
    assert found is not None
    assert found.first is None


@pytest.mark.parametrize(("api", "version"), [(FETCH, 11), (LIST_OFFSETS, 6), (0, 8)])
def test_other_requests_are_not_forwarded(api: int, version: int) -> None:
    assert read_forwarded(request(api, version)) is None


@pytest.mark.parametrize("size", [3, 9, 20, 60])
def test_a_request_that_is_cut_short_is_refused(size: int) -> None:
    with pytest.raises(SchemaError):
        read_forwarded(request(FETCH, 10, **FIELDS[FETCH])[:size])
