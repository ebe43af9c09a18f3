"""
Records through Spark's SQL, in the middle of the Spark task that copies them.

Such a task is a chain of three: a Python worker that copies, expressions that Spark evaluates, and
a second Python worker. A row that the first one sends arrives at the second, which hands it back
over a socket of this machine. One row has all records of a request, so that it is known what
becomes of each of them, and nothing depends on how Spark divides rows.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import pickle
import queue
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

_HEAD: Final = struct.Struct(">QQ")
"""Before each answer: which request it is for, and how long it is."""

_TICK_S: Final = 1.0
"""So often a row is sent that says nothing: a worker whose Spark task is gone then ends."""

_MOST_OF_A_PATH: Final = 80
"""Bytes of the folder for temporary files; a socket's whole path may have 107."""

BUFFER: Final = 64
"""Bytes that Spark's buffers hold."""

_PUSH: Final = b"-" * (2 * BUFFER)
"""What comes last of each batch of rows, whose end would wait in such a buffer otherwise."""

_Request: TypeAlias = tuple[int, pa.StructArray]

LITERALS: Final = "mm2_literals"
"""The column of texts that expressions read, and that are not to stand in them."""

CHAIN: ContextVar[SqlChain | None] = ContextVar("CHAIN", default=None)
"""The chain that the work runs in."""


class SqlChain:
    """
    The side of the worker that copies.

    Args:
        record: what expressions see of a record.
        literals: texts that they read.
    """

    def __init__(self, record: pa.StructType, literals: Sequence[str] = ()) -> None:
        self.record = record
        self._literals = literals
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._waiting: dict[int, Future[pa.Array]] = {}
        self._numbers = itertools.count()
        # Of this user alone: who can connect says what becomes of records.
        self._folder = Path(tempfile.mkdtemp(prefix="mm2-sql-", dir=_short_folder()))
        self._path = str(self._folder / "socket")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self._path)
        self._listener.listen()

    async def evaluate(self, records: pa.StructArray) -> pa.Array:
        """What Spark makes of records: an item for each."""
        number, answer = next(self._numbers), Future[Any]()
        answer.set_running_or_notify_cancel()  # who does not wait any longer is answered, too
        self._waiting[number] = answer
        self._requests.put((number, records))
        return await asyncio.wrap_future(answer)

    def run(self, work: Callable[[], Any]) -> Iterator[pa.RecordBatch]:
        """The rows for Spark, while a thread does the work; the last one has its result."""
        done: Future[Any] = Future()
        for name, target in (("answers", self._receive), ("work", lambda: self._work(work, done))):
            threading.Thread(target=target, name=f"sql-{name}", daemon=True).start()
        try:
            yield from self._sent()
            yield self._rows(result=pickle.dumps(done.result()))
        finally:
            # Closing alone does not wake who waits for a connection.
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _work(self, work: Callable[[], Any], done: Future[Any]) -> None:
        CHAIN.set(self)
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where Spark sees it
            done.set_exception(error)
        self._requests.put(None)

    def _sent(self) -> Iterator[pa.RecordBatch]:
        # The other worker connects, and nothing is left of the socket if this one is killed.
        yield self._rows()
        while True:
            try:
                request = self._requests.get(timeout=_TICK_S)
            except queue.Empty:
                yield self._rows(count=1)
                continue
            if request is None:
                return
            yield self._rows(*request)

    def _rows(
        self,
        number: int | None = None,
        records: pa.StructArray | None = None,
        *,
        result: bytes | None = None,
        count: int = 2,
    ) -> pa.RecordBatch:
        """A row, and others that say nothing: Spark passes a row on when it has the next."""
        records = pa.array([], self.record) if records is None else records
        nothing = [None] * (count - 1)
        return pa.record_batch(
            {
                "number": pa.array([number, *nothing], pa.int64()),
                "path": pa.array([self._path] * count, pa.string()),
                "result": pa.array([result, *nothing], pa.binary()),
                "records": pa.ListArray.from_arrays([0, *[len(records)] * count], records),
                LITERALS: pa.array([self._literals] * count, pa.list_(pa.string())),
                "push": pa.array([*nothing, _PUSH], pa.binary()),
            }
        )

    def _receive(self) -> None:
        """Gives answers to those that wait, until the other worker ends."""
        with suppress(OSError):  # it never came
            connection, _ = self._listener.accept()
            shutil.rmtree(self._folder, ignore_errors=True)
            with connection, connection.makefile("rb") as stream:
                while head := stream.read(_HEAD.size):
                    number, size = _HEAD.unpack(head)
                    with pa.ipc.open_stream(stream.read(size)) as reader:
                        answer = reader.read_next_batch().column(0)
                    self._waiting.pop(number).set_result(answer)


def answered(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The second worker: hands each answer back, and passes the result on."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        is_connected = False
        for batch in rows:
            number, path, result, made = (batch.column(at) for at in range(4))
            for row in range(len(batch)):
                if result[row].is_valid:
                    yield pa.record_batch({"result": result.slice(row, 1)})
                is_asked = number[row].is_valid
                if not is_connected:
                    is_connected = _connect(connection, path[row].as_py(), is_asked=is_asked)
                if not is_asked:
                    continue
                answer = _encoded(made.slice(row, 1).flatten())
                connection.sendall(_HEAD.pack(number[row].as_py(), answer.size))
                connection.sendall(answer)


def _connect(connection: socket.socket, path: str, *, is_asked: bool) -> bool:
    """Says if it could; it must where an answer is due: who asks for nothing may have ended."""
    try:
        connection.connect(path)
    except OSError:
        if is_asked:
            raise
        return False
    return True


def _short_folder() -> str | None:
    """Where the path of a socket has room; None is the usual folder."""
    return "/tmp" if len(os.fsencode(tempfile.gettempdir())) > _MOST_OF_A_PATH else None  # noqa: S108


def _encoded(column: pa.Array) -> pa.Buffer:
    batch, data = pa.record_batch({"made": column}), pa.BufferOutputStream()
    with pa.ipc.new_stream(data, batch.schema) as writer:
        writer.write_batch(batch)
    return data.getvalue()
