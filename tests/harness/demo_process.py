"""
The demo as a process: what it says, how it ends, and what it leaves behind.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.support.eventually import eventually
from tests.support.layout import ROOT


class DemoRun:
    """
    A run of the demo, and all processes that ever belonged to it.

    Args:
        output: where its words go.
        command: what is run; the place of the mirror's log is added.
        cwd: where it is run.
    """

    def __init__(self, output: Path, command: Sequence[str], cwd: Path) -> None:
        self._output = output
        log = ["--log", str(output.with_suffix(".mirror.log"))]
        with output.open("wb") as stream:
            self.process = subprocess.Popen(
                [*command, *log], stdout=stream, stderr=subprocess.STDOUT, cwd=cwd
            )
        self._family: dict[int, psutil.Process] = {}

    def text(self) -> str:
        """What it has said; and a look at the processes it has now."""
        with contextlib.suppress(psutil.NoSuchProcess):
            found = psutil.Process(self.process.pid).children(recursive=True)
            self._family |= {each.pid: each for each in found}
        return self._output.read_text(errors="replace")

    def wait_for(self, words: str, timeout: float) -> str:
        """Waits until it says something; returns all it has said."""
        return eventually(
            self.text,
            until=lambda text: words in text or self.process.poll() is not None,
            timeout=timeout,
        )

    def wait(self, timeout: float) -> int:
        """Waits for its end; returns the exit status."""
        eventually(lambda: self.text() and self.process.poll() is not None, timeout=timeout)
        return int(self.process.returncode)

    def left(self) -> list[str]:
        """The processes that it has left behind; who was killed has a moment to end."""
        with contextlib.suppress(AssertionError):
            eventually(lambda: not self._running())
        return list(self._running().values())

    def close(self) -> None:
        """Ends it and whatever it has left."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()
        self.process.wait()
        for each in self._running():
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()

    def _running(self) -> dict[psutil.Process, str]:
        """Those that have not ended, and the beginnings of their commands."""
        found = {}
        for each in self._family.values():
            with contextlib.suppress(psutil.NoSuchProcess):
                if each.is_running() and each.status() != psutil.STATUS_ZOMBIE:
                    found[each] = " ".join(each.cmdline())[:80]
        return found


@contextmanager
def demo_run(folder: Path, command: Sequence[str], cwd: Path = ROOT) -> Iterator[DemoRun]:
    """Runs the demo for as long as the context lasts."""
    run = DemoRun(folder / "demo.out", command, cwd)
    try:
        yield run
    finally:
        run.close()
