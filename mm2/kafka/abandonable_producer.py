"""aiokafka's producer, which can be given up while its cluster is away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaTimeoutError
from aiokafka.producer.message_accumulator import BatchBuilder

from mm2.stop_deadlines import WRITER_CLOSE_S

_NOWHERE: Final = -2
"""A node that no cluster has; -1 is a leader that is not known."""


class AbandonableProducer(AIOKafkaProducer):
    """
    A producer that can be given up.

    aiokafka's ``stop`` waits until all batches are written, or have failed. So all requests of one
    that is given up fail for good, those for metadata as well, and no batch waits for a leader.
    """

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self._is_abandoned = False
        self._begun: set[asyncio.Timeout] = set()
        self._sent: set[asyncio.Timeout] = set()
        self._request = self.client.send
        self.client.send = self._request_until_abandoned

    def begin(self, wait: asyncio.Timeout) -> None:
        """
        Ends a wait when the producer is given up.

        Raises:
            KafkaTimeoutError: it was.
        """
        self.check()
        self._begun.add(wait)

    def sent(self, wait: asyncio.Timeout) -> None:
        """Answers are waited for, which come, or fail: ends that wait only where they do not."""
        self._begun.discard(wait)
        self._sent.add(wait)

    def end(self, wait: asyncio.Timeout) -> None:
        """The wait is over."""
        self._begun.discard(wait)
        self._sent.discard(wait)

    def check(self) -> None:
        """
        Nothing, while the producer is not given up.

        Raises:
            KafkaTimeoutError: it was.
        """
        if self._is_abandoned:
            raise KafkaTimeoutError("the producer was closed")

    def abandon(self) -> None:
        """Fails whatever is not written, and whatever comes later."""
        self._is_abandoned = True
        self.client.cluster.leader_for_partition = _nowhere
        _end_all(self._begun)

    async def close(self) -> None:
        """
        Stops; ends within ``WRITER_CLOSE_S`` and the time to close connections.

        A pause before something is sent again (``retry.backoff.ms``) may last longer. The rest
        ends after it, and needs no connections.
        """
        stopping = asyncio.create_task(self.stop(), name="stop a producer")
        try:
            async with asyncio.timeout(WRITER_CLOSE_S):
                await asyncio.shield(stopping)
        except TimeoutError:
            _end_all(self._sent)
            with suppress(TimeoutError):
                async with asyncio.timeout(WRITER_CLOSE_S):
                    await self.client.close()

    async def send_batch(
        self, batch: BatchBuilder, topic: str, *, partition: int
    ) -> asyncio.Future[Any]:
        """As aiokafka's; asyncio logs no failure that nobody waits for any more."""
        answer = await super().send_batch(batch, topic, partition=partition)
        shielded = asyncio.shield(answer)
        for each in (answer, shielded):
            each.add_done_callback(_look_at)
        return shielded

    async def _request_until_abandoned(self, node: int, request: object, **options: object) -> Any:
        try:
            async with asyncio.timeout(None) as wait:
                self.begin(wait)
                try:
                    return await self._request(node, request, **options)
                finally:
                    self.end(wait)
        except TimeoutError:
            self.check()
            raise


def _end_all(waits: Iterable[asyncio.Timeout]) -> None:
    now = asyncio.get_running_loop().time()
    for each in waits:
        if not each.expired():
            each.reschedule(now)


def _look_at(answer: asyncio.Future[Any]) -> None:
    if not answer.cancelled():
        answer.exception()


def _nowhere(_: object) -> int:
    return _NOWHERE
