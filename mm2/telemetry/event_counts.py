"""How often this process has logged that something is not as it should be, by event and level."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

import structlog

from mm2.telemetry.events import EVENTS

COUNTED_LEVELS: Final = ("warning", "error", "critical")
OTHER: Final = "other"
"""What is counted for events that are not in the registry."""

SYNC_FAILURES: Final = (
    "group_offsets.not_synced",
    "job.failed",
    "topic_acls.not_synced",
    "topic_config.not_synced",
)
"""
Warnings whose counts begin at 0: of a series that is not there yet, Prometheus sees no increase.
"""


class EventCounts:
    """A processor of structlog that counts; events come from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = Counter(dict.fromkeys(((name, "warning") for name in SYNC_FAILURES), 0))

    def __call__(
        self, _logger: object, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        """Counts an event on its way to the log."""
        level = str(event.get("level"))
        if level in COUNTED_LEVELS:
            name = str(event.get("event"))
            with self._lock:
                self._counts[name if name in EVENTS else OTHER, level] += 1
        return event

    def totals(self) -> Mapping[tuple[str, str], int]:
        """Counts by event and level, since the process began."""
        with self._lock:
            return dict(self._counts)


EVENT_COUNTS: Final = EventCounts()
"""Of this process."""
