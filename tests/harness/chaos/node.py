"""One node of a mirror: a process that can be killed, frozen, restarted and cut off."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import psutil

from tests.harness.chaos.proxy import Link
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror
from tests.support.process import freeze


class Node:
    """
    Starts and ends the same driver again and again; its files tell all runs.

    Args:
        folder: of its own.
        text: its properties file.
        links: to the clusters, by alias.
    """

    def __init__(self, folder: Path, text: str, links: Mapping[str, Link]) -> None:
        folder.mkdir(parents=True)
        self.name = folder.name
        self.links = links
        self._folder = folder
        self._text = text
        self._mirror: Mirror | None = None

    def __repr__(self) -> str:
        return self.name

    @property
    def mirror(self) -> Mirror:
        """The process that runs now."""
        assert self._mirror is not None, f"{self.name} does not run"
        return self._mirror

    @property
    def is_running(self) -> bool:
        """Whether it has been started and not ended since."""
        return self._mirror is not None

    def start(self) -> None:
        """Starts the driver, with a log of its own."""
        self._mirror = Mirror(self._folder, self._text).__enter__()

    def wait_until_warm(self) -> None:
        """Returns when it could run tasks at once."""
        eventually(lambda: '"spark.started"' in self.mirror.text(), timeout=2 * PATIENCE_S)

    def kill(self, *, whole: bool) -> None:
        """SIGKILL, to the driver alone or to all that it has started, as when a machine dies."""
        mirror = self.mirror
        relatives = mirror.family()
        mirror.kill()
        if whole:
            for relative in relatives:
                with contextlib.suppress(psutil.NoSuchProcess):
                    relative.kill()
        self._ended()

    def stop(self) -> None:
        """SIGTERM; fails unless it ends well."""
        status = self.mirror.stop(PATIENCE_S)
        self._ended()
        assert status == 0, f"{self.name} ended with {status}"

    def pause(self) -> None:
        """SIGSTOP to it and all that it has started."""
        freeze(self.mirror.process.pid, *(each.pid for each in self.mirror.family()))

    def resume(self) -> None:
        """SIGCONT."""
        for process in [psutil.Process(self.mirror.process.pid), *self.mirror.family()]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    def end(self) -> None:
        """Leaves nothing behind, however things stand."""
        for link in self.links.values():
            link.heal()
        if self._mirror:
            self._mirror.__exit__(None)
            self._mirror = None

    def logs(self) -> list[str]:
        """What its runs have printed, oldest first."""
        files = sorted(self._folder.glob("*.log"), key=lambda file: file.stat().st_mtime_ns)
        return [file.read_text(errors="replace") for file in files]

    def _ended(self) -> None:
        self.mirror.wait_gone()
        self._mirror = None
