"""Keeps what translates offsets current with its topics (Java: ``OffsetSyncStore``)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Final, Protocol

import structlog

from flows.checkpoint.checkpoint_store import TOPIC_WITHIN_S
from mm2.config.flow_config import FlowConfig
from mm2.config.offset_topics import offset_runs_topic, offset_syncs_topic
from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName
from mm2.core.policy import build_policy
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import RunStore
from mm2.errors import ClusterError, SchemaError
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.flow_clusters import FlowClusters
from mm2.kafka.logs.log_tail import LogTail
from mm2.kafka.logs.records import Record

log = structlog.get_logger()

_LOOK_AGAIN_S: Final = 0.5
_LOOK_FOR_RUNS_S: Final = 30.0

_REST_S: Final = 0.25
"""
Tasks write both topics many times a second, and checkpoints are made once a minute by default. Each
time the one who reads is woken costs a broker and us as much as a record that is copied alone.
"""


Job = Callable[[], Coroutine[None, None, None]]


def translation_followers(
    config: FlowConfig, clusters: FlowClusters, syncs: OffsetSyncStore, runs: RunStore
) -> dict[str, Job]:
    """What keeps both stores of a flow current, by names; each runs until cancelled."""
    settings = config.checkpoint
    is_on_source = settings.offset_syncs_location == "source"
    alias = config.flow.source if is_on_source else config.flow.target
    admin = clusters.source if is_on_source else clusters.target
    consumer = settings.offset_syncs_consumer(0)
    topic = offset_syncs_topic(config, build_policy(settings.properties))
    return {
        "offset-syncs": SyncFollower(alias, consumer, topic, syncs).run,
        "offset-runs": run_follower(alias, consumer, offset_runs_topic(config), runs, admin).run,
    }


class SyncFollower:
    """
    Feeds the offset syncs of partition 0 into a store, first the backlog and then as they come.

    The store translates once the backlog is read (C237, C239).
    """

    def __init__(
        self, alias: str, properties: Mapping[str, str], topic: str, store: OffsetSyncStore
    ) -> None:
        self._tail = LogTail(alias, properties, topic, partitions=[0], rest_s=_REST_S)
        self._topic = topic
        self._store = store

    async def run(self) -> None:
        """
        Follows until cancelled.

        Raises:
            UnknownTopic: the topic does not appear in time (C237).
            ClusterError: the cluster refuses.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._note_end_of_backlog(), name="offset-syncs-backlog")
            await self._follow_when_there()

    async def _follow_when_there(self) -> None:
        deadline = asyncio.get_running_loop().time() + TOPIC_WITHIN_S
        while True:
            try:
                await self._follow()
            except UnknownTopic:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _follow(self) -> None:
        async for record in self._tail:
            if self._tail.caught_up.is_set():
                # The other task may not have had its turn yet, and this record is news.
                self._store.backlog_read()
            feed(self._store, record)

    async def _note_end_of_backlog(self) -> None:
        await self._tail.caught_up.wait()
        self._store.backlog_read()
        log.info("offset_syncs.loaded", topic=self._topic)


def feed(store: OffsetSyncStore, record: Record) -> None:
    """Hands one record to the store; one that is no offset sync is left out (not so Java, C428)."""
    try:
        store.handle(OffsetSync.decode(record.key, record.value))
    except SchemaError as error:
        log.warning("offset_sync.ignored", offset=record.offset, error=str(error))


class Topics(Protocol):
    """Tells which topics there are, as ``Admin`` does."""

    async def list_topics(self) -> set[TopicName]:
        """Names of all topics that we may know of."""


class Tail(Protocol):
    """A topic from its beginning on, and then as it grows, as ``LogTail`` reads it."""

    @property
    def caught_up(self) -> asyncio.Event:
        """Set once all that was there at the start has been handed out."""

    def __aiter__(self) -> AsyncIterator[Record]:
        """Hands out the records."""


def run_follower(
    alias: str, properties: Mapping[str, str], topic: str, store: RunStore, admin: Admin
) -> RunFollower:
    """Follows the topic of runs on a cluster."""
    tail = LogTail(alias, properties, topic, partitions=[0], rest_s=_REST_S)
    return RunFollower(tail, topic, store, admin)


class RunFollower:
    """
    Feeds exact runs into a store, first the backlog and then as they come.

    Translations do without them if their topic is not there, as where Java's MirrorMaker copies the
    records, or if we may not read it; its existence is checked again.
    """

    def __init__(self, tail: Tail, topic: str, store: RunStore, admin: Topics) -> None:
        self._tail = tail
        self._topic = topic
        self._store = store
        self._admin = admin
        self._backlog: dict[bytes | None, Record] = {}
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """Follows until cancelled."""
        with suppress(ClusterError):
            if self._topic not in await self._admin.list_topics():
                # A consumer takes half a minute to be sure of that.
                self._store.backlog_read()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._note_end_of_backlog(), name="offset-runs-backlog")
            while True:
                try:
                    await self._follow()
                except ClusterError as error:
                    self._store.backlog_read()
                    log.warning("offset_runs.unread", topic=self._topic, error=str(error))
                await asyncio.sleep(_LOOK_FOR_RUNS_S)

    async def _follow(self) -> None:
        async for record in self._tail:
            if not self._tail.caught_up.is_set():
                # Blocks are written many times while they grow: the last one has everything.
                self._backlog.pop(record.key, None)
                self._backlog[record.key] = record
                continue
            await self._take_backlog()
            feed_runs(self._store, record)
            await asyncio.sleep(0)

    async def _note_end_of_backlog(self) -> None:
        await self._tail.caught_up.wait()
        await self._take_backlog()
        self._store.backlog_read()
        log.info("offset_runs.loaded", topic=self._topic)

    async def _take_backlog(self) -> None:
        async with self._one_at_a_time:
            await feed_all_runs(self._store, self._backlog.values())
            self._backlog = {}


async def feed_all_runs(store: RunStore, records: Iterable[Record]) -> None:
    """
    Hands records to the store.

    Thousands of them take a second: others go on in between.
    """
    for record in records:
        feed_runs(store, record)
        await asyncio.sleep(0)


def feed_runs(store: RunStore, record: Record) -> None:
    """Hands one record to the store; one that cannot be read is left out."""
    try:
        store.handle(record.key, record.value)
    except SchemaError as error:
        log.warning("offset_run.ignored", offset=record.offset, error=str(error))
