"""Stores a worker group's connectors in its config topic."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

import structlog

from mm2.config.clients import worker_client_properties
from mm2.connect.config_state import ConfigState, replacing
from mm2.connect.config_topic import prepare_config_topic
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_group import WorkerGroup
from mm2.core.connect.config_records import (
    Base,
    ConnectorConfig,
    Entry,
    Restart,
    decode,
    decode_base,
    encode,
    encode_base,
)
from mm2.errors import ClusterError, SchemaError, Unavailable, root_cause
from mm2.kafka.admin import Admin
from mm2.kafka.groups.membership import MemberTimes
from mm2.kafka.logs.log_tail import LogTail
from mm2.kafka.logs.read_log import Record, records_to_end
from mm2.kafka.writer import Stamped, Writer

log = structlog.get_logger()

_SEEN_WITHIN_S: Final = 30.0
_VERDICTS_MOST: Final = 256
"""So many of the last entries are remembered; who wrote one asks at once or never."""

_BATCH_BYTES: Final = 1 << 20
"""Entries that belong together are one batch: brokers take no more by default."""


class ConnectorStore(Protocol):
    """
    Holds connectors.

    Attributes:
        changed: set at each change; who waits for it clears it.
    """

    contents: ConfigState
    changed: asyncio.Event

    @property
    def awaited(self) -> str | None:
        """What keeps the worker from knowing its connectors; None if it knows them."""

    async def run(self) -> None:
        """Keeps ``contents`` current until cancelled."""

    async def loaded(self) -> None:
        """Waits until what was there at the start is in ``contents``."""

    async def is_gone(self, name: str) -> bool:
        """
        Whether there certainly is no connector of this name, also behind what ``contents`` has.

        Raises:
            ClusterError: the cluster does not answer.
        """

    async def add(self, *entries: Entry) -> None:
        """
        Adds entries in their order; returns when ``contents`` has them.

        Raises:
            ClusterError: they cannot be kept.
        """

    async def replace(
        self, before: Mapping[str, str] | None, new: ConnectorConfig, *entries: Entry
    ) -> bool:
        """
        Gives a connector another configuration, as ``add`` does, unless it was changed meanwhile.

        Args:
            before: what the new one was made from; None for no configuration.
            entries: to be added before it.

        Returns:
            Whether the connector has the new configuration; if not, nothing was changed.

        Raises:
            ClusterError: it cannot be kept.
        """


class TopicStore:
    """Holds connectors in ``config.storage.topic`` on the worker's cluster, as Connect does."""

    def __init__(self, worker: WorkerConfig) -> None:
        self.contents = ConfigState()
        self.changed = asyncio.Event()
        self._topic = worker.parsed.text("config.storage.topic")
        self._factor = worker.parsed.integer("config.storage.replication.factor")
        self._properties = {"client.id": worker.group_id, **worker.properties}
        self._group = WorkerGroup(
            _ALIAS,
            worker_client_properties(self._properties, "consumer", "group"),
            group_id=worker.group_id,
            topic=self._topic,
            times=MemberTimes.of(worker.properties),
        )
        self._reading = self.contents
        self._seen = -1
        self._verdicts: dict[int, bool] = {}
        self._progress = asyncio.Condition()
        self._loaded = asyncio.Event()
        self._trouble: str | None = None

    @property
    def awaited(self) -> str | None:
        """What keeps the worker from knowing its connectors; None if it knows them."""
        if self._loaded.is_set():
            return None
        trouble = self._group.trouble or self._trouble
        reading = f"the connectors are being read from {self._topic}"
        return f"{reading}: {trouble}" if trouble else reading

    async def run(self) -> None:
        """
        Follows the topic, which is made if it is not there, until cancelled.

        Raises:
            ClusterError: the topic cannot be made or read.
            FatalError: other workers run these connectors, too.
        """
        try:
            await self._prepare()
            self._trouble = None
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._group.run(), name="worker-group")
                await self._group.entered.wait()
                await self._follow(tasks)
        except ClusterError as error:
            self._trouble = str(error)
            raise
        except ExceptionGroup as errors:
            self._trouble = str(root_cause(errors))
            raise root_cause(errors) from errors

    async def _follow(self, tasks: asyncio.TaskGroup) -> None:
        properties = worker_client_properties(self._properties, "consumer", "configs")
        tail = LogTail(_ALIAS, properties, self._topic)
        # Who reads the topic once more sees all that was ever asked for, and is not to do it again.
        self._reading = ConfigState()
        tasks.create_task(self._tell_loaded(tail), name="configs-loaded")
        async for record in tail:
            await self._take(record)

    async def _tell_loaded(self, tail: LogTail) -> None:
        await tail.caught_up.wait()
        counted = Counter(self.contents.restarts)
        counted.update(self._reading.restarts)
        self._reading.restarts = counted
        self.contents = self._reading
        self._loaded.set()
        self.changed.set()
        async with self._progress:
            self._progress.notify_all()

    async def _take(self, record: Record) -> None:
        try:
            entry = decode(record.key, record.value)
        except SchemaError as error:
            log.warning("connect.record_unreadable", topic=self._topic, error=str(error))
            entry = None
        if entry and (self._is_new(record.offset) or not isinstance(entry, Restart)):
            base = decode_base(record.headers)
            self._remember(record.offset, self._reading.take(entry, record.offset, base))
        async with self._progress:
            self._seen = record.offset
            self._progress.notify_all()
        self.changed.set()

    @property
    def _is_current(self) -> bool:
        """Whether ``contents`` follows what is read."""
        return self.contents is self._reading and self._loaded.is_set()

    def _is_new(self, offset: int) -> bool:
        """
        Whether nobody here has seen an entry before, also while the topic is read once more.

        What was asked for before we came has been done, or makes no difference any more.
        """
        return self._is_current or (self._loaded.is_set() and offset > self.contents.read)

    def _remember(self, offset: int, verdict: bool) -> None:  # noqa: FBT001 - what take returns
        self._verdicts[offset] = verdict
        while len(self._verdicts) > _VERDICTS_MOST:
            del self._verdicts[next(iter(self._verdicts))]

    async def loaded(self) -> None:
        """Waits until all that was in the topic at the start has been read."""
        await self._loaded.wait()

    async def is_gone(self, name: str) -> bool:
        """
        Whether there certainly is no connector of this name.

        Reads what is written and was not read yet: a worker may be behind the others.
        """
        if not self._is_current or name in self.contents.configs:
            return False
        properties = worker_client_properties(self._properties, "consumer", "configs")
        behind = records_to_end(
            _ALIAS, properties, self._topic, partitions=[0], starts={0: self._seen + 1}
        )
        return not any([_adds(record, name) async for record in behind])

    async def add(self, *entries: Entry) -> None:
        """
        Writes entries in their order; returns when they have come back.

        Raises:
            Unavailable: they were not seen in time; they may be there all the same.
            ClusterError: the cluster refuses them.
        """
        await self._written(entries, base=None)

    async def replace(
        self, before: Mapping[str, str] | None, new: ConnectorConfig, *entries: Entry
    ) -> bool:
        """
        Writes a configuration after other entries, unless it was not made from the last one.

        Of several workers that do so at the same time, the first one in the topic is right. Raises
        as ``add``.
        """
        steps = replacing(lambda: self.contents, before, new, entries)
        try:
            writing = next(steps)
            while True:
                # Not what is being read once more: this was made from what was known until then.
                offsets = await self._written(writing, base=Base(self.contents.read))
                is_there = self.contents.configs.get(new.name) == new.config
                writing = steps.send(all(self._verdicts.get(each, is_there) for each in offsets))
        except StopIteration as end:
            return bool(end.value)

    async def _written(self, entries: Sequence[Entry], *, base: Base | None) -> range:
        """Writes entries as one batch; returns their offsets when they are read."""
        records = [
            Stamped(*encode(entry), headers=encode_base(base and replace(base, place=place)))
            for place, entry in enumerate(entries)
        ]
        properties = worker_client_properties(self._properties, "producer", "configs")
        async with Writer(_ALIAS, properties, batch_bytes=_BATCH_BYTES) as writer:
            first = await writer.send_together(self._topic, records, partition=0)
        offsets = range(first, first + len(records))
        try:
            async with asyncio.timeout(_SEEN_WITHIN_S), self._progress:
                await self._progress.wait_for(
                    lambda: self._is_current and self._seen >= offsets[-1]
                )
        except TimeoutError:
            message = f"{self._topic} was written, but not read again in {_SEEN_WITHIN_S:.0f} s"
            raise Unavailable(_ALIAS, message) from None
        return offsets

    async def _prepare(self) -> None:
        admin = Admin(_ALIAS, worker_client_properties(self._properties, "admin", "configs"))
        try:
            await prepare_config_topic(admin, self._topic, replication_factor=self._factor)
        finally:
            await admin.close()


def _adds(record: Record, name: str) -> bool:
    try:
        match decode(record.key, record.value):
            case ConnectorConfig(about, config):
                return about == name and config is not None
    except SchemaError:
        pass  # logged when it is followed
    return False


_ALIAS: Final = "of the worker"
"""A worker's cluster has no alias; messages then speak of the "cluster of the worker"."""
