"""
Runs mm2's driver, or Java's, as a user would: a process with a properties file.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Self

import psutil
from confluent_kafka import Consumer, TopicPartition

from mm2.protocol.progress_records import decode_progress, is_of_bundle
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.family import family_of, javas
from tests.support.process import java_command

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(sys.executable).with_name("connect-mirror-maker")

QUICK = {
    "replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "offset.storage.partitions": "5",
    "refresh.topics.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.topic.configs.interval.seconds": "1",
    "sync.topic.acls.enabled": "false",
    "tasks.max": "2",
}
"""For clusters of one broker, and tests that do not want to wait for minutes."""


def properties(clusters: Mapping[str, str], settings: Mapping[str, str]) -> str:
    """A properties file for clusters given as alias and bootstrap servers."""
    lines = {"clusters": ", ".join(clusters)}
    lines |= {f"{alias}.bootstrap.servers": servers for alias, servers in clusters.items()}
    return lines_of({**lines, **QUICK, **settings})


def lines_of(settings: Mapping[str, str]) -> str:
    """Settings as lines of a properties file."""
    return "".join(f"{key} = {value}\n" for key, value in settings.items())


def one_way(
    source: Cluster, target: Cluster, topics: str, settings: Mapping[str, str] | None = None
) -> str:
    """A properties file for one flow, of clusters by their own names; nothing goes back."""
    there, back = f"{source.name}->{target.name}", f"{target.name}->{source.name}"
    flow = {f"{there}.enabled": "true", f"{back}.emit.heartbeats.enabled": "false"}
    clusters = {each.name: each.bootstrap for each in (source, target)}
    return properties(clusters, {**flow, "topics": topics, **(settings or {})})


class Mirror:
    """
    One run of a driver; a context manager that leaves no process behind.

    Args:
        folder: for the properties file and the log.
        text: the properties.
        command: what runs the file; mm2's driver unless given.

    Attributes:
        spark: what files that name no ``spark.master`` are given; a fixture sets it.
        work: the folder of the executors of that cluster.
    """

    spark: ClassVar[Mapping[str, str]] = {}
    work: ClassVar[Path | None] = None

    def __init__(
        self,
        folder: Path,
        text: str,
        *arguments: str,
        command: Callable[[Path], list[str]] | None = None,
    ) -> None:
        number = len(list(folder.glob("mirror-*.properties")))
        self.file = folder / f"mirror-{number}.properties"
        self.file.write_text(text if "spark.master" in text else text + lines_of(self.spark))
        self.log = folder / f"mirror-{number}.log"
        self._command = command or (lambda file: [str(DRIVER), str(file), *arguments])
        self._process: subprocess.Popen[bytes] | None = None
        self._family: dict[int, psutil.Process] = {}

    def __enter__(self) -> Self:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command(self.file),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "NO_COLOR": "1"},
            )
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for relative in self.family():
            with contextlib.suppress(psutil.NoSuchProcess):
                relative.kill()
        self.process.kill()
        self.process.wait()
        if kind is not None:
            print(f"--- {self.log.name}\n{self.text()[-8000:]}")  # noqa: T201 - shown by pytest

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The driver's process."""
        assert self._process is not None
        return self._process

    def text(self) -> str:
        """What it has printed."""
        return self.log.read_text(errors="replace")

    def text_of_tasks(self) -> str:
        """What tasks have logged, also while the target is away, by which a cluster tells it."""
        if self.work is None:
            return self.text()
        newest = max(self.work.glob("app-*"))
        return "".join(each.read_text(errors="replace") for each in newest.glob("*/stderr"))

    def family(self) -> list[psutil.Process]:
        """All processes that it started and that still run, children of children too."""
        try:
            found = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            found = []
        self._family |= {process.pid: process for process in found}
        return [process for process in self._family.values() if _is_running(process)]

    def jvm(self) -> psutil.Process:
        """Spark's JVM, once it runs; what it forks has its name for a moment."""

        def found() -> psutil.Process:
            (jvm,) = javas(family_of(psutil.Process(self.process.pid)))
            return jvm

        return eventually(found, until=lambda _: True)

    def stop(self, timeout: float = PATIENCE_S) -> int:
        """SIGTERM; returns the exit status."""
        self.family()
        self.process.terminate()
        return self.process.wait(timeout)

    def kill(self) -> None:
        """SIGKILL to the driver alone."""
        self.family()
        self.process.kill()
        self.process.wait()

    def wait_gone(self, timeout: float = PATIENCE_S) -> None:
        """Fails if a process that it started is still there after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while left := self.family():
            if time.monotonic() > deadline:
                raise AssertionError(f"still running: {[p.cmdline()[:6] for p in left]}")
            time.sleep(0.05)


def java_mirror(file: Path) -> list[str]:
    """
    The command line of Java's MirrorMaker, for a file that it may write to.

    Java looks for its plug-ins where they are told of: it would look into all jars, for a third of
    the CPU of a start.
    """
    with file.open("a") as text:
        text.write("plugin.discovery = service_load\n")
    return java_command(
        "org.apache.kafka.connect.mirror.MirrorMaker", str(file), options=["-Xmx512m"]
    )


def worker_pids(bootstrap: str, source: str, since_ms: int) -> dict[int, int]:
    """Process ids of the workers that run the bundles, by bundle, as reported since a time."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none"})
    where = TopicPartition(f"mm2-progress.{source}.internal", 0)
    _, end = consumer.get_watermark_offsets(where, timeout=60)
    where.offset = max(0, end - 50)
    consumer.assign([where])
    found: dict[int, int] = {}
    deadline = time.monotonic() + PATIENCE_S
    while where.offset < end:
        assert time.monotonic() < deadline, f"{where} is not read to {end}"
        for message in consumer.consume(50, timeout=1):
            if is_of_bundle(message.key()):
                progress = decode_progress(message.value())
                if progress.time_ms >= since_ms:
                    found[progress.bundle] = progress.pid
            where.offset = (message.offset() or 0) + 1
    consumer.close()
    return found


def _is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
