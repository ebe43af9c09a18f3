"""What came of events, kept as JSON so that a run can go on where it was ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.harness.chaos.ledger import Toll
from tests.harness.chaos.plan import CLEAN, Event
from tests.harness.outcomes import saved

AT_LEAST_ONCE: Final = "at-least-once"
EXACTLY_ONCE: Final = "exactly-once"
MODES: Final = (AT_LEAST_ONCE, EXACTLY_ONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOutcome:
    """
    One event, and what the flows suffered until they had recovered from it.

    Attributes:
        mode: one of the two above.
        seed: of the plan.
        number: of the event in its plan.
        event: what happened.
        toll: the sum, or the worst, of all flows.
        faults: what should not be, in words.
    """

    mode: str
    seed: int
    number: int
    event: Event
    toll: Toll
    faults: list[str] = field(default_factory=list)


REPEATED_S: Final = 5.0
"""
What may be copied twice at least once, in seconds of traffic.

Positions are committed every second; the rest is for what is under way, and for busy machines.
"""


def faults_of(mode: str, event: Event, toll: Toll, *, rate: float) -> list[str]:
    """
    What a toll has that no event excuses.

    Args:
        mode: of the mirror.
        event: what happened.
        toll: of all flows.
        rate: records per second of all flows.
    """
    found = []
    if toll.missing:
        found.append(f"{toll.missing} records are lost")
    if toll.disordered:
        found.append(f"{toll.disordered} steps are out of order")
    if toll.repeated and mode == EXACTLY_ONCE:
        found.append(f"{toll.repeated} records are there twice, exactly once")
    elif toll.repeated and event.kind in CLEAN:
        found.append(f"{toll.repeated} records are there twice after a clean {event.kind}")
    elif toll.repeated > rate * REPEATED_S:
        found.append(f"{toll.repeated} records are there twice, more than were not committed")
    return found


def sum_of(tolls: Sequence[Toll]) -> Toll:
    """The toll of several flows together."""
    return Toll(
        missing=sum(each.missing for each in tolls),
        repeated=sum(each.repeated for each in tolls),
        disordered=sum(each.disordered for each in tolls),
        gap_s=max((each.gap_s for each in tolls), default=0.0),
        delay_s=max((each.delay_s for each in tolls), default=0.0),
    )


def load(file: Path) -> list[EventOutcome]:
    """Reads what ``save`` has written; nothing where there is no file yet."""
    return [
        EventOutcome(**{**each, "event": Event(**each["event"]), "toll": Toll(**each["toll"])})
        for each in saved(file)
    ]
