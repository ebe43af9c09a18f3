"""The series of what this process has logged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mm2.metrics.exposition import Family, Series, families, labels_of
from mm2.telemetry.event_counts import EVENT_COUNTS

OF_EVENTS: Final[Sequence[Series[int]]] = (
    Series(
        "mm2_events_total",
        "Log events of the levels warning, error and critical, since this process began.",
        lambda each: each,
        "counter",
    ),
)


def of_events() -> Iterator[Family[int]]:
    """Those of this process, and of its tasks, whose events it logs."""
    totals = sorted(EVENT_COUNTS.totals().items())
    yield from families(
        OF_EVENTS,
        ((labels_of({"event": name, "level": level}), n) for (name, level), n in totals),
    )
