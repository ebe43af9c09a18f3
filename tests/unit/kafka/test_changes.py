"""Changes of a cluster are asked of its controller, item by item."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mm2.errors import AuthenticationFailed, ClusterError, Unavailable
from mm2.kafka.changes import Outcome, change
from mm2.kafka.client_errors import TopicExists
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.error_codes import Code

Codes = dict[str, Code]


class _Link(ClusterClient):
    """Answers, or raises, one after the other; the controller changes with each question."""

    def __init__(self, *answers: Codes | ClusterError) -> None:
        super().__init__("A", {"bootstrap.servers": "a:1", "retry.backoff.ms": "1"})
        self._answers = iter(answers)
        self._controllers = iter(range(len(answers)))
        self.asked: list[int | None] = []

    async def controller(self) -> int:
        return next(self._controllers)

    async def send(self, node: int | None, _what: str, _request: object) -> Codes:
        self.asked.append(node)
        answer = next(self._answers)
        if isinstance(answer, ClusterError):
            raise answer
        return answer


def _read(answer: Codes) -> Iterator[Outcome[str]]:
    for name, code in answer.items():
        yield name, code, None


async def _changed(link: _Link, *, within_s: float = 30) -> dict[str, ClusterError]:
    return await change(link, "create", ["x", "y"], object(), _read, within_s=within_s)


async def test_each_item_has_its_own_failure() -> None:
    link = _Link({"x": Code.NONE, "y": Code.TOPIC_ALREADY_EXISTS})
    failed = await _changed(link)
    assert {name: type(error) for name, error in failed.items()} == {"y": TopicExists}
    assert str(failed["y"]) == "cluster A: create y: TOPIC_ALREADY_EXISTS"


async def test_a_new_controller_is_asked_instead_of_the_old_one() -> None:
    moved = {"x": Code.NOT_CONTROLLER, "y": Code.NOT_CONTROLLER}
    link = _Link(moved, Unavailable("A", "it is gone"), {"x": Code.NONE, "y": Code.NONE})
    assert await _changed(link) == {}
    assert link.asked == [0, 1, 2]


async def test_what_fails_for_all_is_the_failure_of_each() -> None:
    refusal = TopicExists("A", "no")
    assert await _changed(_Link(refusal)) == {"x": refusal, "y": refusal}


async def test_who_is_not_let_in_hears_so_at_once() -> None:
    with pytest.raises(AuthenticationFailed):
        await _changed(_Link(AuthenticationFailed("A", "no")))


async def test_nothing_is_asked_for_nothing() -> None:
    link = _Link()
    assert await change(link, "create", [], object(), _read, within_s=1) == {}
    assert link.asked == []
