"""
A process that has imported all that tasks need, from which Spark's Python daemon is forked.

Importing takes a new Python process a second or two of CPU, and the driver has imported the same:
so it forks itself once, before it has threads, connections or an event loop. When Spark starts its
daemon (``flows.spark.daemon``), that one hands its streams over to a fork of the task forker and
waits for it to end. All processes share the memory of their code.

Only for a local Spark; elsewhere, or when there is no task forker, the daemon imports by itself.
"""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from mm2.core.json_text import read_json

VARIABLE: Final = "MM2_TASK_FORKER"
"""The environment variable that names the socket."""

_LENGTH: Final = struct.Struct(">I")
_STREAMS: Final = (0, 1, 2)


class TaskForker:
    """
    The socket at which forks are asked for, and, once ``fork`` was called, the process behind it.

    The process ends when this one does, however that happens.
    """

    def __init__(self) -> None:
        # Of this user alone: a process that can connect can run code as this user.
        self._folder = Path(tempfile.mkdtemp(prefix="mm2-task-forker-"))
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self._folder / "socket"))
        self._listener.listen()
        self._lifeline: socket.socket | None = None
        self._pid = 0

    @property
    def environment(self) -> dict[str, str]:
        """What Spark's JVM needs in its environment, so that its daemon finds the socket."""
        return {VARIABLE: str(self._folder / "socket")}

    def fork(self, *unwanted: IO[bytes] | None) -> None:
        """
        Forks; call it when everything is imported, and no thread runs yet.

        Args:
            unwanted: open streams that must not stay open in the new process.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        gc.freeze()
        ours, its = socket.socketpair()
        self._pid = os.fork()
        if not self._pid:
            for each in (ours, *unwanted):
                if each is not None:
                    each.close()
            _serve(self._listener, its, self._folder)
        its.close()
        self._listener.close()
        self._lifeline = ours
        gc.unfreeze()

    def end(self) -> None:
        """Ends the process; what it has forked ends with Spark."""
        if self._lifeline is not None:
            self._lifeline.close()
            os.kill(self._pid, signal.SIGTERM)  # it may still compile
            os.waitpid(self._pid, 0)
            self._lifeline = None
            shutil.rmtree(self._folder, ignore_errors=True)
        elif not self._pid:
            self._listener.close()
            shutil.rmtree(self._folder, ignore_errors=True)


def _serve(listener: socket.socket, lifeline: socket.socket, folder: Path) -> NoReturn:
    """The forker's own life: waits, and forks."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        from mm2.kafka.wire.compiled import compile_now  # noqa: PLC0415 - Spark's daemon does not

        compile_now()  # while Spark's JVM starts; tasks would have to do it each for itself
        gc.freeze()
        gc.enable()  # whoever starts it may have switched it off for its imports
        _fork_daemons(listener, lifeline)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def _fork_daemons(listener: socket.socket, lifeline: socket.socket) -> None:
    poller = select.poll()
    for each in (listener, lifeline):
        poller.register(each, select.POLLIN)
    while lifeline.fileno() not in dict(poller.poll()):
        client, _ = listener.accept()
        if not os.fork():
            listener.close()
            lifeline.close()
            _become_daemon(client)
        client.close()


def _become_daemon(client: socket.socket) -> NoReturn:
    """Takes over from Spark's daemon, which sees at its end of the socket when this one ends."""
    status = 1
    try:
        length, streams, _, _ = socket.recv_fds(client, _LENGTH.size, len(_STREAMS))
        with client.makefile("rb") as stream:
            environment: Any = read_json(stream.read(*_LENGTH.unpack(length)))
        for standard, given in zip(_STREAMS, streams, strict=True):
            os.dup2(given, standard)
            os.close(given)
        sys.argv = ["pyspark.daemon"]
        os.environ.clear()
        os.environ.update(environment)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        from pyspark.daemon import manager  # noqa: PLC0415 - imported long since

        manager()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        os._exit(status)


def hand_over() -> bool:
    """
    Has a fork of the task forker do this process's work, and returns when it is done.

    Returns:
        False if there is no task forker: then it is not done.
    """
    path = os.environ.get(VARIABLE)
    if path is None:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as forker:
        try:
            forker.connect(path)
        except OSError:
            return False
        environment = json.dumps(dict(os.environ)).encode()
        socket.send_fds(forker, [_LENGTH.pack(len(environment))], _STREAMS)
        forker.sendall(environment)
        # Spark must see an end of the streams when the fork ends, not when this process does.
        for stream in _STREAMS:
            os.close(stream)
        forker.recv(1)
    return True
