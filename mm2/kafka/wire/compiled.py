"""
The records of batches rewritten as one section, by code that is compiled when it is first needed.

That takes half a second; some seconds when it was never compiled for this processor. It is done in
a thread, and until it is done records are to be re-encoded in another way. Where tasks are forked,
it is done before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

import structlog

log = structlog.get_logger()

COMPILING: Final = "compile"
"""The name of threads that do it."""


class NotCarried(ValueError):
    """The compiled code is not there yet, or cannot read these records."""


class RecordsSection(NamedTuple):
    """
    The records section of a batch with offsets from 0, not compressed.

    Attributes:
        offsets: the offset that each record had.
        base_timestamp: what the records' timestamp deltas are added to, in ms.
        max_timestamp: the largest of the records', in ms.
    """

    payload: memoryview
    offsets: Sequence[int]
    base_timestamp: int
    max_timestamp: int


class Compiled:
    """
    Compiles once, in the background. Python waits for its end before it exits.

    Args:
        module: compiles when it is imported.
        function: of the module.
    """

    def __init__(self, module: str = "mm2.kafka.wire.kernel", function: str = "rewrite") -> None:
        self._module = module
        self._name = function
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._function: Callable[..., Any] | None = None

    def get(self) -> Callable[..., Any] | None:
        """What is compiled, whose arrays have no types here; None until it is."""
        if self._thread is None:
            self._begin()
        return self._function

    def wait(self) -> None:
        """Waits until it is compiled, or cannot be."""
        self._begin().join()

    def _begin(self) -> threading.Thread:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._compile, name=COMPILING)
                self._thread.start()
            return self._thread

    def _compile(self) -> None:
        # NumPy would start a thread for each core, for algebra that nobody does here.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            # It takes half a second.
            self._function = getattr(import_module(self._module), self._name)
        except Exception as error:  # noqa: BLE001 - whatever it is, there is a slower way
            log.warning("records.not_compiled", error=str(error))


_compiled: Final = Compiled()
_divide: Final = Compiled("mm2.kafka.wire.partition_kernel", "divide")


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


def compile_division(*, wait: bool = False) -> None:
    """Has what divides records be compiled, which few need."""
    if wait:
        _divide.wait()
    else:
        _divide.get()


def divide(
    batches: bytes | memoryview, position: int, *, partitions: int, keyless: int, most: int
) -> list[tuple[int, RecordsSection]]:
    """
    The records of uncompressed batches of format v2 by the partitions that their keys lead to.

    Those of a partition stay in their order; one may have several sections.

    Args:
        position: offset of the first record that counts.
        partitions: how many there are.
        keyless: the partition of records without a key.
        most: bytes of a section; a larger record has one of its own.

    Raises:
        NotCarried: they must be divided in another way.
    """
    if (machine_code := _divide.get()) is None:
        raise NotCarried("the code for it is not compiled yet")
    count, payload, offsets, rows = machine_code(
        batches, position, partitions=partitions, keyless=keyless, most=most
    )
    if count < 0:
        raise NotCarried("the records cannot be read")
    return [
        (at, RecordsSection(payload[start:stop].data, offsets[first:last].data, base, largest))
        for at, start, stop, first, last, base, largest in rows.tolist()
    ]
