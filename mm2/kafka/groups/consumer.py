"""
A member of a consumer group that reads nothing itself.

librdkafka speaks the group protocols (eager, cooperative, KIP-848, static members), and commits;
all partitions are paused, because records come by way of our own connections.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, Protocol

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as At

from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.errors import ClusterError, ConfigError, NotAuthorized, Unavailable
from mm2.kafka.groups.client_watch import ClientWatch
from mm2.kafka.librdkafka_settings import group_member_settings, is_incremental

log = structlog.get_logger()

_POLL_S: Final = 0.1
_ASK_S: Final = 10.0
_LOOK_S: Final = 1.0
_NO_BROKER: Final = "_TRANSPORT"
"""Also when a connection ends meanwhile; one that is silent for too long is another code."""

_NOT_ALLOWED: Final = frozenset(
    {KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED}
)
_ENDS: Final = frozenset(
    {
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.INCONSISTENT_GROUP_PROTOCOL,
        KafkaError.INVALID_GROUP_ID,
        KafkaError.INVALID_SESSION_TIMEOUT,
        KafkaError.UNSUPPORTED_VERSION,
    }
)


class PartitionOwner(Protocol):
    """Learns which partitions are its own; the group waits until each call returns."""

    async def assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """These are its own from now on."""

    async def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """These are its own until this returns."""

    async def lost(self, partitions: Sequence[TopicPartition]) -> None:
        """These may be another member's already; nothing can be committed."""


