"""
Keeps what translates offsets current with its topics (Java: ``OffsetSyncStore``'s backing store).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Final

import structlog

from flows.checkpoint.store import TOPIC_WITHIN_S
from mm2.config.flow import FlowConfig
from mm2.core.codec import OffsetSync
from mm2.core.offset_sync_store import OffsetSyncStore
from mm2.core.policy import build_policy
from mm2.core.translation import RunStore
from mm2.errors import ClusterError, SchemaError
from mm2.herder.clusters import FlowClusters
from mm2.herder.topics import offset_runs_topic, offset_syncs_topic
from mm2.kafka.admin import Admin
from mm2.kafka.errors import UnknownTopic
from mm2.kafka.log import LogTail
from mm2.kafka.records import Record

log = structlog.get_logger()

_LOOK_AGAIN_S: Final = 0.5
_LOOK_FOR_RUNS_S: Final = 30.0


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
        "offset-runs": RunFollower(alias, consumer, offset_runs_topic(config), runs, admin).run,
    }


class SyncFollower:
    """
    Feeds the offset syncs of partition 0 into a store, first the backlog and then as they come.

    Args:
        alias: the cluster that holds the topic, for messages.
        properties: Java's client properties of the consumer.
        topic: the topic of offset syncs.
        store: takes them in, and translates once the backlog is read (C237, C239).
    """

    def __init__(
        self, alias: str, properties: Mapping[str, str], topic: str, store: OffsetSyncStore
    ) -> None:
        self._tail = LogTail(alias, properties, topic, partitions=[0])
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


class RunFollower:
    """
    Feeds exact runs into a store, first the backlog and then as they come.

    Translations do without them if their topic is not there, as where Java's MirrorMaker copies the
    records, or if we may not read it; it is looked for again.

    Args:
        alias: the cluster that holds the topic, for messages.
        properties: Java's client properties of the consumer.
        topic: the topic of runs.
        store: takes them in.
        admin: of that cluster.
    """

    def __init__(
        self,
        alias: str,
        properties: Mapping[str, str],
        topic: str,
        store: RunStore,
        admin: Admin,
    ) -> None:
        self._tail = LogTail(alias, properties, topic, partitions=[0])
        self._topic = topic
        self._store = store
        self._admin = admin

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
                    await feed_all_runs(self._store, self._tail)
                except ClusterError as error:
                    self._store.backlog_read()
                    log.warning("offset_runs.unread", topic=self._topic, error=str(error))
                await asyncio.sleep(_LOOK_FOR_RUNS_S)

    async def _note_end_of_backlog(self) -> None:
        await self._tail.caught_up.wait()
        self._store.backlog_read()
        log.info("offset_runs.loaded", topic=self._topic)


async def feed_all_runs(store: RunStore, records: AsyncIterable[Record]) -> None:
    """
    Hands records to the store as they come.

    A megabyte of them may come at once, and takes a second: others go on in between.
    """
    async for record in records:
        feed_runs(store, record)
        await asyncio.sleep(0)


def feed_runs(store: RunStore, record: Record) -> None:
    """Hands one record to the store; one that cannot be read is left out."""
    try:
        store.handle(record.key, record.value)
    except SchemaError as error:
        log.warning("offset_run.ignored", offset=record.offset, error=str(error))
