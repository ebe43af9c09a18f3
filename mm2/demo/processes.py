"""Processes that never outlive the one who started them, those of Java above all."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

QUICK_START: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    "-Djava.awt.headless=true",
)

_WATCHDOG: Final = 'read _; kill -9 "$1"'
"""Reads from a pipe that nobody writes to: it ends when our process does, however that ends."""


class KafkaMissing(RuntimeError):
    """What a real broker needs is not installed; the message says what to do."""


def java() -> str:
    """
    The path of Java's launcher.

    Raises:
        KafkaMissing: there is none.
    """
    path = shutil.which("java")
    if path is None:
        raise KafkaMissing("Java is needed: install a JDK 17 or 21 (openjdk-17-jdk).")
    return path


def java_command(
    main: str, *arguments: str, jars: Sequence[Path], options: Sequence[str] = ()
) -> list[str]:
    """The command line that runs a class of Kafka's jars, tuned for a quick start."""
    classpath = ":".join(map(str, jars))
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