class GroupConsumer:
    """
    Membership in a group, from ``run`` to its end.

    A client that knows no broker any more is replaced by a new one, which joins the group in its
    place; the owner has lost its partitions then.

    Args:
        alias: the cluster's, for messages.
        properties: Java's consumer properties.
        group: its id.
        owner: is called in the event loop, one call at a time.
        watch: decides when the client is replaced.

    Raises:
        ConfigError: the properties cannot be used.
    """

    def __init__(
        self,
        alias: str,
        properties: Mapping[str, str],
        *,
        group: GroupId,
        owner: PartitionOwner,
        watch: ClientWatch,
    ) -> None:
        self._alias = alias
        self._group = group
        self._owner = owner
        self._watch = watch
        self._is_incremental = is_incremental(properties)
        self._settings = group_member_settings(properties, group)
        try:
            self._consumer = self._client()
        except KafkaException as error:
            message = f"librdkafka refuses the consumer's settings: {error.args[0].str()}"
            raise ConfigError(message) from error
        self._polling = ThreadPoolExecutor(1, "group-poll")
        self._questions: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context = copy_context()
        self._under_way: Future[None] | None = None
        self._is_closing = False
        self._subscribed: frozenset[str] = frozenset()

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Wants these topics from now on; at least one must be named once."""
        wanted = frozenset(topics)
        if wanted == self._subscribed:
            return
        self._subscribed = wanted
        await self._ask(self._subscribe)

    async def run(self) -> None:
        """
        Is a member until cancelled.

        Raises:
            ClusterError: the group cannot be joined, or what its owner does has failed.
        """
        self._loop = asyncio.get_running_loop()
        in_thread = partial(self._loop.run_in_executor, self._polling)
        while True:
            await in_thread(self._poll)
            if await self._watch.is_stuck(partial(in_thread, self._knows_broker)):
                await in_thread(self._replace)

    async def close(self) -> None:
        """Leaves the group; the owner is not asked any more."""
        self._is_closing = True
        if self._under_way is not None:
            self._under_way.cancel()
        loop = asyncio.get_running_loop()
        # Whichever client there is by then.
        await loop.run_in_executor(self._polling, lambda: self._consumer.close())  # noqa: PLW0108
        self._polling.shutdown(wait=False)

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """
        The group's offsets; partitions without one are left out.

        Raises:
            Unavailable: no coordinator answers in ten seconds.
            NotAuthorized: we may not read them.
        """
        wanted = [At(*each) for each in partitions]
        found = await self._ask(lambda: self._consumer.committed(wanted, timeout=_ASK_S))
        for each in found:
            if each.error is not None:
                raise self._translated(each.error, "read the group's offsets")
        return {_of(each): each.offset for each in found if each.offset >= 0}

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """
        Commits the next offset to read of each partition; returns those that are committed.

        Raises:
            ClusterError: nothing is committed.
        """
        wanted = [At(*where, offset) for where, offset in offsets.items()]
        done = await self._ask(lambda: self._consumer.commit(offsets=wanted, asynchronous=False))
        return {_of(each) for each in done if each.error is None}

    async def _ask(self, question: Callable[[], Any]) -> Any:
        """
        Asks in the thread that polls: the client lets no other one in meanwhile.

        While that thread is in a callback, it is answered there.
        """
        found: Future[Any] = Future()
        self._questions.put(partial(_answer, found, question))
        self._polling.submit(self._answer_all)
        try:
            return await asyncio.wrap_future(found)
        except KafkaException as error:
            raise self._translated(error.args[0], f"ask group {self._group}") from error

    def _answer_all(self) -> None:
        with suppress(Empty):
            while True:
                if (question := self._questions.get_nowait()) is not None:
                    question()

    def _client(self) -> Consumer:
        settings = {**self._settings, "error_cb": self._log_error}
        return Consumer(settings, logger=logging.getLogger("mm2.librdkafka"))

    def _subscribe(self) -> None:
        self._consumer.subscribe(
            sorted(self._subscribed),
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def _knows_broker(self) -> bool:
        """True before it has topics, too; what it is asked has to be small."""
        if not self._subscribed:
            return True
        try:
            self._consumer.list_topics(min(self._subscribed), timeout=_LOOK_S)
        except KafkaException as error:
            return bool(error.args[0].name() != _NO_BROKER)
        return True

    def _replace(self) -> None:
        """The old client may take its time to close; the owner hears no more of it."""
        if self._is_closing:
            return
        old, self._consumer = self._consumer, self._client()
        held = old.assignment()
        log.warning("stream.member_replaced", group=self._group, partitions=len(held))
        Thread(target=old.close, name="group-close", daemon=True).start()
        self._call(self._consumer, self._owner.lost, held)
        self._subscribe()

    def _poll(self) -> None:
        message = self._consumer.poll(_POLL_S)
        if message is None or (error := message.error()) is None:
            return
        if error.fatal() or error.code() in _ENDS | _NOT_ALLOWED:
            raise self._translated(error, f"join group {self._group}")
        log.warning("stream.group_trouble", group=self._group, error=error.str())

    def _on_assign(self, consumer: Consumer, partitions: list[At]) -> None:
        if self._is_incremental:
            consumer.incremental_assign(partitions)
        else:
            consumer.assign(partitions)
        consumer.pause(partitions)
        self._call(consumer, self._owner.assigned, partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[At]) -> None:
        self._call(consumer, self._owner.revoked, partitions)
        self._unassign(consumer, partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[At]) -> None:
        self._call(consumer, self._owner.lost, partitions)
        self._unassign(consumer, partitions)

    def _unassign(self, consumer: Consumer, partitions: list[At]) -> None:
        if self._is_incremental:
            consumer.incremental_unassign(partitions)
        else:
            consumer.unassign()

    def _call(
        self,
        consumer: Consumer,
        method: Callable[[Sequence[TopicPartition]], Coroutine[Any, Any, None]],
        partitions: list[At],
    ) -> None:
        """Has the owner take its time; the coordinator hears heartbeats meanwhile."""
        is_over = self._is_closing or consumer is not self._consumer
        if is_over or self._loop is None or not partitions:
            return
        names = [_of(each) for each in partitions]
        # What the owner logs says whose it is, as everything else in that context does.
        in_context = partial(asyncio.run_coroutine_threadsafe, method(names), self._loop)
        under_way: Future[None] = self._context.copy().run(in_context)
        self._under_way = under_way
        under_way.add_done_callback(lambda _: self._questions.put(None))
        while not under_way.done():
            if (question := self._questions.get()) is not None:
                question()
        self._under_way = None
        if not under_way.cancelled():
            under_way.result()

    def _log_error(self, error: KafkaError) -> None:
        log.debug("stream.group_trouble", group=self._group, error=error.str())

    def _translated(self, error: KafkaError, what: str) -> ClusterError:
        message = f"cannot {what}: {error.str()}"
        if error.code() in _NOT_ALLOWED:
            return NotAuthorized(self._alias, message)
        if error.fatal() or error.code() in _ENDS:
            return ClusterError(self._alias, message)
        return Unavailable(self._alias, message)


def _of(where: At) -> TopicPartition:
    return TopicPartition(TopicName(where.topic), where.partition)


def _answer(found: Future[Any], question: Callable[[], Any]) -> None:
    if not found.set_running_or_notify_cancel():
        return
    try:
        found.set_result(question())
    except BaseException as error:  # noqa: BLE001 - whoever asks is told
        found.set_exception(error)
