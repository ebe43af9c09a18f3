"""Cuts what a broker sends into frames, each received into memory of its own."""

from __future__ import annotations

import asyncio
import ctypes
import platform
import re
import socket
import sys
from collections.abc import Callable
from struct import Struct
from typing import Final

_HEAD: Final = Struct(">ii")
_SCRATCH_SIZE: Final = 16 << 10
"""Of the memory where frames begin; what does not fit is received into memory of its own."""

_LARGE: Final = 64 << 10
"""Of what is left of a frame: it is then worth a system call to be woken up less often."""

_MOST_AT_ONCE: Final = 512 << 10
"""Bytes for which the kernel waits before it wakes us up; its buffer has room for them."""

_SAFE_KERNEL: Final = (5, 15)
"""Linux before that may not wake us up when small packets fill its buffer early."""

_uncleared = ctypes.pythonapi.PyByteArray_FromStringAndSize
"""Makes a ``bytearray`` of what the memory holds: zeros would be written over at once."""
_uncleared.argtypes = (ctypes.c_char_p, ctypes.c_ssize_t)
_uncleared.restype = ctypes.py_object


class OutOfSync(Exception):
    """What was received is no answer to what was asked."""


class Receiver(asyncio.BufferedProtocol):
    """
    The receiving end of a connection.

    The kernel writes a large frame straight into the memory that its batches are views of, so that
    record data is never copied here. Frames are ``bytearray``s, which their owner may change.

    Args:
        expects: the correlation id of the next frame; None if nothing was asked.
        on_frame: called with each frame, without its length.
        on_lost: called with what broke the connection; None if it was closed in good order.
    """

    def __init__(
        self,
        *,
        expects: Callable[[], int | None],
        on_frame: Callable[[bytearray], None],
        on_lost: Callable[[Exception | None], None],
    ) -> None:
        self._expects = expects
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._scratch = memoryview(bytearray(_SCRATCH_SIZE))
        self._frame: bytearray | None = None
        self._rest = self._scratch
        self._filled = 0
        self._socket: socket.socket | None = None
        self._low_water_mark = 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Has the kernel wait for large frames, except with TLS, where it sees other lengths."""
        if transport.get_extra_info("sslcontext") is None and _is_safe_kernel():
            self._socket = transport.get_extra_info("socket")

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        del sizehint
        return self._rest

    def buffer_updated(self, nbytes: int) -> None:
        """Takes note of bytes that came."""
        if self._frame is None:
            self._filled += nbytes
            try:
                self._cut()
            except OutOfSync as error:
                self._on_lost(error)
                return
        else:
            self._rest = self._rest[nbytes:]
            if len(self._rest) < self._low_water_mark:
                self._wake_up_at(len(self._rest) or 1)
        if self._frame is not None and not self._rest:
            frame, self._frame = self._frame, None
            self._rest = self._scratch
            self._on_frame(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more will come."""
        self._on_lost(exc)

    def _cut(self) -> None:
        """Takes whole frames out of the scratch memory; leaves less than a head in it."""
        at = 0
        while self._frame is None and self._filled - at >= _HEAD.size:
            size, correlation_id = _HEAD.unpack_from(self._scratch, at)
            # Before memory is allocated: a TLS alert, say, begins like a frame of 352 MB.
            if correlation_id != self._expects() or size < _HEAD.size - 4:
                raise OutOfSync(f"{size} bytes that answer request {correlation_id}, not asked")
            at = self._begin(size, at + 4)
        if self._frame is None:
            left = bytes(self._scratch[at : self._filled])
            self._scratch[: len(left)] = left
            self._filled = len(left)
            self._rest = self._scratch[self._filled :]

    def _begin(self, size: int, at: int) -> int:
        """Begins a frame whose first bytes are ``at``; gives it out if all are there."""
        end = min(at + size, self._filled)
        if end - at == size:
            self._on_frame(bytearray(self._scratch[at:end]))
            return end
        self._frame = _uncleared(None, size)
        view = memoryview(self._frame)
        view[: end - at] = self._scratch[at:end]
        self._rest = view[end - at :]
        self._filled = 0
        if len(self._rest) >= _LARGE:
            self._wake_up_at(min(len(self._rest), _MOST_AT_ONCE))
        return end

    def _wake_up_at(self, count: int) -> None:
        """Has the kernel wake us up when it has so many bytes; each time costs the same."""
        if self._socket is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            self._low_water_mark = count


def _is_safe_kernel() -> bool:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    if sys.platform != "linux" or found is None:
        return False
    return (int(found[1]), int(found[2])) >= _SAFE_KERNEL
