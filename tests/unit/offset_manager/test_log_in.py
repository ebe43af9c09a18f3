"""Who has to log in gets no answer of use before, and is tried at the cluster."""

from __future__ import annotations

import pytest
from kio.index import load_request_schema

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.errors import SchemaError
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.relay import RelaySettings
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server.client_session import ClientSession, ClusterAccess
from mm2.offset_manager.server.forwarded import FETCH
from mm2.offset_manager.server.messages import (
    API_VERSIONS,
    FIND_COORDINATOR,
    METADATA,
    OFFSET_FETCH,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from mm2.offset_manager.server.sasl import LogIns, credentials
from tests.support.kafka_requests import answer, request

PROPERTIES = {"bootstrap.servers": "127.0.0.1:1"}


def session(*, must_log_in: bool) -> ClientSession:
    manager = OffsetManager(OffsetManagerSettings.of(PROPERTIES))
    link = ClusterClient("c", PROPERTIES)
    settings = RelaySettings("c", PROPERTIES)
    return ClientSession(manager, ClusterAccess(link, settings, LogIns() if must_log_in else None))


async def offered(client: ClientSession) -> set[int]:
    (data,) = await client.answer(request(API_VERSIONS, 3))
    return {each.api_key for each in answer(API_VERSIONS, 3, bytes(data)).api_keys}


async def test_a_log_in_is_offered_where_it_is_asked_for() -> None:
    log_in = {SASL_HANDSHAKE, SASL_AUTHENTICATE}
    assert log_in < await offered(session(must_log_in=True))
    assert not log_in & await offered(session(must_log_in=False))


@pytest.mark.parametrize(
    ("api", "version"), [(FETCH, 10), (METADATA, 8), (OFFSET_FETCH, 8), (FIND_COORDINATOR, 2)]
)
async def test_nothing_is_answered_before_the_log_in(api: int, version: int) -> None:
    with pytest.raises(SchemaError, match="before the log-in"):
        await session(must_log_in=True).answer(request(api, version))


async def test_a_request_is_not_read_before_the_log_in() -> None:
    client = session(must_log_in=True)
    for api in (FETCH, METADATA, OFFSET_FETCH, FIND_COORDINATOR):
        with pytest.raises(SchemaError, match="before the log-in"):
            await client.answer(api.to_bytes(2, "big") + b"nonsense")
    assert client.most_bytes < session(must_log_in=False).most_bytes


@pytest.mark.parametrize("version", [3, 4, 9])
async def test_who_asks_for_versions_may_say_more_than_is_known(version: int) -> None:
    """Brokers pass over tagged fields that they do not know; so do clients that are older."""
    asked = request(API_VERSIONS, min(version, 4))
    header = asked[:2] + version.to_bytes(2, "big") + asked[4:]
    (data,) = await session(must_log_in=False).answer(header[:-1] + b"\x01\x63\x03abc")
    told = answer(API_VERSIONS, version if version <= 4 else 0, bytes(data))
    assert told.error_code.value == (0 if version <= 4 else 35)


@pytest.mark.parametrize("api", [METADATA, FIND_COORDINATOR, SASL_AUTHENTICATE, PRODUCE])
async def test_nothing_that_may_have_unknown_fields_is_offered_unless_they_are_passed_over(
    api: int,
) -> None:
    (data,) = await session(must_log_in=True).answer(request(API_VERSIONS, 3))
    offered = {each.api_key: each for each in answer(API_VERSIONS, 3, bytes(data)).api_keys}
    versions = range(offered[api].min_version, offered[api].max_version + 1)
    assert not any(load_request_schema(api, each).__flexible__ for each in versions)


async def test_a_password_is_not_looked_at_before_the_handshake() -> None:
    with pytest.raises(SchemaError, match="before its handshake"):
        await session(must_log_in=True).answer(
            request(SASL_AUTHENTICATE, 1, auth_bytes=b"\0alice\0secret")
        )


@pytest.mark.parametrize(("mechanism", "code"), [("PLAIN", 0), ("SCRAM-SHA-512", 33)])
async def test_mechanisms_that_are_not_offered_are_refused_by_name(
    mechanism: str, code: int
) -> None:
    (data,) = await session(must_log_in=True).answer(
        request(SASL_HANDSHAKE, 1, mechanism=mechanism)
    )
    found = answer(SASL_HANDSHAKE, 1, bytes(data))
    assert (found.error_code.value, found.mechanisms) == (code, ("PLAIN",))


async def test_records_are_not_written_through_an_instance() -> None:
    topics = [{"name": "t", "partition_data": [{"index": 3, "records": None}]}]
    client = session(must_log_in=False)
    (data,) = await client.answer(request(PRODUCE, 8, acks=-1, topic_data=topics))
    ((topic,),) = (answer(PRODUCE, 8, bytes(data)).responses,)
    assert [each.error_code.value for each in topic.partition_responses] == [29]
    with pytest.raises(SchemaError):
        await client.answer(request(PRODUCE, 8, acks=0, topic_data=topics))


async def test_what_follows_a_request_is_ignored() -> None:
    frame = request(API_VERSIONS, 3) + b"\0\0"
    assert await session(must_log_in=False).answer(frame)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0alice",
        b"\0alice\0",
        b"\0\0secret",
        b"root\0alice\0secret",
        b"\0a\0b\0c",
        b"\0\xff\0x",
    ],
)
def test_only_a_user_who_acts_for_itself_logs_in(data: bytes) -> None:
    assert credentials(data) is None
    assert credentials(b"\0alice\0secret") == ("alice", "secret")
    assert credentials(b"alice\0alice\0secret") == ("alice", "secret")


async def test_who_is_refused_has_to_connect_again() -> None:
    client = session(must_log_in=True)
    await client.answer(request(SASL_HANDSHAKE, 1, mechanism="PLAIN"))
    wrong = request(SASL_AUTHENTICATE, 1, auth_bytes=b"alice")
    (data,) = await client.answer(wrong)
    assert answer(SASL_AUTHENTICATE, 1, bytes(data)).error_code.value == 58
    with pytest.raises(SchemaError, match="after another one"):
        await client.answer(wrong)
