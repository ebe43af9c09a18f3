"""Runs classes of Kafka's jars of any version, and stops the clocks of processes."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from mm2.demo import processes
from mm2.demo.kafka_jars import KAFKA_VERSION
from tests.support.layout import class_archive, jars


def java_command(
    main: str, *arguments: str, options: Sequence[str] = (), version: str = KAFKA_VERSION
) -> list[str]:
    """The command line that runs a class of Kafka's jars, tuned for a quick start."""
    # Others load many of a broker's classes, too. Java goes on without an archive that is missing.
    archived = f"-XX:SharedArchiveFile={class_archive(version)}"
    return processes.java_command(
        main, *arguments, jars=jars(version), options=[archived, *options]
    )


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
