"""What clients are told who commit to, or fetch from, an instance that does not lead."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import OffsetError, StoredOffset
from mm2.core.offset_manager.committed_offset_records import decode_value, encode_value
from mm2.errors import SchemaError
from mm2.kafka.wire.requests.metadata import Metadata, MetadataRequest, TopicMetadata
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server.client_rights import ClientRights
from mm2.offset_manager.server.messages import OFFSET_COMMIT, OFFSET_FETCH
from mm2.offset_manager.server.offset_answers import answer_offset_request
from mm2.offset_manager.server.offset_requests import (
    ClientCommit,
    CommittedPartition,
    read_offset_request,
)
from tests.support.kafka_requests import answer, request

_NOT_COORDINATOR = 16
_NOTHING = -1


async def _answered(
    api: int, version: int, *, rights: ClientRights | None = None, **values: Any
) -> Any:
    manager = OffsetManager(OffsetManagerSettings.of({"bootstrap.servers": "a:1"}))
    asked = read_offset_request(request(api, version, **values))
    assert asked is not None
    return answer(api, version, await answer_offset_request(manager, rights, asked))


@pytest.mark.parametrize("version", range(1, 10))
async def test_each_partition_says_that_a_fetch_is_refused(version: int) -> None:
    """aiokafka takes a partition without an error for one that has no offset."""
    group = {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0, 1]}]}
    several = {"groups": [{**group, "member_id": None, "member_epoch": -1}]}
    found = await _answered(
        OFFSET_FETCH, version, **(several if version >= 8 else group), require_stable=False
    )
    (of_group,) = found.groups if version >= 8 else (found,)
    ((topic,),) = (of_group.topics,)
    assert [
        (each.partition_index, each.committed_offset, each.error_code.value)
        for each in topic.partitions
    ] == [(n, _NOTHING, _NOT_COORDINATOR) for n in range(2)]
    if version >= 2:
        assert of_group.error_code.value == _NOT_COORDINATOR


async def test_a_commit_of_a_member_of_a_group_is_refused() -> None:
    partition = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1}
    topics = [{"name": "t", "partitions": [{**partition, "committed_metadata": ""}]}]
    for generation, code in ((3, 22), (-1, _NOT_COORDINATOR)):
        found = await _answered(
            OFFSET_COMMIT,
            8,
            group_id="g",
            generation_id_or_member_epoch=generation,
            member_id="m",
            group_instance_id=None,
            topics=topics,
        )
        ((topic,),) = (found.topics,)
        assert [each.error_code.value for each in topic.partitions] == [code]


async def test_each_partition_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = StoredOffset(offset=5, commit_ms=0)

    async def fetch(_: OffsetManager, _group: str, partitions: list[TopicPartition]) -> Any:
        return OffsetError.NONE, dict.fromkeys(partitions, stored)

    topics = [{"name": "t", "partition_indexes": [0, 1, 0]}] * 3
    asked: dict[str, Any] = {"group_id": "g", "topics": topics, "require_stable": False}
    refused = await _answered(OFFSET_FETCH, 7, **asked)
    monkeypatch.setattr(OffsetManager, "fetch", fetch)
    for found in (refused, await _answered(OFFSET_FETCH, 7, **asked)):
        assert [[each.partition_index for each in t.partitions] for t in found.topics] == [[0, 1]]


@pytest.mark.parametrize("is_all", [True, False])
async def test_topics_that_a_client_may_not_see_are_refused_or_left_out(
    monkeypatch: pytest.MonkeyPatch, *, is_all: bool
) -> None:
    stored = {
        TopicPartition(TopicName(topic), number): StoredOffset(offset=5, commit_ms=0)
        for topic in ("hidden", "seen")
        for number in range(2)
    }

    async def fetch(_: OffsetManager, _group: str, _partitions: object) -> Any:
        return OffsetError.NONE, stored

    async def broker(request: Any) -> Any:
        if not isinstance(request, MetadataRequest):
            return SimpleNamespace(error_code=0)
        codes = {"hidden": 29, "seen": 0}
        topics = [TopicMetadata(each, codes[each], None, False, {}) for each in request.topics]
        return SimpleNamespace(metadata=Metadata("c", [], -1, topics))

    monkeypatch.setattr(OffsetManager, "fetch", fetch)
    named = [{"name": each, "partition_indexes": [0, 1]} for each in ("hidden", "seen")]
    found = await _answered(
        OFFSET_FETCH,
        7,
        rights=ClientRights(broker),
        group_id="g",
        topics=None if is_all else named,
        require_stable=False,
    )
    assert found.error_code.value == 0
    told = {
        topic.name: [(each.committed_offset, each.error_code.value) for each in topic.partitions]
        for topic in found.topics
    }
    refused = {} if is_all else {"hidden": [(_NOTHING, 29)] * 2}
    assert told == {**refused, "seen": [(5, 0)] * 2}


async def test_an_answer_over_the_size_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = StoredOffset(offset=5, commit_ms=0, metadata="m" * 32_767)

    async def fetch(_: OffsetManager, _group: str, _partitions: None) -> Any:
        where = (TopicPartition(TopicName("t"), number) for number in range(2_100))
        return OffsetError.NONE, dict.fromkeys(where, stored)

    monkeypatch.setattr(OffsetManager, "fetch", fetch)
    with pytest.raises(SchemaError, match="more than"):
        await _answered(OFFSET_FETCH, 7, group_id="g", topics=None, require_stable=False)


async def test_a_retention_without_end_is_kept_as_the_last_time_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored: list[StoredOffset] = []

    async def commit(
        _: OffsetManager, _group: str, offsets: Mapping[TopicPartition, StoredOffset]
    ) -> OffsetError:
        stored.extend(offsets.values())
        return OffsetError.NONE

    monkeypatch.setattr(OffsetManager, "commit", commit)
    manager = OffsetManager(OffsetManagerSettings.of({"bootstrap.servers": "a:1"}))
    request = ClientCommit(
        version=2,
        correlation=1,
        group="g",
        generation=-1,
        retention_ms=2**63 - 1,
        topics=[(TopicName("t"), [CommittedPartition(0, 1, -1, "")])],
    )
    await answer_offset_request(manager, None, request)
    (only,) = stored
    assert only.expire_ms == 2**63 - 1
    assert decode_value(encode_value(only)) == only
