"""What clients are refused that the cluster refuses them, and how often it is asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetCommitRequest_v2

from mm2.core.offset_manager.commits import OffsetError
from mm2.errors import Unavailable
from mm2.kafka.wire.requests.metadata import (
    Metadata,
    MetadataRequest,
    TopicMetadata,
)
from mm2.offset_manager.server.client_rights import KNOWN_S, ClientRights


class FakeBroker:
    """Answers each topic of a commit with its code, and FindCoordinator with one of its own."""

    def __init__(self, codes: dict[str, int], group_code: int = 0) -> None:
        self.codes = codes
        self.group_code = group_code
        self.asked: list[list[str]] = []
        self.now_s = 0.0

    async def __call__(self, request: object) -> Any:
        if not isinstance(request, OffsetCommitRequest):
            self.asked.append([])
            return SimpleNamespace(error_code=self.group_code)
        topics = request.build(OffsetCommitRequest_v2).topics
        assert all(number == 2**31 - 1 for _, rows in topics for number, *_ in rows)
        self.asked.append([topic for topic, _ in topics])
        return SimpleNamespace(topics=[(t, [(rows[0][0], self.codes[t])]) for t, rows in topics])

    def rights(self) -> ClientRights:
        return ClientRights(self, lambda: self.now_s)


async def test_who_may_commit_is_asked_about_once_in_a_while() -> None:
    broker = FakeBroker({"a": 3, "b": 3})
    rights = broker.rights()
    for topics in (["a"], ["a"], ["a", "b", "b"], ["b"]):
        assert await rights.commit_refusal("g", topics) == 0
    assert broker.asked == [["a"], ["b"]]
    await rights.commit_refusal("other", ["a"])
    broker.now_s = KNOWN_S
    await rights.commit_refusal("g", ["a"])
    assert broker.asked[2:] == [["a"], ["a"]]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (29, OffsetError.TOPIC_AUTHORIZATION_FAILED),
        (30, OffsetError.GROUP_AUTHORIZATION_FAILED),
        (41, OffsetError.COORDINATOR_NOT_AVAILABLE),
    ],
)
async def test_a_commit_that_the_cluster_refuses_is_refused_each_time(
    code: int, error: OffsetError
) -> None:
    broker = FakeBroker({"a": 3, "b": code})
    rights = broker.rights()
    assert await rights.commit_refusal("g", ["a", "b"]) is error
    assert await rights.commit_refusal("g", ["a", "b"]) is error
    assert len(broker.asked) == 2


async def test_who_may_not_describe_a_group_fetches_nothing() -> None:
    broker = FakeBroker({}, group_code=30)
    rights = broker.rights()
    assert await rights.fetch_refusal("g") is OffsetError.GROUP_AUTHORIZATION_FAILED
    broker.group_code = 15
    assert await rights.fetch_refusal("g") == 0
    assert await rights.fetch_refusal("g") == 0
    assert len(broker.asked) == 2


@pytest.mark.parametrize("code", [14, 16, 35, -1])
async def test_who_may_fetch_is_asked_again_while_the_cluster_does_not_say(code: int) -> None:
    broker = FakeBroker({}, group_code=code)
    rights = broker.rights()
    for _ in range(2):
        assert await rights.fetch_refusal("g") is OffsetError.COORDINATOR_NOT_AVAILABLE
    assert len(broker.asked) == 2


async def test_topics_that_a_client_may_not_describe_are_hidden_from_it() -> None:
    codes = {"seen": 0, "gone": 3, "hidden": 29}
    asked: list[list[str]] = []

    async def broker(request: object) -> Any:
        assert isinstance(request, MetadataRequest)
        names = request.topics
        asked.append(names)
        topics = [TopicMetadata(name, codes[name], None, False, {}) for name in names]
        return SimpleNamespace(metadata=Metadata("c", [], -1, topics))

    now_s = 0.0
    rights = ClientRights(broker, lambda: now_s)
    for _ in range(2):
        assert await rights.hidden_topics(codes) == {"hidden"}
    assert asked == [["seen", "gone", "hidden"], ["hidden"]]
    now_s, codes["seen"] = KNOWN_S, 29
    assert await rights.hidden_topics(["seen"]) == {"seen"}


async def test_a_cluster_that_does_not_answer_allows_nothing() -> None:
    async def silent(_: object) -> Any:
        raise Unavailable("c", "no answer")

    rights = ClientRights(silent)
    with pytest.raises(Unavailable):
        await rights.commit_refusal("g", ["t"])
    with pytest.raises(Unavailable):
        await rights.fetch_refusal("g")
    with pytest.raises(Unavailable):
        await rights.hidden_topics(["t"])
