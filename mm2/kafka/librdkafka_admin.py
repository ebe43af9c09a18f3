"""
librdkafka's admin client under asyncio: futures awaited, what blocks off the loop.

librdkafka retries a refused log-in until the call times out, and tells only its error callback.
While a call is awaited, that callback is polled, so that a wrong password is known at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from mm2.errors import AuthenticationFailed, ClusterError, ConfigError
from mm2.kafka.client_errors import LOGIN_REFUSED, from_exception, stated_refusal
from mm2.kafka.client_settings import librdkafka_settings

T = TypeVar("T")
K = TypeVar("K")

_POLL_S: Final = 0.1
_GRACE_S: Final = 5.0
"""librdkafka ends a call at its own timeout; only if it fails to do so, we do, this much later."""

_THREADS: Final = ThreadPoolExecutor(max_workers=8, thread_name_prefix="mm2-kafka")


class LibrdkafkaAdmin:
    """
    Makes the calls of one admin client.

    Args:
        alias: the cluster's, for messages.
        properties: Java's client properties.
        timeout_s: of each call.
    """

    def __init__(self, alias: str, properties: Mapping[str, str], timeout_s: float) -> None:
        self.alias = alias
        self.timeout_s = timeout_s
        self._properties = dict(properties)
        self._client: AdminClient | None = None
        self._opening = asyncio.Lock()
        self._refusal: KafkaError | None = None

    async def client(self) -> AdminClient:
        """
        The client, made at the first call: reading key stores takes time.

        Raises:
            ConfigError: librdkafka does not accept the settings.
        """
        async with self._opening:
            if self._client is None:
                self._client = await self._threaded(self._open)
            return self._client

    async def close(self) -> None:
        """Closes all connections; may be called twice, and the object may be used again."""
        # The last reference goes in a thread: librdkafka waits there for its own threads.
        holder = [self._client]
        self._client = None
        await self._threaded(holder.clear)

    async def one(self, what: str, call: Callable[[AdminClient], Future[T]]) -> T:
        """Makes a call with one answer."""
        client = await self.client()
        try:
            future = call(client)
        except (KafkaException, ValueError) as error:
            raise from_exception(self.alias, error, what) from error
        return await self._answer(what, client, future)

    async def many(
        self, what: str, call: Callable[[AdminClient], Mapping[K, Future[T]]]
    ) -> tuple[dict[K, T], dict[K, ClusterError]]:
        """
        Makes a call with an answer for each item; returns answers and failures.

        Raises:
            AuthenticationFailed: our credentials are refused.
        """
        client = await self.client()
        try:
            futures = call(client)
        except (KafkaException, ValueError) as error:
            raise from_exception(self.alias, error, what) from error
        answers: dict[K, T] = {}
        failures: dict[K, ClusterError] = {}
        for key, future in futures.items():
            try:
                answers[key] = await self._answer(f"{what} {key}", client, future)
            except AuthenticationFailed:
                raise
            except ClusterError as error:
                failures[key] = error
        return answers, failures

    def _open(self) -> AdminClient:
        settings = librdkafka_settings(self._properties)
        extra = {"error_cb": self._note, "logger": logging.getLogger("mm2.librdkafka")}
        try:
            # The stubs of confluent-kafka know of no callbacks among the settings.
            return AdminClient({**settings, **extra})  # type: ignore[dict-item]
        except KafkaException as error:
            raise ConfigError(f"cluster {self.alias}: {error.args[0].str()}") from error

    def _note(self, error: KafkaError) -> None:
        if error.code() in LOGIN_REFUSED:
            self._refusal = error

    async def _answer(self, what: str, client: AdminClient, future: Future[T]) -> T:
        waiting = asyncio.wrap_future(future)
        deadline = asyncio.get_running_loop().time() + self.timeout_s + _GRACE_S
        self._refusal = None
        try:
            while not waiting.done():
                await asyncio.wait({waiting}, timeout=_POLL_S)
                client.poll(0)
                self._check(what, waiting, deadline)
            return waiting.result()
        except (KafkaException, TimeoutError, ValueError) as error:
            raise from_exception(self.alias, error, what) from error
        finally:
            # Nobody asks any more; an answer that still comes must not be reported as unread.
            waiting.cancel()

    def _check(self, what: str, waiting: asyncio.Future[T], deadline: float) -> None:
        if waiting.done():
            return
        if self._refusal is not None:
            raise AuthenticationFailed(self.alias, f"{what}: {stated_refusal(self._refusal)}")
        if asyncio.get_running_loop().time() > deadline:
            raise TimeoutError

    async def _threaded(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(_THREADS, call)
