"""Spark's history server on a folder of event logs: a process of this machine, and its answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import STDOUT
from subprocess import Popen as Process
from typing import Any, Final, Self
from urllib.error import URLError
from urllib.request import urlopen

from flows.spark.installed import java_launcher, spark_home
from flows.spark.jvm import sparks_jars
from mm2.demo.broker_settings import HOST, free_ports
from tests.support.eventually import eventually

_CLASS: Final = "org.apache.spark.deploy.history.HistoryServer"
_OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class HistoryServer:
    """
    Runs from ``with`` to its end.

    Args:
        events: the folder that ``spark.eventLog.dir`` names.
        folder: for its own log.
    """

    def __init__(self, events: Path, folder: Path) -> None:
        (self._port,) = free_ports(1)
        self._log = folder / "history-server.log"
        self._settings = {
            "spark.history.fs.logDirectory": events.as_uri(),
            "spark.history.fs.update.interval": "1s",
            "spark.history.ui.port": str(self._port),
        }

    def __enter__(self) -> Self:
        options = [f"-D{key}={value}" for key, value in self._settings.items()]
        jars = ":".join(map(str, sparks_jars()))
        command = [str(java_launcher()), *_OPTIONS, *options, "-cp", jars, _CLASS]
        env = {**os.environ, "SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": HOST}
        with self._log.open("wb") as output:
            self._process = Process(command, stdout=output, stderr=STDOUT, env=env)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        if kind is not None:
            print(self._log.read_text(errors="replace")[-8000:])  # noqa: T201 - shown by pytest

    def applications(self) -> list[dict[str, Any]]:
        """Those that have ended, once there is one."""
        return eventually(self._applications, until=bool, timeout=120)

    def get(self, path: str) -> Any:
        """What it answers, below the path of its REST interface."""
        with urlopen(f"http://{HOST}:{self._port}/api/v1/{path}", timeout=30) as answer:
            return json.load(answer)

    def _applications(self) -> list[dict[str, Any]]:
        assert self._process.poll() is None, self._log.read_text(errors="replace")
        try:
            found: list[dict[str, Any]] = self.get("applications?status=completed")
        except (URLError, ConnectionError):  # it does not listen yet
            return []
        return found
