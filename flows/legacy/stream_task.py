"""
A stream of the legacy tool: one member of the consumer group, in a Spark worker.

On a stop, and on any error, the order is: no more fetches, wait for what is under way, commit what
is acknowledged, tell the user's listener, leave the group, close. An error ends the stream at once
after that (KIP-3), and with it the process.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Final

import structlog
import uvloop

from flows.legacy.driver_link import linked_to_driver
from flows.legacy.stream_parts import StreamClients, StreamParts
from flows.legacy.stream_spec import StreamSpec
from mm2.config.text.expressions import RESOLVED
from mm2.errors import ClusterError, Mm2Error, Unavailable, root_cause
from mm2.kafka.admin import Admin
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.identity import producer_identity
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.stream_progress import encode_stream
from mm2.stop_deadlines import (
    LISTENER_S,
    STREAM_COMMIT_S,
    STREAM_DRAIN_S,
    STREAM_FAILED_DRAIN_S,
    STREAM_LEAVE_S,
)
from mm2.telemetry.logs import configure_task_logs

if TYPE_CHECKING:
    from flows.legacy.zookeeper_offsets import ZooKeeperOffsets

log = structlog.get_logger()

_REPORT_S: Final = 1.0


def run_stream(spec: StreamSpec) -> Mapping[str, int]:
    """
    Runs a stream until its process tells it to stop.

    Returns:
        ``records``, ``skipped``, ``pid``, and ``failed``: 1 if it ended because of an error, which
        is logged.
    """
    configure_task_logs()
    RESOLVED.take(spec.hidden)
    with structlog.contextvars.bound_contextvars(group=spec.group, task=spec.index):
        return uvloop.run(_run(spec))


async def _run(spec: StreamSpec) -> Mapping[str, int]:
    stop = asyncio.Event()
    stream: Stream | None = None
    failed = 0
    try:
        async with AsyncExitStack() as stack:
            link = linked_to_driver(spec.driver, spec.token, stop)
            tell = await stack.enter_async_context(link)
            stream = await Stream.open(spec, stack, tell)
            await stream.run(stop)
    except (BaseExceptionGroup, Mm2Error) as error:
        cause = root_cause(error)
        if not isinstance(cause, Exception):
            raise
        log.error("stream.failed", error=str(cause) or repr(cause))
        failed = 1
    totals = {"records": 0, "skipped": 0} if stream is None else stream.totals()
    log.info("stream.stopped", **totals)
    return {**totals, "failed": failed, "pid": os.getpid()}


class Stream:
    """One run of a stream; made by ``open``."""

    def __init__(
        self,
        spec: StreamSpec,
        clients: StreamClients,
        tell: Callable[[bytes], None],
        zookeeper: ZooKeeperOffsets | None,
    ) -> None:
        self._spec = spec
        self._tell = tell
        self._admin = clients.source_admin
        self._zookeeper = zookeeper
        self._parts = StreamParts(spec, clients)

    @classmethod
    async def open(
        cls, spec: StreamSpec, stack: AsyncExitStack, tell: Callable[[bytes], None]
    ) -> Stream:
        """
        Connects to both clusters; ``tell`` is given reports, if the spec wants them.

        ZooKeeper is not waited for, as it is not when it goes away later.

        Raises:
            ClusterError: one cannot be reached, or refuses us.
        """
        source = WireClient("source", aiokafka_settings(spec.source))
        target = WireClient("target", aiokafka_settings(spec.target))
        admins = Admin("source", spec.source), Admin("target", spec.target)
        for each in (source, target, *admins):
            stack.push_async_callback(each.close)
        async with asyncio.TaskGroup() as group:
            group.create_task(source.start(), name="source")
            group.create_task(target.start(), name="target")
        zookeeper: ZooKeeperOffsets | None = None
        if spec.zookeeper is not None:
            from flows.legacy.zookeeper_offsets import ZooKeeperOffsets  # noqa: PLC0415 - rare

            zookeeper = ZooKeeperOffsets(spec.zookeeper, spec.group)
            stack.push_async_callback(zookeeper.close)
            await zookeeper.start()
        clients = StreamClients(
            zookeeper=zookeeper,
            source=source,
            target=target,
            identity=await producer_identity(target, None),
            source_admin=admins[0],
            target_admin=admins[1],
        )
        stream = cls(spec, clients, tell, zookeeper)
        if spec.errors.dead_letter_topic is not None:
            await stream._parts.topics.create(spec.errors.dead_letter_topic)
        return stream

    async def run(self, stop: asyncio.Event) -> None:
        """
        Copies until ``stop``, or until something fails; commits what is acknowledged either way.

        Raises:
            BaseExceptionGroup: what has failed.
        """
        parts = self._parts
        async with asyncio.TaskGroup() as group:
            lasting = [
                group.create_task(parts.producer.run(), name="producer"),
                group.create_task(parts.errors.run(), name="errors"),
            ]
            try:
                await self._copy(stop)
            finally:
                await self._end(STREAM_DRAIN_S if stop.is_set() else STREAM_FAILED_DRAIN_S)
                for task in lasting:
                    task.cancel()

    async def _copy(self, stop: asyncio.Event) -> None:
        parts = self._parts
        async with asyncio.TaskGroup() as group:
            copying = (
                []
                if parts.copier is None
                else [group.create_task(parts.copier.run(), name="records")]
            )
            copying += [
                group.create_task(parts.fetcher.run(), name="fetcher"),
                group.create_task(parts.offsets.run(), name="offsets"),
                group.create_task(parts.owned.run(), name="owned"),
                group.create_task(parts.until_failed(), name="failures"),
                group.create_task(self._follow_topics(), name="topics"),
                group.create_task(parts.member.run(), name="member"),
            ]
            if self._zookeeper is not None:
                awaiting = self._zookeeper.until_connected()
                copying.append(group.create_task(awaiting, name="zookeeper"))
            if self._spec.reports:
                copying.append(group.create_task(self._report(), name="reports"))
            await stop.wait()
            for task in copying:
                task.cancel()

    async def _follow_topics(self) -> None:
        """Subscribes to what the patterns select, and again when that changes."""
        selects = self._spec.selection.matcher()
        while True:
            with suppress(Unavailable):
                names = await self._admin.list_topics(internal=self._spec.selection.internal)
                wanted = {name for name in names if selects(name)}
                if wanted:
                    await self._parts.member.subscribe(wanted)
                else:
                    log.warning("stream.no_topics", topics=len(names))
            await asyncio.sleep(self._spec.refresh_s)

    async def _report(self) -> None:
        while True:
            parts = self._parts
            self._tell(encode_stream(self._spec.index, parts.progress(), parts.commits()))
            await asyncio.sleep(_REPORT_S)

    async def _end(self, drain_s: float) -> None:
        parts, partitions = self._parts, list(self._parts.partitions.values())
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s):
                await parts.wait_for_copies([each for each in partitions if each.error is None])
        with suppress(TimeoutError, ClusterError):
            async with asyncio.timeout(STREAM_COMMIT_S):
                await parts.offsets.commit(partitions)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(LISTENER_S):
                    await parts.owned.leaving()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(STREAM_LEAVE_S):
                    await parts.member.close()

    def totals(self) -> dict[str, int]:
        """What was copied in this run."""
        return self._parts.totals()
