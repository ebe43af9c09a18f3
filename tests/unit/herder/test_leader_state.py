"""What a leader remembers in the control topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import pytest

from mm2.core.model import TopicName
from mm2.errors import SchemaError
from mm2.herder.control.leader_state import LeaderState
from mm2.kafka.logs.records import Record
from mm2.protocol.memory_records import AclMemory, MirroredTopics, TopicMemory, encode_memory
from tests.support.configs import flow_of

_TOPICS = TopicMemory(document=MirroredTopics(cluster="c", topics=(TopicName("t"),)))


class _ControlTopic:
    """Takes everything, and has it read."""

    records: ClassVar[dict[bytes, bytes]] = {}
    sent: ClassVar[list[bytes]] = []

    def __init__(self, *_: object, **__: object) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def send(self, _topic: str, key: bytes, value: bytes, *, partition: int) -> None:
        assert partition == 0
        self.records[key] = value
        self.sent.append(key)

    @classmethod
    async def read(
        cls, *_: object, accepts: Callable[[bytes | None], bool], **__: object
    ) -> list[Record]:
        return [
            Record(topic="t", partition=0, offset=at, timestamp_ms=0, key=key, value=value)
            for at, (key, value) in enumerate(cls.records.items())
            if accepts(key)
        ]


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> type[_ControlTopic]:
    monkeypatch.setattr("mm2.herder.control.leader_state.Writer", _ControlTopic)
    monkeypatch.setattr("mm2.herder.control.leader_state.read_to_end", _ControlTopic.read)
    monkeypatch.setattr(_ControlTopic, "records", {b"lease": b"{}"})
    monkeypatch.setattr(_ControlTopic, "sent", [])
    return _ControlTopic


async def test_the_next_leader_has_what_this_one_remembered(topic: type[_ControlTopic]) -> None:
    state = LeaderState(flow_of())
    assert await state.get(TopicMemory) is None
    await state.put(_TOPICS)
    assert await state.get(TopicMemory) == _TOPICS
    assert await LeaderState(flow_of()).get(TopicMemory) == _TOPICS
    assert topic.sent == [b"memory-topics"]


async def test_what_is_remembered_already_is_not_written_again(topic: type[_ControlTopic]) -> None:
    topic.records.update([encode_memory(_TOPICS)])
    await LeaderState(flow_of()).put(_TOPICS)
    assert topic.sent == []


async def test_a_record_that_is_damaged_hides_no_other(topic: type[_ControlTopic]) -> None:
    topic.records.update([encode_memory(_TOPICS), (b"memory-acls", b"{}")])
    state = LeaderState(flow_of())
    assert await state.get(TopicMemory) == _TOPICS
    with pytest.raises(SchemaError):
        await state.get(AclMemory)
