"""
Copies of a task's log events for the driver's log, by way of the progress topic.

The driver reads the standard error of tasks on its own machine only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import Final

from mm2.errors import ClusterError
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.task_events import encode_events
from mm2.supervision import run_periodically

_INTERVAL_S: Final = 1.0
_MOST_KEPT: Final = 1000
"""Older ones go first where the target is away."""

_MOST_IN_ONE_RECORD: Final = 100
_MOST_CHARACTERS: Final = 8000
"""Of a line: a hundred of them fit into what brokers take by default."""


class EventCopies:
    """The lines that are to be copied."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_MOST_KEPT)
        self._turn = asyncio.Lock()

    def add(self, line: str) -> None:
        """Takes a line; one that is too long stays out, as half of it would be unreadable."""
        if len(line) <= _MOST_CHARACTERS:
            self._lines.append(line)

    async def run(self, spec: BundleSpec, writer: Writer) -> None:
        """Copies until cancelled."""
        await run_periodically(
            _INTERVAL_S, lambda: self.flush(spec, writer), name="event-copies", at_once=False
        )

    async def flush(self, spec: BundleSpec, writer: Writer) -> None:
        """Copies what there is; where the target does not take it, it is kept for later."""
        async with self._turn:
            with suppress(ClusterError):
                await self._write(spec, writer)

    async def _write(self, spec: BundleSpec, writer: Writer) -> None:
        while lines := list(islice(self._lines, _MOST_IN_ONE_RECORD)):
            key, value = encode_events(spec.index, lines)
            await writer.send(spec.progress_topic, key, value, partition=0)
            for _ in range(min(len(lines), len(self._lines))):
                self._lines.popleft()
