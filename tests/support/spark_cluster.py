"""A standalone cluster of Spark for tests: masters and workers as processes of this machine."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import STDOUT
from subprocess import Popen as Process
from typing import Final, Self

import psutil

from flows.spark.installed import archive_of, java_launcher, spark_home
from flows.spark.jvm import sparks_jars
from mm2.demo.broker_node import is_listening
from mm2.demo.broker_settings import HOST, free_ports
from tests.support.eventually import eventually
from tests.support.family import family_of, javas
from tests.support.process import freeze

_PACKAGE: Final = "org.apache.spark.deploy"
_DECOMMISSIONED: Final = "Decommissioning worker "
_LEADS: Final = "elected leader"
QUICK: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Options of a JVM that starts with half of the CPU."""

_ROLES: Final = ("driver", "executor")


class SparkCluster:
    """
    Masters and workers, made on ``with`` and removed at its end.

    Args:
        workers: how many to begin with.
        masters: how many; of several, ``settings`` are to have one lead.
        cores: of each.
        settings: ``spark.*`` keys of master and workers.

    Attributes:
        home: the folder of its files; executors run below ``work`` in it.
    """

    def __init__(
        self,
        *,
        workers: int,
        masters: int = 1,
        cores: int = 1,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._first = workers
        self._cores = cores
        self._ports = free_ports(masters)
        self.home = Path(tempfile.mkdtemp(prefix="spark-cluster-"))
        local = {"spark.local.dir": str(self.home / "local")}
        self._settings = {"spark.ui.enabled": "false", **local, **(settings or {})}
        self._masters: dict[int, tuple[Process[bytes], Path]] = {}
        self._silent: list[Process[bytes]] = []
        self._workers: list[Process[bytes]] = []
        self._started = 0

    def __enter__(self) -> Self:
        for number in range(len(self._ports)):
            self.start_master(number)
        # They take half of the time if they start together.
        for log in [self._start_worker()[1] for _ in range(self._first)]:
            _await_registration(log)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self._workers):
            self.kill_worker(worker)
        for number in list(self._masters):
            self.kill_master(number)
        for master in self._silent:
            _kill(master)
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def url(self) -> str:
        """What ``spark.master`` is to be."""
        return "spark://" + ",".join(f"{HOST}:{port}" for port in self._ports)

    @property
    def application(self) -> dict[str, str]:
        """Settings of a mirror on it."""
        return {"spark.master": self.url, **quick_start()}

    @property
    def workers(self) -> list[Process[bytes]]:
        """The workers that run, in the order in which they came."""
        return list(self._workers)

    def leader(self) -> int:
        """The number of the master that leads, from 0; ValueError while none does."""
        (found,) = [
            number
            for number, (process, log) in self._masters.items()
            if process.poll() is None and _LEADS in log.read_text(errors="replace")
        ]
        return found

    def start_master(self, number: int = 0) -> None:
        """Starts a master, which knows nothing of an earlier one; waits until one leads."""
        listen = ["--host", HOST, "--port", str(self._ports[number]), "--webui-port", "0"]
        self._masters[number] = self._start("master.Master", *listen)
        eventually(lambda: is_listening(self._ports[number]))
        eventually(self.leader, until=lambda _: True)

    def kill_master(self, number: int = 0) -> None:
        """Kills a master; executors run on."""
        master, _ = self._masters.pop(number)
        _kill(master)

    def silence_master(self, number: int) -> None:
        """Stops a master for good, as a machine that hangs: connections to it are taken."""
        master, _ = self._masters.pop(number)
        freeze(master.pid)
        self._silent.append(master)

    def add_worker(self) -> Process[bytes]:
        """Starts a worker; waits until the master has it."""
        worker, log = self._start_worker()
        _await_registration(log)
        return worker

    def _start_worker(self) -> tuple[Process[bytes], Path]:
        offers = ["--cores", str(self._cores), "--memory", f"{self._cores}g", "--host", HOST]
        folders = ["--work-dir", str(self.home / "work"), "--webui-port", "0"]
        worker, log = self._start("worker.Worker", *offers, *folders, self.url)
        self._workers.append(worker)
        return worker, log

    def kill_worker(self, worker: Process[bytes]) -> None:
        """Kills a worker with its executors, as the loss of its machine does."""
        self._workers.remove(worker)
        family = [psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)]
        freeze(*(each.pid for each in family))
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        worker.wait()

    @contextmanager
    def silent(self, worker: Process[bytes]) -> Iterator[list[psutil.Process]]:
        """
        Stops a worker with its executors, as a machine that hangs; at the end they go on.

        Gives all of these processes, of which some may have ended by then.
        """
        family = [psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)]
        freeze(*(each.pid for each in family))
        try:
            yield family
        finally:
            for each in family:
                with suppress(psutil.NoSuchProcess):
                    each.resume()

    def decommission_worker(self, worker: Process[bytes]) -> None:
        """
        What ``decommission-worker.sh`` does: the worker is not to be given anything new.

        Waits until the master knows it. The master would count the executor that leaves for a
        worker that registers before, and start no other one in its place.
        """
        known = self._master_text().count(_DECOMMISSIONED)
        worker.send_signal(signal.SIGPWR)
        eventually(lambda: self._master_text().count(_DECOMMISSIONED) > known)

    def applications(self) -> set[str]:
        """All that have had an executor."""
        return {each.name for each in self.home.glob("work/app-*")}

    def executors(self) -> list[psutil.Process]:
        """The JVMs of executors that run."""
        return [each for worker in self._workers for each in self.executors_of(worker)]

    def executors_of(self, worker: Process[bytes]) -> list[psutil.Process]:
        """Those of one worker."""
        return list(javas(family_of(psutil.Process(worker.pid))))

    def tasks(self) -> int:
        """Executors in which a task runs: Python's daemon has a child for it."""
        return sum(len(_descendants(each)) > 1 for each in self.executors())

    def has_started(self, worker: Process[bytes], pid: int) -> bool:
        """Whether a process runs in an executor of a worker."""
        return pid in {each.pid for each in _descendants(psutil.Process(worker.pid))}

    def _master_text(self) -> str:
        return self._masters[self.leader()][1].read_text(errors="replace")

    def _start(self, role: str, *arguments: str) -> tuple[Process[bytes], Path]:
        self._started += 1
        log = self.home / f"{self._started}.log"
        options = [f"-D{key}={value}" for key, value in self._settings.items()]
        java = [str(java_launcher()), _archived(), *QUICK, "-Xmx256m", *options]
        java += ["-cp", ":".join(map(str, sparks_jars()))]
        # Executors inherit what the worker has, and are not to find the code of mm2 that way.
        # Spark's script, which is left out here, sets the version of Scala.
        scala = {"SPARK_SCALA_VERSION": "2.13"}
        env = {**os.environ, "SPARK_HOME": str(spark_home()), **scala}
        env.pop("PYTHONPATH", None)
        with log.open("wb") as output:
            command = [*java, f"{_PACKAGE}.{role}", *arguments]
            process = Process(command, cwd=self.home, stdout=output, stderr=STDOUT, env=env)
        return process, log


def _kill(process: Process[bytes]) -> None:
    process.kill()
    process.wait()


def quick_start() -> dict[str, str]:
    """Settings with which the JVMs of a driver and its executors start from Spark's archive."""
    quick = " ".join((_archived(), *QUICK))
    # The archive is for a class path that begins with these.
    first = ":".join(map(str, sparks_jars()))
    return {
        **{f"spark.{role}.extraClassPath": first for role in _ROLES},
        **{f"spark.{role}.extraJavaOptions": quick for role in _ROLES},
    }


def _archived() -> str:
    """The option of Java with which it loads the classes of Spark from their archive."""
    launcher = java_launcher()
    assert launcher is not None
    return f"-XX:SharedArchiveFile={archive_of(launcher, sparks_jars())}"


def _await_registration(log: Path) -> None:
    eventually(lambda: "registered with master" in log.read_text(errors="replace"))


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
