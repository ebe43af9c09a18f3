"""A ZooKeeper in memory, by way of the calls of kazoo that ``ZooKeeperOffsets`` uses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from kazoo.client import KazooState
from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    NodeExistsError,
    NoNodeError,
)
from kazoo.handlers.threading import AsyncResult


class FakeZooKeeper:
    """
    Takes the place of ``KazooClient``.

    Attributes:
        nodes: data and version of each.
        answers: requests that are still answered; those that follow wait for ``come_back``, as
            they do in kazoo while it has no connection. Before its first one they are refused.
    """

    def __init__(self, **_: Any) -> None:
        self.nodes: dict[str, tuple[bytes, int]] = {}
        self.answers = 1_000
        self._waiting: list[Callable[[], None]] = []
        self._listeners: list[Callable[[KazooState], None]] = []
        self._handler = SimpleNamespace(running=False)
        self._live = threading.Event()

    def come_back(self) -> None:
        """Carries out what waits, and answers from now on."""
        self.answers = 1_000
        self._tell()
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            request()

    def put(self, path: str, data: bytes) -> None:
        """Another client writes."""
        _, version = self.nodes.get(path, (b"", -1))
        self.nodes[path] = (data, version + 1)

    def get_async(self, path: str) -> AsyncResult:
        """As kazoo's."""
        return self._request(lambda: self._get(path))

    def set_async(self, path: str, data: bytes, version: int) -> AsyncResult:
        """As kazoo's."""
        return self._request(lambda: self._set(path, data, version))

    def create_async(self, path: str, data: bytes, *, makepath: bool) -> AsyncResult:
        """As kazoo's."""
        assert makepath
        return self._request(lambda: self._create(path, data))

    def add_listener(self, listener: Callable[[KazooState], None]) -> None:
        """As kazoo's."""
        self._listeners.append(listener)

    def start_async(self) -> threading.Event:
        """As kazoo's; it has no connection while it does not answer."""
        if self.answers > 0:
            self._tell()
        return self._live

    def stop(self) -> None:
        """As kazoo's."""

    def close(self) -> None:
        """As kazoo's."""

    def _tell(self) -> None:
        self._live.set()
        for each in self._listeners:
            each(KazooState.CONNECTED)

    def _get(self, path: str) -> tuple[bytes, Any]:
        if path not in self.nodes:
            raise NoNodeError
        data, version = self.nodes[path]
        return data, SimpleNamespace(version=version)

    def _set(self, path: str, data: bytes, version: int) -> None:
        _, state = self._get(path)
        if state.version != version:
            raise BadVersionError
        self.put(path, data)

    def _create(self, path: str, data: bytes) -> None:
        if path in self.nodes:
            raise NodeExistsError
        self.put(path, data)

    def _request(self, work: Callable[[], Any]) -> AsyncResult:
        result = AsyncResult(self._handler)

        def answer() -> None:
            try:
                result.set(work())
            except Exception as error:  # noqa: BLE001 - the answer, whatever it is
                result.set_exception(error)

        self.answers -= 1
        if not self._live.is_set():
            result.set_exception(ConnectionClosedError())
        elif self.answers >= 0:
            answer()
        else:
            self._waiting.append(answer)
        return result
