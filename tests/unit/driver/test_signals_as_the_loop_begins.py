"""A signal that comes before the event loop obeys it, or while that begins, is not lost."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from mm2.driver.program import run_program
from mm2.driver.signals import StopSignals

pytestmark = pytest.mark.usefixtures("_own_signals")


class _Program:
    """Runs until it is told to stop; may be sent a signal while it is being made."""

    def __init__(self, number: int | None) -> None:
        if number is not None:
            os.kill(os.getpid(), number)
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def run(self) -> int:
        async with asyncio.timeout(30):
            await self._stopped.wait()
        return 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_while_a_program_is_made_stops_it(number: signal.Signals) -> None:
    assert run_program(lambda: _Program(number), StopSignals()) == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_came_before_the_loop_stops_its_program(number: signal.Signals) -> None:
    signals = StopSignals()
    signal.raise_signal(number)
    assert run_program(lambda: _Program(None), signals) == 7


@pytest.mark.parametrize("is_early", [True, False])
def test_what_another_process_was_sent_stops_a_program_and_counts_as_no_second_signal(
    *, is_early: bool
) -> None:
    signals = StopSignals()

    class _Sent(_Program):
        async def run(self) -> int:
            if not is_early:
                await asyncio.to_thread(signals.forwarded)
            await self._stopped.wait()
            signal.raise_signal(signal.SIGTERM)
            return await super().run()

    if is_early:
        signals.forwarded()
    assert run_program(lambda: _Sent(None), signals) == 7
    signals.forwarded()
