"""What trials have found, kept as JSON so that a run can go on where it was ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.harness.outcomes import saved

FAILOVER: Final = "failover"
FAILBACK: Final = "failback"
UNPLANNED: Final = "unplanned"
REWOUND: Final = "rewound"
"""Begins the kinds of groups that were set back at random; their settings and moves follow."""


@dataclass(frozen=True, slots=True)
class Toll:
    """How many records a group reads twice, and how many it never reads, over all partitions."""

    reread: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """
    One group that has moved.

    Attributes:
        kind: one of those above.
        group: its name.
        seed: what its round began with.
        ours: what mm2's command cost it.
        allowed: how many of the records read twice were committed after the last checkpoint.
        java: what Java's checkpoints would have cost it; None: not tried.
        faults: what should not be, in words.
    """

    kind: str
    group: str
    seed: int
    ours: Toll
    allowed: int = 0
    java: Toll | None = None
    faults: list[str] = field(default_factory=list)


def load(file: Path) -> list[Trial]:
    """Reads what ``save`` has written; nothing where there is no file yet."""
    found = saved(file)
    for each in found:
        each["ours"] = Toll(**each["ours"])
        each["java"] = Toll(**each["java"]) if each["java"] else None
    return [Trial(**each) for each in found]
