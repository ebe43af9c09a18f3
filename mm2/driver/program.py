"""What a process runs in the foreground until a signal, or its own end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

import uvloop

from mm2.driver.signals import StopSignals

EXIT_HERDER: Final = 1
EXIT_START: Final = 3
"""Exit statuses of Java's driver (C002)."""


class Program(Protocol):
    """What runs until it is stopped."""

    def stop(self) -> None:
        """Asks ``run`` to drain and end; may be called more than once."""

    async def run(self) -> int:
        """Runs until ``stop``; returns the exit status."""


def run_program(make: Callable[[], Program], signals: StopSignals) -> int:
    """
    Runs a program in the foreground, made in its event loop; returns the exit status.

    SIGTERM and SIGINT stop it; a second one ends it at once.
    """
    return uvloop.run(_run(make, signals))


async def _run(make: Callable[[], Program], signals: StopSignals) -> int:
    program = make()
    signals.obey(asyncio.get_running_loop(), program.stop)
    return await program.run()
