"""The mirrors that are compared, as processes whose CPU time and memory can be told apart."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from mm2.demo.broker_settings import LOG4J
from mm2.demo.processes import Watched, java
from tests.harness.bench.measurements import JAVA as JAVA_NAME
from tests.harness.bench.measurements import OURS as OUR_NAME
from tests.support.layout import jars

_DRIVER: Final = Path(sys.executable).with_name("connect-mirror-maker")
_STOP_WITHIN_S: Final = 40.0
_LAST_WORDS: Final = 3_000

JAVA_OPTIONS: Final = (
    "-Xms256M",
    "-Xmx2G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
"""Those of Kafka's own start script: nothing that favours a quick start over speed."""


class Stuck(RuntimeError):
    """A mirror does not get on, or has ended."""


@dataclass(frozen=True, slots=True)
class Peer:
    """
    One of those that are compared.

    Attributes:
        name: as outcomes name it.
        command: the command line that runs a properties file; the folder is for its own files.
        workers: process ids of Spark's workers, whose executors are a part of the mirror.
    """

    name: str
    command: Callable[[Path, Path], list[str]]
    workers: Sequence[int] = ()


class Mirror(Watched):
    """
    A mirror that runs.

    Args:
        command: its command line.
        output: a file for what it writes.
        workers: process ids of Spark's workers, whose executors are a part of it.
    """

    def __init__(self, command: Sequence[str], output: Path, workers: Sequence[int] = ()) -> None:
        super().__init__(command, output)
        self.workers = workers


def _ours(file: Path, _folder: Path) -> list[str]:
    return [str(_DRIVER), str(file)]


def _java(file: Path, folder: Path) -> list[str]:
    log4j = folder / "log4j2.properties"
    log4j.write_text(LOG4J)
    logs = [f"-Dbroker.log={folder / 'java.log'}", f"-Dlog4j2.configurationFile={log4j}"]
    classpath = ":".join(map(str, jars()))
    main = "org.apache.kafka.connect.mirror.MirrorMaker"
    return [java(), *JAVA_OPTIONS, *logs, "-cp", classpath, main, str(file)]


OURS: Final = Peer(OUR_NAME, _ours)
JAVA: Final = Peer(JAVA_NAME, _java)


@contextmanager
def running(peer: Peer, text: str) -> Iterator[Mirror]:
    """
    Runs a mirror with a properties file for as long as the context lasts.

    Raises:
        Stuck: what was waited for within did not come; with the mirror's last words.
    """
    with tempfile.TemporaryDirectory(prefix="mm2-bench-") as name:
        folder = Path(name)
        file = folder / "mirror-maker.properties"
        file.write_text(text)
        process = Mirror(peer.command(file, folder), folder / "mirror.log", peer.workers)
        try:
            yield process
        except Stuck as error:
            log = (folder / "mirror.log").read_text(errors="replace")
            raise Stuck(f"{peer.name}: {error}\n{log[-_LAST_WORDS:]}") from error
        finally:
            process.end(timeout=_STOP_WITHIN_S)


def cpu_s(mirror: Mirror, brokers: Iterable[int]) -> dict[str, float]:
    """CPU seconds used so far: by the brokers, and by each kind of process of the mirror."""
    found = {"brokers": sum(_seconds(psutil.Process(pid)) for pid in brokers)}
    for kind, process in family(mirror):
        with suppress(psutil.NoSuchProcess):
            found[kind] = found.get(kind, 0.0) + _seconds(process)
    return found


def family(mirror: Mirror) -> Iterator[tuple[str, psutil.Process]]:
    """
    The processes of a mirror, each with its kind.

    That is ``driver``, ``JVM``, ``executors`` (their JVMs, on a Spark cluster), or ``tasks``.
    """
    root = psutil.Process(mirror.pid)
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            yield _kind(process, root), process
    yield from executors_of(mirror.workers)


def executors_of(workers: Iterable[int]) -> Iterator[tuple[str, psutil.Process]]:
    """What Spark's workers have started: ``executors``, which are JVMs, and their ``tasks``."""
    for worker in workers:
        for process in psutil.Process(worker).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                yield "executors" if _is_java(process) else "tasks", process


def _is_java(process: psutil.Process) -> bool:
    return "java" in process.name()


def _kind(process: psutil.Process, root: psutil.Process) -> str:
    if _is_java(process):
        return "JVM"
    return "driver" if process.pid == root.pid else "tasks"


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
