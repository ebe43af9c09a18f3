"""A signal that comes while the event loop begins is not lost."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from mm2.driver.app import run_program


@pytest.fixture(autouse=True)
def _earlier_handlers() -> Iterator[None]:
    """Ends the process while it starts, as the driver's do, and is put back."""

    def end(_number: int, _frame: object) -> None:
        raise SystemExit(0)

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, end) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


class _Program:
    """Runs until it is told to stop; is sent a signal while it is being made."""

    def __init__(self, number: int) -> None:
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
    assert run_program(lambda: _Program(number)) == 7
