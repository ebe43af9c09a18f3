"""Where a worker has its connectors: in its own memory, or in the config topic of its group."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Final, Protocol

import structlog

from mm2.config.clients import worker_client_properties
from mm2.connect.others import WorkerGroup
from mm2.connect.worker import WorkerConfig
from mm2.core.connect_configs import (
    ConnectorConfig,
    Entry,
    Restart,
    TargetState,
    WantedState,
    decode,
    encode,
)
from mm2.errors import SchemaError, Unavailable, root_cause
from mm2.kafka.admin import Admin
from mm2.kafka.log import LogTail, Record
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_SEEN_WITHIN_S: Final = 30.0


class Contents:
    """
    The connectors, as the entries so far make them.

    Attributes:
        configs: by names.
        wanted: what is wanted of those of which something was said.
        restarts: how often each was to be started anew.
    """

    def __init__(self) -> None:
        self.configs: dict[str, Mapping[str, str]] = {}
        self.wanted: dict[str, TargetState] = {}
        self.restarts: dict[str, int] = {}

    def take(self, entry: Entry) -> None:
        """Takes in the next entry."""
        match entry:
            case ConnectorConfig(name, None):
                self.configs.pop(name, None)
            case ConnectorConfig(name, config):
                assert config is not None  # noqa: S101 - the case above
                self.configs[name] = config
            case WantedState(name, None):
                self.wanted.pop(name, None)
            case WantedState(name, state):
                assert state is not None  # noqa: S101 - the case above
                self.wanted[name] = state
            case Restart(name, _, _):
                self.restarts[name] = self.restarts.get(name, 0) + 1

    def state(self, name: str) -> TargetState:
        """What is wanted of a connector: that it runs, unless somebody has said otherwise."""
        return self.wanted.get(name, TargetState.STARTED)


class ConnectorStore(Protocol):
    """
    Holds connectors.

    Attributes:
        contents: what is there.
        changed: set at each change; whoever waits clears it.
    """

    contents: Contents
    changed: asyncio.Event

    async def run(self) -> None:
        """Keeps ``contents`` current until cancelled."""

    async def loaded(self) -> None:
        """Waits until what was there at the start is in ``contents``."""

    async def add(self, *entries: Entry) -> None:
        """
        Adds entries in their order; returns when ``contents`` has them.

        Raises:
            ClusterError: they cannot be kept.
        """


class MemoryStore:
    """
    Holds connectors as long as the process lives: Connect's standalone workers do no more.

    Args:
        entries: what is there at the start.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.contents = Contents()
        self.changed = asyncio.Event()
        for entry in entries:
            self.contents.take(entry)

    async def run(self) -> None:
        """Does nothing: nobody else writes."""

    async def loaded(self) -> None:
        """Returns at once."""

    async def add(self, *entries: Entry) -> None:
        """Adds entries in their order."""
        for entry in entries:
            self.contents.take(entry)
        self.changed.set()


class TopicStore:
    """
    Holds connectors in ``config.storage.topic`` on the worker's cluster, as Connect does.

    Args:
        worker: the worker's configuration.
    """

    def __init__(self, worker: WorkerConfig) -> None:
        self.contents = Contents()
        self.changed = asyncio.Event()
        self._topic = worker.parsed.text("config.storage.topic")
        self._factor = worker.parsed.number("config.storage.replication.factor")
        self._properties = {"client.id": worker.group_id, **worker.properties}
        self._group = WorkerGroup(
            _ALIAS,
            worker_client_properties(self._properties, "consumer", "group"),
            group_id=worker.group_id,
            topic=self._topic,
        )
        self._seen = -1
        self._progress = asyncio.Condition()
        self._loaded = asyncio.Event()

    async def run(self) -> None:
        """
        Follows the topic, which is made if it is not there, until cancelled.

        Raises:
            ClusterError: the topic cannot be made or read.
            FatalError: other workers run these connectors, too.
        """
        await self._prepare()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._group.run(), name="worker-group")
                await self._group.entered.wait()
                await self._follow(tasks)
        except ExceptionGroup as errors:
            raise root_cause(errors) from errors

    async def _follow(self, tasks: asyncio.TaskGroup) -> None:
        properties = worker_client_properties(self._properties, "consumer", "configs")
        tail = LogTail(_ALIAS, properties, self._topic)
        tasks.create_task(self._tell_loaded(tail), name="configs-loaded")
        async for record in tail:
            await self._take(record)

    async def _tell_loaded(self, tail: LogTail) -> None:
        await tail.caught_up.wait()
        self._loaded.set()
        self.changed.set()

    async def _take(self, record: Record) -> None:
        try:
            entry = decode(record.key, record.value)
        except SchemaError as error:
            log.warning("connect.record_unreadable", topic=self._topic, error=str(error))
            entry = None
        # What was asked for before we came has been done, or makes no difference any more.
        if entry and (self._loaded.is_set() or not isinstance(entry, Restart)):
            self.contents.take(entry)
        async with self._progress:
            self._seen = record.offset
            self._progress.notify_all()
        self.changed.set()

    async def loaded(self) -> None:
        """Waits until all that was in the topic at the start has been read."""
        await self._loaded.wait()

    async def add(self, *entries: Entry) -> None:
        """
        Writes entries in their order; returns when they have come back.

        Raises:
            Unavailable: they were not seen in time; they may be there all the same.
            ClusterError: the cluster refuses them.
        """
        offset = -1
        properties = worker_client_properties(self._properties, "producer", "configs")
        async with AsyncExitStack() as stack:
            writer = await stack.enter_async_context(Writer(_ALIAS, properties))
            for entry in entries:
                offset = await writer.send(self._topic, *encode(entry), partition=0)
        try:
            async with asyncio.timeout(_SEEN_WITHIN_S), self._progress:
                await self._progress.wait_for(lambda: self._seen >= offset)
        except TimeoutError:
            message = f"{self._topic} was written, but not read again in {_SEEN_WITHIN_S:.0f} s"
            raise Unavailable(_ALIAS, message) from None

    async def _prepare(self) -> None:
        """Makes the topic."""
        properties = worker_client_properties(self._properties, "admin", "configs")
        admin = Admin(_ALIAS, properties)
        try:
            await admin.create_internal_topic(
                self._topic,
                partitions=1,
                replication_factor=self._factor,
                configs={"cleanup.policy": "compact"},
            )
        finally:
            await admin.close()


_ALIAS: Final = "of the worker"
"""A worker's cluster has no alias; messages then speak of the "cluster of the worker"."""
