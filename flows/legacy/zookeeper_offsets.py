"""
Offsets of a consumer group in ZooKeeper, where consumers before Kafka 0.9 keep theirs.

They are decimal numbers at ``/consumers/GROUP/offsets/TOPIC/PARTITION``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar

import structlog
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import BadVersionError, KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from mm2.config.legacy.zookeeper_keys import ZooKeeperSettings
from mm2.core.model import GroupId, TopicPartition
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.security.zookeeper_tls import TlsHandler
from mm2.stop_deadlines import ZOOKEEPER_ANSWER_S, ZOOKEEPER_S

log = structlog.get_logger()

T = TypeVar("T")

_ALIAS: Final = "ZooKeeper"
_WARN_AGAIN_S: Final = 60.0


class ZooKeeperOffsets:
    """
    The offsets of one group, from ``start`` on.

    Raises:
        ConfigError: the settings of TLS cannot be used.
    """

    def __init__(self, settings: ZooKeeperSettings, group: GroupId) -> None:
        self._settings = settings
        self._folder = f"/consumers/{group}/offsets"
        self._thread = ThreadPoolExecutor(1, "zookeeper")
        self._tls = TlsHandler.of(settings.tls)
        self._client = KazooClient(
            hosts=settings.connect,
            timeout=settings.session_timeout_s,
            read_only=False,
            handler=self._tls,
        )
        self._is_live: Any = None
        self._unanswered: list[Any] = []
        self._connected = asyncio.Event()

    async def start(self) -> None:
        """Begins to connect, and waits for no server; each request waits for one."""
        loop = asyncio.get_running_loop()

        def state_changed(state: KazooState) -> None:
            if state == KazooState.CONNECTED:
                loop.call_soon_threadsafe(self._connected.set)

        self._client.add_listener(state_changed)
        self._is_live = await self._call(self._client.start_async)

    async def until_connected(self) -> None:
        """Waits until a server has answered for the first time; warns now and then meanwhile."""
        within_s = self._settings.connect_timeout_s
        while not self._connected.is_set():
            try:
                async with asyncio.timeout(within_s):
                    await self._connected.wait()
            except TimeoutError:
                error = self._unavailable("no server has answered yet")
                log.warning("stream.zookeeper_awaited", error=str(error))
                within_s = _WARN_AGAIN_S

    async def close(self) -> None:
        """Ends the session."""
        with suppress(ClusterError, TimeoutError):
            async with asyncio.timeout(ZOOKEEPER_S):
                await self._call(self._end)
        self._thread.shutdown(wait=False)

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """
        The group's offsets; partitions without one are left out.

        Raises:
            ClusterError: they cannot be read.
        """
        wanted = list(partitions)
        nodes = await self._ask(lambda until: self._nodes(wanted, until))
        found = {where: self._offset(where, data) for where, (data, _) in nodes.items()}
        return {where: offset for where, offset in found.items() if offset >= 0}

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        """
        Writes the next offset to read of each partition; returns those that are written.

        A write that was given up may still be carried out, once a server is there again. It then
        replaces nothing that somebody else has written meanwhile.

        Raises:
            ClusterError: not all of them could be written.
        """
        return await self._ask(lambda until: self._write(offsets, until))

    def _nodes(self, wanted: Iterable[TopicPartition], until: float) -> dict[TopicPartition, Any]:
        """What there is of partitions: the data, and a state with their version."""
        return self._answers(
            {where: self._client.get_async(self._path(where)) for where in wanted}, until
        )

    def _write(self, offsets: Mapping[TopicPartition, int], until: float) -> set[TopicPartition]:
        nodes = self._nodes(offsets, until)
        asked: dict[TopicPartition, Any] = {}
        for where, offset in offsets.items():
            path, data = self._path(where), b"%d" % offset
            if where in nodes:
                _, state = nodes[where]
                asked[where] = self._client.set_async(path, data, state.version)
            else:
                asked[where] = self._client.create_async(path, data, makepath=True)
        return set(self._answers(asked, until))

    def _answers(
        self, asked: Mapping[TopicPartition, Any], until: float
    ) -> dict[TopicPartition, Any]:
        """What is answered, without partitions whose nodes are not as they were expected."""
        self._unanswered = list(asked.values())
        found: dict[TopicPartition, Any] = {}
        for where, answer in asked.items():
            with suppress(NoNodeError, NodeExistsError, BadVersionError):
                found[where] = self._answer(answer, until)
        return found

    def _answer(self, answer: Any, until: float) -> Any:
        """Without a limit, kazoo waits for as long as it has no connection."""
        if answer.wait(until - time.monotonic()):
            return answer.get()
        raise KazooTimeoutError(f"no answer within {ZOOKEEPER_ANSWER_S:g} s")

    def _offset(self, where: TopicPartition, data: bytes) -> int:
        try:
            return int(data)
        except ValueError as error:
            message = f"{self._path(where)} holds no offset: write a whole number there"
            raise ClusterError(_ALIAS, message) from error

    def _path(self, where: TopicPartition) -> str:
        return f"{self._folder}/{where.topic}/{where.partition}"

    def _end(self) -> None:
        self._client.stop()
        self._client.close()

    async def _ask(self, job: Callable[[float], T]) -> T:
        """
        Asks once there is a connection: kazoo refuses what is asked before its first attempt.

        What was asked before is answered first: kazoo keeps it until it is connected again.
        """
        until = time.monotonic() + ZOOKEEPER_ANSWER_S

        def ask() -> T:
            if not self._is_live.wait(until - time.monotonic()):
                raise KazooTimeoutError(f"no connection within {ZOOKEEPER_ANSWER_S:g} s")
            for each in self._unanswered:
                with suppress(KazooException):
                    self._answer(each, until)
            return job(until)

        return await self._call(ask)

    async def _call(self, job: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, job)
        except (KazooException, KazooTimeoutError, OSError) as error:
            raise self._unavailable(str(error) or type(error).__name__) from error

    def _unavailable(self, reason: str) -> Unavailable:
        trouble = (self._tls and self._tls.trouble) or reason
        return Unavailable(_ALIAS, f"{self._settings.connect}: {trouble}")
