"""A Java process that answers questions with the classes of Java MirrorMaker."""

from __future__ import annotations

import atexit
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, settings

from mm2.demo.processes import QUICK_START, java
from tests.support.layout import jars

_FOLDER = Path(__file__).parent / "java"
_SOURCES = [str(_FOLDER / name) for name in ("CoreAnswers.java", "TransformAnswers.java")]
_MAIN = "org.apache.kafka.connect.mirror.CoreAnswers"


def many(examples: int) -> settings:
    """As many examples as given, in whatever time they take."""
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )


class Java:
    """Asks one question at a time: a line of JSON there, a line of JSON back."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._questions = process.stdin
        self._answers = process.stdout

    def ask(self, about: str, question: Mapping[str, object]) -> Any:
        print(json.dumps({"about": about, **question}), file=self._questions, flush=True)
        line = self._answers.readline()
        assert line, "the Java process has ended"
        return json.loads(line)


@contextmanager
def running_java() -> Iterator[Java]:
    """Runs the Java side."""
    classpath = ":".join(map(str, [Path(_classes().name), *jars()]))
    command = [java(), *QUICK_START, "-Xmx128m", "-cp", classpath, _MAIN]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            yield Java(process)
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=60)
        finally:
            process.kill()


@cache
def _classes() -> TemporaryDirectory[str]:
    """Compiles the Java side, once for all tests."""
    folder = TemporaryDirectory(prefix="mm2-core-java-")
    atexit.register(folder.cleanup)
    classpath = ":".join(map(str, jars()))
    compiler = str(Path(java()).with_name("javac"))
    subprocess.run(
        [compiler, "-nowarn", "-proc:none", "-cp", classpath, "-d", folder.name, *_SOURCES],
        check=True,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    return folder
