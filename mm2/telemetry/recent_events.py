"""The newest log events of this process, for people who do not have its log at hand."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

import structlog

KEPT: Final = 1000
_LONGEST: Final = 300
"""Characters of a field; traces of Java are longer than anybody reads on a page."""

_OWN_PLACE: Final = frozenset({"event", "level", "timestamp", "flow"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentEvent:
    """
    One event.

    Attributes:
        number: grows with each event, also from one start of the process to the next.
        time: in ISO 8601.
        level: in lower case.
        name: of ``mm2.telemetry.events.EVENTS``.
        flow: that it is about; empty if it is about none.
        fields: its other fields, as they are logged.
    """

    number: int
    time: str
    level: str
    name: str
    flow: str
    fields: Mapping[str, str]

    @property
    def details(self) -> str:
        """The fields as one text."""
        return " ".join(f"{key}={value}" for key, value in self.fields.items())


class RecentEvents:
    """
    A bounded ring of events; a processor of structlog, behind the one that hides secrets.

    Args:
        kept: how many.
        clock: the time in ns.
    """

    def __init__(self, kept: int = KEPT, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._events: deque[RecentEvent] = deque(maxlen=kept)
        # No process logs a million events a second, so that the next one begins with more.
        self._numbers = count(clock() // 1000)

    def __call__(
        self, _logger: object, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        """Takes an event on its way to the log."""
        fields = {
            key: str(value)[:_LONGEST] for key, value in event.items() if key not in _OWN_PLACE
        }
        self._events.append(
            RecentEvent(
                number=next(self._numbers),
                time=str(event.get("timestamp", "")),
                level=str(event.get("level", "info")),
                name=str(event.get("event", "")),
                flow=str(event.get("flow", "")),
                fields=fields,
            )
        )
        return event

    def newest(self, most: int) -> Iterator[RecentEvent]:
        """The last events, the newest first."""
        for event, _ in zip(reversed(self._events.copy()), range(most), strict=False):
            yield event

    def after(self, number: int) -> list[RecentEvent]:
        """Those with higher numbers, the oldest first."""
        return [event for event in self._events.copy() if event.number > number]


RECENT_EVENTS: Final = RecentEvents()
"""Of this process."""
