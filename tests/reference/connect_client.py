"""A client of Connect's REST interface from Maven's registry, as programs of others use it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from mm2.demo.processes import QUICK_START, KafkaMissing, java
from tests.support.layout import ROOT

_SOURCE: Final = Path(__file__).parent / "java" / "SteersConnect.java"
_JARS: Final = ROOT / "build" / "kafka" / "connect-client" / "libs"
_WITHIN_S: Final = 60.0


class ConnectClient:
    """``org.sourcelab:kafka-connect-client``, one call at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._questions = process.stdin
        self._answers = process.stdout

    def ask(self, method: str, *words: object) -> Any:
        """What a method returns; an error of the client fails, and is "not yet" to who waits."""
        print(json.dumps([method, *words]), file=self._questions, flush=True)
        line = self._answers.readline()
        assert line, "the Java process has ended"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer["found"]

    def state(self, name: str) -> str:
        """A connector's state."""
        return str(self.ask("status", name)["connector"]["state"])

    def is_in(self, name: str, state: str, tasks: int) -> bool:
        """Whether a connector and all its tasks are in a state."""
        status = self.ask("status", name)
        states = [task["state"] for task in status["tasks"]]
        assert (status["connector"]["state"], states) == (state, [state] * tasks)
        return True


@contextmanager
def connect_client(url: str) -> Iterator[ConnectClient]:
    """
    Runs the client against an interface.

    Raises:
        KafkaMissing: it was not fetched.
    """
    if not list(_JARS.glob("*.jar")):
        message = f"There are no jars of a client in {_JARS}: run ./scripts/fetch-kafka --tests."
        raise KafkaMissing(message)
    with TemporaryDirectory(prefix="mm2-connect-client-") as classes:
        compiler = [str(Path(java()).with_name("javac")), "-nowarn", "-proc:none"]
        classpath = ["-cp", f"{classes}:{_JARS}/*"]
        subprocess.run(
            [*compiler, *classpath, "-d", classes, str(_SOURCE)], check=True, timeout=_WITHIN_S
        )
        command = [java(), *QUICK_START, "-Xmx128m", *classpath, "SteersConnect", url]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        ) as process:
            try:
                yield ConnectClient(process)
                assert process.stdin is not None
                process.stdin.close()
                process.wait(timeout=_WITHIN_S)
            finally:
                process.kill()
