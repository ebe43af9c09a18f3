"""Asks several who know the same, and takes what the first one says."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Final, TypeVar

from aiokafka.errors import AuthenticationFailedError, KafkaError, NodeNotReadyError

T = TypeVar("T")

_PASSED_OVER: Final = (KafkaError, OSError, TimeoutError)


async def first_success(
    attempts: Iterable[Callable[[], Coroutine[object, object, T]]], *, patience_s: float
) -> T:
    """
    What the first of several says.

    The next one is asked when one has failed or is slow; who is slow may still be the first.

    Args:
        patience_s: then the next one is asked beside those that are slow.

    Raises:
        KafkaError, OSError, TimeoutError: all have failed; the reason of the last one, or of
            the first that does not let us in.
    """
    waiting = deque(attempts)
    asked: list[asyncio.Future[T]] = []
    pending: set[asyncio.Future[T]] = set()
    failure: Exception = NodeNotReadyError("no broker is known")
    try:
        while waiting or pending:
            if waiting:
                asked.append(asyncio.ensure_future(waiting.popleft()()))
                pending.add(asked[-1])
            done, pending = await asyncio.wait(
                pending,
                timeout=patience_s if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for each in done:
                try:
                    return each.result()
                except _PASSED_OVER as error:
                    if not isinstance(failure, AuthenticationFailedError):
                        failure = error
    finally:
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
    raise failure
