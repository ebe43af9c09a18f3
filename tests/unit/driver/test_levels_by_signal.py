"""SIGUSR1 changes what a process logs that has no REST interface."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections.abc import Iterator

import pytest
import structlog

from mm2.driver.level_switch import switching_levels
from mm2.telemetry.levels import Logged
from mm2.telemetry.log_settings import LEVEL_VARIABLE
from mm2.telemetry.logs import configure_logs

log = structlog.get_logger()


@pytest.fixture
def _own_signal() -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("_own_signal")
async def test_a_signal_has_all_events_logged_and_the_next_one_those_of_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(LEVEL_VARIABLE, "warning,stream=error")
    stream, told = io.StringIO(), asyncio.Queue[Logged]()
    configure_logs(stream)
    with switching_levels(told.put_nowait):
        for expected in (Logged.ALL, Logged.USUAL, Logged.ALL):
            os.kill(os.getpid(), signal.SIGUSR1)
            assert await told.get() is expected
            assert stream.getvalue().count("streams.levels_changed") == 1
            log.debug("stream.committed")
            log.warning("stream.no_topics")
            log.warning("cluster.unreachable")
            assert ("stream.committed" in stream.getvalue()) is (expected is Logged.ALL)
            assert ("stream.no_topics" in stream.getvalue()) is (expected is Logged.ALL)
            assert "cluster.unreachable" in stream.getvalue()
            stream.seek(0)
            stream.truncate()


@pytest.mark.usefixtures("_own_signal")
async def test_a_signal_that_comes_late_ends_nothing() -> None:
    with switching_levels(lambda _: None):
        pass
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
