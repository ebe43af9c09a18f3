"""A node that is told to stop while it reads its file again ends, and starts nothing more."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest
import uvloop

from mm2.config.flow_config import FlowConfig
from mm2.driver.file_reload import read_again
from mm2.driver.mirror_maker import MirrorMaker
from mm2.protocol.bundle_spec import BundleSpec
from tests.support.eventually import PATIENCE_S, eventually_async
from tests.support.runners import EndlessRunner

_CLUSTERS: Final = "clusters = A, B, C\n" + "".join(
    f"{alias}.bootstrap.servers = 127.0.0.1:1\n" for alias in "ABC"
)
_BEFORE: Final = f"{_CLUSTERS}A->B.enabled = true\nemit.heartbeats.enabled = false\n"
_AFTER: Final = f"{_BEFORE}A->C.enabled = true\n"


class _Engine(EndlessRunner):
    """Spark, as far as a node without bundles sees it."""

    async def run(self, spec: BundleSpec) -> Mapping[str, int]:
        raise AssertionError(f"no cluster answers, and {spec.name} is run")

    async def follow_warmth(self, tell: Callable[[bool], None]) -> None:
        """Is warm, and nobody asks."""

    async def show_totals(self, totals: Callable[[], Mapping[str, int]]) -> None:
        """Has nowhere to show them."""

    async def stop(self) -> None:
        """Has nothing to stop."""


@pytest.fixture
def _own_hangup() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def _flows(path: Path, text: str) -> Sequence[FlowConfig]:
    path.write_text(text)
    return read_again(path, None)


@pytest.mark.usefixtures("_own_hangup")
def test_a_stop_while_the_file_is_read_again_ends_the_node(tmp_path: Path) -> None:
    path = tmp_path / "mm2.properties"
    before = _flows(path, _BEFORE)
    after = _flows(path, _AFTER)
    reading, go_on = threading.Event(), threading.Event()

    def read() -> Sequence[FlowConfig]:
        reading.set()
        assert go_on.wait(PATIENCE_S)
        return after

    async def is_obeyed() -> bool:
        return signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL

    async def work() -> int:
        node = MirrorMaker(before, _Engine(), None, read)
        running = asyncio.create_task(node.run())
        await eventually_async(is_obeyed)
        os.kill(os.getpid(), signal.SIGHUP)
        assert await asyncio.to_thread(reading.wait, PATIENCE_S)
        node.stop()
        go_on.set()
        async with asyncio.timeout(PATIENCE_S):
            return await running

    assert uvloop.run(work()) == 0
