"""
A Java process that never outlives the one who started it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.layout import KAFKA_VERSION, jars, java

QUICK_START = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    "-Djava.awt.headless=true",
)

_WATCHDOG = 'read _; kill -9 "$1"'
"""Reads from a pipe that nobody writes to: it ends when our process does, however that ends."""


def java_command(
    main: str, *arguments: str, options: Sequence[str] = (), version: str = KAFKA_VERSION
) -> list[str]:
    """The command line that runs a class of Kafka's jars, tuned for a quick start."""
    classpath = ":".join(map(str, jars(version)))
    return [java(), *QUICK_START, *options, "-cp", classpath, main, *arguments]


class Watched:
    """
    One started process: to be signalled, and stopped for sure.

    It has a session of its own, so that Ctrl-C in a terminal reaches us and not it.
    """

    def __init__(self, command: Sequence[str], output: Path) -> None:
        with output.open("ab") as stream:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHDOG, "watchdog", str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal; a process that is gone is fine."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, number)

    def freeze(self) -> None:
        """Stops the process's clock, and returns when it stands still."""
        if self.status is None:
            freeze(self.pid)

    def end(self, *, timeout: float) -> None:
        """Asks the process to end, and kills it after ``timeout`` seconds (0: at once)."""
        if timeout:
            self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._dismiss_watchdog()

    def _dismiss_watchdog(self) -> None:
        self._watchdog.kill()
        self._watchdog.wait()
        if self._watchdog.stdin:
            self._watchdog.stdin.close()


def freeze(*pids: int) -> None:
    """
    Stops the clocks of processes, and returns when all of them stand still, or have ended.

    The signal alone does not do that: on a busy machine the other threads of a process may go on
    until the one that takes the signal has its turn.
    """
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        while not _stands_still(pid):
            time.sleep(0.001)


def _stands_still(pid: int) -> bool:
    """Whether no thread will run: each is stopped, dead, or in the kernel, to be stopped there."""
    threads = Path("/proc", str(pid), "task").glob("*/stat")
    try:
        return all(each.read_text().rpartition(") ")[2][0] in "TtZXD" for each in threads)
    except (OSError, IndexError):  # One has ended meanwhile.
        return False
