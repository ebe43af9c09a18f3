"""Small Java programs of ours, run with Kafka's own classes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from mm2.demo.processes import QUICK_START, java
from tests.support.layout import JARS

_SOURCES: Final = Path(__file__).parent / "java"
_WITHIN_S: Final = 60.0


class Snippet:
    """
    A program that answers questions, one to a run.

    Args:
        name: of its class, and of its file in ``java/``.
        classes: an empty folder for what the compiler makes.
    """

    def __init__(self, name: str, classes: Path) -> None:
        self._name = name
        self._classpath = f"{classes}:{JARS}/*"
        compiler = ["javac", "-nowarn", "-proc:none", "-cp", f"{JARS}/*", "-d", str(classes)]
        subprocess.run([*compiler, str(_SOURCES / f"{name}.java")], check=True, timeout=_WITHIN_S)

    def __call__(self, *words: str) -> list[str]:
        """Runs it; the lines that it prints."""
        command = [java(), *QUICK_START, "-Xmx128m", "-cp", self._classpath, self._name, *words]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_WITHIN_S
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.splitlines()
