"""
The records of batches rewritten as one section, by code that is compiled when it is first needed.

That takes half a second; some seconds when it was never compiled for this processor. It is done in
a thread, and until it is done records are to be re-encoded in another way. Where tasks are forked,
it is done before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import structlog

log = structlog.get_logger()

_Rewrite = Callable[[bytes | memoryview, int], tuple[int, Any, Any, int, int]]
"""``mm2.kafka.wire.kernel.rewrite``, whose arrays have no types here."""


class NotCarried(ValueError):
    """The compiled code is not there yet, or cannot read these records."""


class RecordsSection(NamedTuple):
    """
    The records section of a batch with offsets from 0, not compressed.

    Attributes:
        payload: the records' bytes.
        offsets: the offset that each record had.
        base_timestamp: what the records' timestamp deltas are added to, in ms.
        max_timestamp: the largest of the records', in ms.
    """

    payload: memoryview
    offsets: list[int]
    base_timestamp: int
    max_timestamp: int


class Compiled:
    """Compiles once, in the background. Python waits for its end before it exits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._rewrite: _Rewrite | None = None

    def get(self) -> _Rewrite | None:
        """What is compiled; None until it is."""
        if self._thread is None:
            self._begin()
        return self._rewrite

    def wait(self) -> None:
        """Waits until it is compiled, or cannot be."""
        self._begin().join()

    def _begin(self) -> threading.Thread:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._compile, name="compile")
                self._thread.start()
            return self._thread

    def _compile(self) -> None:
        # NumPy would start a thread for each core, for algebra that nobody does here.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            from mm2.kafka.wire import kernel  # noqa: PLC0415 - takes half a second
        except Exception as error:  # noqa: BLE001 - whatever it is, there is a slower way
            log.warning("records.not_compiled", error=str(error))
        else:
            self._rewrite = kernel.rewrite


_compiled: Final = Compiled()


def compile_now() -> None:
    """Waits until the code is compiled."""
    _compiled.wait()


def is_compiled() -> bool:
    """Whether records are rewritten quickly by now; if not, it is seen to."""
    return _compiled.get() is not None


def reencode(batches: bytes | memoryview, position: int) -> RecordsSection | None:
    """
    The records of uncompressed batches of format v2 from ``position`` on; None if there is none.

    Keys, values and headers stay as they are and are not looked at. Gaps between offsets vanish,
    append times become timestamps.

    Raises:
        NotCarried: the records must be re-encoded in another way.
    """
    rewrite = _compiled.get()
    if rewrite is None:
        raise NotCarried("the code for it is not compiled yet")
    count, payload, offsets, first, most = rewrite(batches, position)
    if count < 0:
        raise NotCarried("the records cannot be read")
    return RecordsSection(payload.data, offsets.tolist(), first, most) if count else None
