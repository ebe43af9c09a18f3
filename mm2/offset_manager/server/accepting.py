"""
Accepts connections of clients.

A server of asyncio tells of a connection with TLS when its handshake is over. Before, it takes up
memory, and who connects without a password can have any number of them. So they are accepted here.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

_NO_FILE_S: Final = 1.0
"""A pause when no connection can be accepted: mostly there are too many open files."""

_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Errors of the machine. Others are of one connection, which has ended before it was accepted."""

_CLOSED: Final = frozenset({errno.EBADF, errno.EINVAL, errno.ENOTSOCK})
"""Errors of a socket that does not listen any more."""

_SKIPPED: Final = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
"""Errors of a family of addresses that this machine has not."""


class Accepting:
    """
    Ports at which clients connect, until ``close``.

    Args:
        sockets: that listen.
        serve: is run for each connection with its socket and where it comes from.

    Attributes:
        sockets: those that it was given.
    """

    def __init__(
        self,
        sockets: Iterable[socket.socket],
        serve: Callable[[socket.socket, str], Coroutine[Any, Any, None]],
    ) -> None:
        self.sockets = tuple(sockets)
        self._serve = serve
        loop = asyncio.get_running_loop()
        self._accepting = [loop.create_task(self._accept(each)) for each in self.sockets]
        self._serving: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """Accepts nobody more; connections stay."""
        for task in self._accepting:
            task.cancel()
        for each in self.sockets:
            each.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while listening.fileno() >= 0:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError as error:
                if error.errno in _CLOSED:
                    return
                await asyncio.sleep(_NO_FILE_S if error.errno in _EXHAUSTED else 0)
                continue
            task = loop.create_task(self._serve(accepted, str(address[0])))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """
    Sockets that listen at all addresses of a host; without a host, of this machine.

    Raises:
        OSError: the host is not known, or the port cannot be had.
    """
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    for family, address in dict.fromkeys((each[0], each[4]) for each in found):
        try:
            sockets.append(socket.create_server(address, family=family))
        except OSError as error:
            missing = error
            if error.errno not in _SKIPPED:
                break
    if missing is not None and (missing.errno not in _SKIPPED or not sockets):
        for each in sockets:
            each.close()
        raise missing
    for each in sockets:
        each.settimeout(0)
    return sockets
