"""Java's own configuration classes, asked from here: one process for many questions."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from mm2.demo.processes import QUICK_START, java
from tests.support.layout import JARS, ROOT

SOURCES = ROOT / "tests" / "reference" / "java"
_MIRROR = "org.apache.kafka.connect.mirror"


def compiled(name: str, into: Path) -> list[str]:
    """Compiles one of our Java sources, and returns the command that runs it."""
    classpath = f"{JARS}/*"
    source = SOURCES / f"{name}.java"
    subprocess.run(
        ["javac", "-proc:none", "-nowarn", "-d", str(into), "-cp", classpath, str(source)],
        check=True,
        timeout=60,
    )
    return [java(), *QUICK_START, "-cp", f"{into}:{classpath}", f"{_MIRROR}.{name}"]


class JavaConfig:
    """A running ConfigDump: question in, answer out."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, kind: str, data: bytes) -> dict[str, object]:
        """Asks about the bytes of one properties file; see ConfigDump.java for the kinds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(kind.encode() + struct.pack(">i", len(data)) + data)
        self._process.stdin.flush()
        return cast("dict[str, object]", json.loads(self._process.stdout.readline()))


@contextmanager
def java_config(into: Path, environment: Mapping[str, str]) -> Iterator[JavaConfig]:
    """Runs Java with these variables beside the usual ones."""
    with subprocess.Popen(
        compiled("ConfigDump", into),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    ) as process:
        try:
            yield JavaConfig(process)
        finally:
            process.kill()
