"""What is refused before kio makes objects of it, which would take seconds."""

from __future__ import annotations

import asyncio
import struct
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from kio.serial import entity_reader

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.errors import SchemaError
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.relay import RelaySettings
from mm2.kafka.wire.requests.metadata import Metadata
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server import client_session, messages
from mm2.offset_manager.server.client_session import ClientSession, ClusterAccess, produce_answer
from mm2.offset_manager.server.messages import (
    ANSWERED,
    FIND_COORDINATOR,
    METADATA,
    PRODUCE,
    Answer,
    ClientRequest,
    read_request,
    write_answer,
)
from mm2.offset_manager.server.request_limits import MOST_ITEMS
from tests.support.eventually import PATIENCE_S
from tests.support.kafka_requests import answer, request

_TOPIC = struct.pack(">h", 1) + b"t"


def metadata(count: int) -> bytes:
    return request(METADATA, 1)[:-4] + struct.pack(">i", count) + _TOPIC * count


def produce(topics: int, partitions: int, records: bytes = b"") -> bytes:
    partition = struct.pack(">ii", 3, len(records)) + records
    topic = _TOPIC + struct.pack(">i", partitions) + partition * partitions
    start = request(PRODUCE, 3, acks=1, topic_data=[])[:-4]
    return start + struct.pack(">i", topics) + topic * topics


@pytest.mark.parametrize(
    "frame",
    [
        metadata(MOST_ITEMS + 1),
        produce(MOST_ITEMS + 1, 0),
        produce(1, MOST_ITEMS),
        produce(MOST_ITEMS // 2 + 1, 1),
        request(FIND_COORDINATOR, 1, key="g") + bytes(1 << 20),
        metadata(0) + bytes(1 << 20),
    ],
)
def test_kio_reads_nothing_of_a_request_that_is_too_large(
    frame: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[type] = []

    def noted(schema: Any) -> object:
        read.append(schema)
        return entity_reader(schema)

    monkeypatch.setattr(messages, "entity_reader", noted)
    with pytest.raises(SchemaError, match="is not read"):
        read_request(frame, ANSWERED)
    assert [each.__name__ for each in read] == ["RequestHeader"]


def test_as_many_topics_as_are_allowed_are_read() -> None:
    assert len(read_request(metadata(MOST_ITEMS), ANSWERED).body.topics) == MOST_ITEMS
    assert len(read_request(produce(MOST_ITEMS, 0), ANSWERED).body.topic_data) == MOST_ITEMS


@pytest.mark.parametrize("version", range(3, 9))
def test_producers_of_large_batches_are_told_no(version: int) -> None:
    frame = produce(1, 2, bytes(3 << 20))
    asked = read_request(frame[:2] + version.to_bytes(2, "big") + frame[4:], ANSWERED)
    told = answer(PRODUCE, version, write_answer(asked, produce_answer(asked)))
    (topic,) = told.responses
    assert [each.error_code.value for each in topic.partition_responses] == [29, 29]


def test_a_request_for_all_topics_is_read() -> None:
    assert read_request(request(METADATA, 8, topics=None), ANSWERED).body.topics is None


@pytest.mark.parametrize("frame", [metadata(3), produce(2, 2, b"records")])
def test_a_request_that_is_cut_anywhere_is_refused(frame: bytes) -> None:
    for size in range(len(frame)):
        with pytest.raises(SchemaError):
            read_request(frame[:size], ANSWERED)


async def test_the_loop_goes_on_while_metadata_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def ask(_: object) -> object:
        return SimpleNamespace(metadata=Metadata("id", [], 1, []))

    def write(_asked: ClientRequest, _answer: Answer) -> bytes:
        asked.set()
        return b"written" if went_on.wait(PATIENCE_S) else b"stood still"

    async def go_on() -> None:
        assert await asyncio.to_thread(asked.wait, PATIENCE_S)
        went_on.set()

    asked, went_on = threading.Event(), threading.Event()
    properties = {"bootstrap.servers": "127.0.0.1:1"}
    access = ClusterAccess(ClusterClient("c", properties), RelaySettings("c", properties))
    access.ask = ask
    session = ClientSession(OffsetManager(OffsetManagerSettings.of(properties)), access)
    monkeypatch.setattr(client_session, "write_answer", write)
    going = asyncio.create_task(go_on())
    assert await session.answer(metadata(1)) == [b"written"]
    await going
