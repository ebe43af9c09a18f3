"""
Sends what several callers want of a broker as one request.

A broker answers one connection's requests in order. Whoever comes while a request is under way
shares the next one, so that many callers wait for two round trips at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mm2.core.model import TopicPartition
from mm2.errors import ClusterError, Unavailable

Q = TypeVar("Q")
A = TypeVar("A")


@dataclass(slots=True)
class _Node(Generic[Q, A]):
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: dict[TopicPartition, tuple[Q, asyncio.Future[A]]] = field(default_factory=dict)


class GroupedRequests(Generic[Q, A]):
    """
    Groups questions about partitions by the brokers that are to answer them.

    Args:
        alias: the cluster's, for messages.
        send: asks a broker about several partitions; may leave some without an answer.
    """

    def __init__(
        self,
        alias: str,
        send: Callable[[int, Mapping[TopicPartition, Q]], Awaitable[Mapping[TopicPartition, A]]],
    ) -> None:
        self._alias = alias
        self._send = send
        self._nodes: dict[int, _Node[Q, A]] = {}

    async def ask(self, node: int, partition: TopicPartition, question: Q) -> A:
        """
        What a broker answers about a partition, of which one question at a time may be asked.

        Raises:
            Unavailable: no answer.
            ClusterError: another failure of the whole request.
        """
        group = self._nodes.setdefault(node, _Node())
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        group.waiting[partition] = question, answer
        try:
            async with group.lock:
                if partition in group.waiting and group.waiting[partition][1] is answer:
                    asked, group.waiting = group.waiting, {}
                    await self._ask(node, asked)
            return await answer
        finally:
            if group.waiting.get(partition, (None, None))[1] is answer:
                del group.waiting[partition]

    async def _ask(
        self, node: int, asked: Mapping[TopicPartition, tuple[Q, asyncio.Future[A]]]
    ) -> None:
        failure: ClusterError = Unavailable(self._alias, f"broker {node} did not answer in full")
        answers: Mapping[TopicPartition, A] = {}
        try:
            answers = await self._send(node, {where: each for where, (each, _) in asked.items()})
        except ClusterError as error:
            failure = error
        finally:
            for where, (_, future) in asked.items():
                if future.done():
                    continue
                if where in answers:
                    future.set_result(answers[where])
                else:
                    future.set_exception(failure)
                    future.exception()  # whoever has given up waiting must not leave a complaint
