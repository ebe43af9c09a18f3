"""Which questions of several callers share a request, and who is told that one failed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import NotAuthorized, Unavailable
from mm2.kafka.wire.grouped_requests import GroupedRequests

P = [TopicPartition(TopicName("t"), number) for number in range(4)]


class FakeNodes:
    """Answers each question with ten times its number, when it is let go."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, dict[TopicPartition, int]]] = []
        self.silent: set[TopicPartition] = set()
        self.failure: Exception | None = None
        self.go = asyncio.Semaphore(0)
        self.begun = asyncio.Semaphore(0)

    def answer(self, requests: int = 9) -> None:
        """Lets so many requests go."""
        for _ in range(requests):
            self.go.release()

    async def __call__(
        self, node: int, questions: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        self.asked.append((node, dict(questions)))
        self.begun.release()
        await self.go.acquire()
        if self.failure is not None:
            raise self.failure
        return {each: 10 * n for each, n in questions.items() if each not in self.silent}


async def _begun(
    grouped: GroupedRequests[int, int], *asked: tuple[int, int]
) -> list[asyncio.Task[int]]:
    """Questions with the number of their partition, to nodes; each waits once they are begun."""
    tasks = [asyncio.create_task(grouped.ask(node, P[n], n)) for node, n in asked]
    await asyncio.sleep(0)
    return tasks


async def test_who_comes_while_a_request_is_under_way_shares_the_next_one() -> None:
    nodes = FakeNodes()
    grouped = GroupedRequests("c", nodes)
    first = await _begun(grouped, (1, 0))
    others = await _begun(grouped, (1, 1), (1, 2), (1, 3))
    assert nodes.asked == [(1, {P[0]: 0})]
    nodes.answer()
    assert await asyncio.gather(*first, *others) == [0, 10, 20, 30]
    assert nodes.asked[1:] == [(1, {P[1]: 1, P[2]: 2, P[3]: 3})]


async def test_a_node_that_does_not_answer_holds_up_no_other() -> None:
    nodes = FakeNodes()
    grouped = GroupedRequests("c", nodes)
    waiting = await _begun(grouped, (1, 0), (2, 1))
    assert nodes.asked == [(1, {P[0]: 0}), (2, {P[1]: 1})]
    nodes.answer()
    assert await asyncio.gather(*waiting) == [0, 10]


async def test_a_partition_that_a_node_passes_over_has_no_answer() -> None:
    nodes = FakeNodes()
    nodes.answer()
    nodes.silent = {P[1]}
    grouped = GroupedRequests("c", nodes)
    assert await grouped.ask(1, P[0], 0) == 0
    with pytest.raises(Unavailable, match="broker 1 did not answer in full"):
        await grouped.ask(1, P[1], 1)


async def test_all_who_share_a_request_are_told_that_it_failed() -> None:
    nodes = FakeNodes()
    grouped = GroupedRequests("c", nodes)
    first = await _begun(grouped, (1, 0))
    others = await _begun(grouped, (1, 1), (1, 2))
    nodes.failure = NotAuthorized("c", "no")
    nodes.answer()
    found = await asyncio.gather(*first, *others, return_exceptions=True)
    assert [type(each) for each in found] == [NotAuthorized] * 3
    nodes.failure = None
    assert await grouped.ask(1, P[3], 3) == 30


async def test_nobody_is_asked_for_who_has_gone() -> None:
    nodes = FakeNodes()
    grouped = GroupedRequests("c", nodes)
    first = await _begun(grouped, (1, 0))
    gone, stays = await _begun(grouped, (1, 1), (1, 2))
    gone.cancel()
    await asyncio.wait([gone])
    nodes.answer()
    assert await asyncio.gather(*first, stays) == [0, 20]
    assert nodes.asked[1:] == [(1, {P[2]: 2})]


async def test_who_asked_for_all_and_goes_leaves_the_others_without_an_answer() -> None:
    nodes = FakeNodes()
    grouped = GroupedRequests("c", nodes)
    first = await _begun(grouped, (1, 0))
    asks_for_both, waits = await _begun(grouped, (1, 1), (1, 2))
    nodes.answer(1)
    await asyncio.wait(first)
    for _ in range(2):
        await nodes.begun.acquire()
    asks_for_both.cancel()
    with pytest.raises(Unavailable):
        await waits
