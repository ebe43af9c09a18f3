"""``mm2 demo``: two real clusters, a mirror between them, traffic, numbers and proof."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from mm2.demo.demo_clusters import (
    PORTS,
    DemoCluster,
    clusters,
    configuration,
    other_ports,
    taken_ports,
)
from mm2.demo.demo_session import Failed, Session, flows_of
from mm2.demo.demo_view import View, table
from mm2.demo.kafka_jars import KAFKA_VERSION, fetch_jars, find_jars
from mm2.demo.processes import KafkaMissing, Watched

DRIVER: Final = Path(sys.executable).with_name("connect-mirror-maker")

_EXIT_DIFFERS: Final = 1
_EXIT_INTERRUPTED: Final = 130
_STOP_WITHIN_S: Final = 40.0
_SHOWN_LINES: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """
    What is shown.

    Attributes:
        once: whether it ends when both copies are proved.
        clusters_only: whether there is neither a mirror nor traffic.
        free_ports: whether the configuration's ports are left alone.
        seconds: of traffic, with ``once``.
        rate: records a second into each cluster.
        config: of the mirror.
        log: where the mirror logs to.
        kafka_home: a Kafka that is there already.
    """

    once: bool
    clusters_only: bool
    free_ports: bool
    seconds: float
    rate: int
    config: Path
    log: Path
    kafka_home: Path | None = None


def run_demo(options: DemoOptions) -> int:
    """Runs the demo; returns the exit status."""
    console = Console()
    try:
        return asyncio.run(_Demo(options, console).run())
    except (Failed, KafkaMissing) as error:
        console.print(f"[red]FAILED[/]: {error}", soft_wrap=True, highlight=False)
        return _EXIT_DIFFERS


class _Demo:
    """
    The order of things; whatever was started is stopped in the end, last first.

    Args:
        options: the command line's.
        console: where everything is said.
    """

    def __init__(self, options: DemoOptions, console: Console) -> None:
        self._options = options
        self._began = time.monotonic()
        self._flows = flows_of(("A", "B"))
        self._view = View(console=console, flows=self._flows)
        self._stop = asyncio.Event()

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop.set)
        try:
            async with AsyncExitStack() as stack:
                await self._show(stack)
        except BaseExceptionGroup as group:
            raise _reason(group) from group
        self._view.say("Everything is stopped.")
        return self._status()

    async def _show(self, stack: AsyncExitStack) -> None:
        ports = self._ports()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mm2-demo-")))
        jars = await asyncio.to_thread(self._jars)
        bootstraps = await self._start_clusters(ports, jars, stack)
        if self._options.clusters_only:
            self._view.say("The clusters run, without a mirror. Ctrl-C ends them.")
            await self._stop.wait()
        if self._stop.is_set():
            return
        config = configuration(self._options.config, ports, folder)
        driver = self._start_driver(config, stack)
        self._view.log = self._options.log
        session = Session(
            bootstraps,
            driver,
            self._view,
            began=self._began,
            rate=self._options.rate,
            stop=self._stop,
        )
        await asyncio.to_thread(session.prepare)
        try:
            with self._view:
                await session.run(self._options.seconds if self._options.once else None)
        except BaseExceptionGroup:
            self._show_log()
            raise
        self._conclude()

    def _ports(self) -> dict[str, int]:
        taken = taken_ports()
        if not taken and not self._options.free_ports:
            return dict(PORTS)
        ports = other_ports()
        if taken and not self._options.free_ports:
            busy = " and ".join(map(str, taken))
            self._view.say(f"Port {busy} is taken; using {', '.join(map(str, ports.values()))}.")
        return ports

    def _jars(self) -> list[Path]:
        if found := find_jars(self._options.kafka_home):
            return found
        with self._view.console.status(f"Maven fetches Kafka {KAFKA_VERSION} ..."):
            found = fetch_jars()
        self._began = time.monotonic()
        return found

    async def _start_clusters(
        self, ports: Mapping[str, int], jars: Sequence[Path], stack: AsyncExitStack
    ) -> dict[str, str]:
        pair = clusters(ports, jars)
        where = " and ".join(f"{alias} on 127.0.0.1:{port}" for alias, port in ports.items())
        self._view.say(f"Starting Kafka clusters {where} ...")
        for cluster in pair:
            stack.push_async_callback(asyncio.to_thread, cluster.stop)
        with self._view.console.status("Two brokers start ..."):
            await asyncio.to_thread(_start_all, pair)
        return {cluster.name: cluster.bootstrap for cluster in pair}

    def _start_driver(self, config: Path, stack: AsyncExitStack) -> Watched:
        log = self._options.log
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")
        self._view.say(f"Running connect-mirror-maker {_shown(config)}")
        self._view.say(f"Its log: {_shown(log)}")
        driver = Watched([str(DRIVER), str(config)], log)
        stack.push_async_callback(self._end, driver)
        return driver

    async def _end(self, driver: Watched) -> None:
        self._view.say("Stopping ...")
        await asyncio.to_thread(driver.end, timeout=_STOP_WITHIN_S)

    def _conclude(self) -> None:
        if not self._view.console.is_terminal:
            self._view.console.print(table(self._flows))
        for _, verification in self._flows:
            for difference in verification.differences:
                self._view.say(f"[red]DIFFERS[/] {difference}")
            if verification.differences:
                continue
            if verification.equal == 0:
                self._view.say(f"{verification.flow}: nothing was mirrored yet.")
                continue
            self._view.say(
                f"[green]OK[/] {verification.flow}: {verification.equal:,} records are equal"
                " in key, value, headers, timestamp, partition, order and codec."
            )

    def _show_log(self) -> None:
        lines = self._options.log.read_text(errors="replace").splitlines()
        self._view.say(f"The end of {_shown(self._options.log)}:")
        for text in lines[-_SHOWN_LINES:]:
            self._view.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _status(self) -> int:
        if any(verification.differences for _, verification in self._flows):
            return _EXIT_DIFFERS
        return _EXIT_INTERRUPTED if self._stop.is_set() and self._options.once else 0


def _start_all(pair: Sequence[DemoCluster]) -> None:
    with ThreadPoolExecutor(len(pair)) as executor:
        for started in [executor.submit(cluster.start) for cluster in pair]:
            started.result()


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _reason(error: BaseException) -> BaseException:
    """The first real reason in a tree of exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, RuntimeError) and not isinstance(error, Failed):
        return Failed(str(error))
    return error
