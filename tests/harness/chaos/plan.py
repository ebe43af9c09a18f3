"""What is going to happen to which node, all of it drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

KILL: Final = "kill"
PAUSE: Final = "pause"
RESTART: Final = "restart"
CUT: Final = "cut"
ROLL: Final = "roll"

KINDS: Final = (KILL, PAUSE, RESTART, CUT)
"""What happens to one node; ``ROLL`` restarts them all, one after the other."""

CLEAN: Final = (RESTART, ROLL)
"""Nothing is copied twice."""

PAUSE_S: Final = 20.0
_CUT_S: Final = (2.0, 20.0)
_STRIKES_LEADER: Final = 0.7
_TREATMENTS: Final = {
    KILL: ("process", "machine"),
    CUT: ("source", "target", "target", "both", "refused"),
}
_ONLY: Final = ("",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """
    One thing that happens.

    Attributes:
        kind: one of the constants above.
        leader: whether it happens to who leads the first flow, or to a node that leads nothing.
        choice: picks that other node, between 0 and 1.
        seconds: how long it lasts, where it lasts.
        how: ``process`` kills the driver alone, ``machine`` all that it has started; ``source``,
            ``target`` and ``both`` are what a node is cut off from in silence, ``refused`` is both
            with broken connections.
    """

    kind: str
    leader: bool = True
    choice: float = 0.0
    seconds: float = 0.0
    how: str = ""

    def __str__(self) -> str:
        lasts = f" for {self.seconds:.0f} s" if self.seconds else ""
        who = "" if self.kind == ROLL else " the leader" if self.leader else " another"
        return f"{self.kind}{who}{lasts} {self.how}".rstrip()


def plan(seed: int, each: int, kinds: Sequence[str] = KINDS) -> list[Event]:
    """``each`` events of each kind in a random order."""
    random = Random(seed)
    found = [_event(kind, random) for kind in kinds for _ in range(each)]
    random.shuffle(found)
    return found


def _event(kind: str, random: Random) -> Event:
    leader = random.random() < _STRIKES_LEADER
    choice = random.random()
    lasts = random.uniform(*_CUT_S)
    how = random.choice(_TREATMENTS.get(kind, _ONLY))
    seconds = {PAUSE: PAUSE_S, CUT: lasts}.get(kind, 0.0)
    return Event(kind=kind, leader=leader, choice=choice, seconds=seconds, how=how)
