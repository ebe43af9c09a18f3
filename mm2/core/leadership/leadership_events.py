"""Events and actions of the leadership state machine (``mm2.core.leadership.state_machine``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from mm2.core.leadership.lease_timing import LASTS_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Elected:
    """The group has decided."""

    is_ours: bool
    alive: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSeen:
    """
    A lease was read in the control topic; they are read in their order, our own too.

    Attributes:
        lasts_ms: how long it counts; 0 if it does not say.
    """

    owner: str
    epoch: int
    is_released: bool = False
    lasts_ms: int = LASTS_MS


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """All leases that were there when this node came have been read."""


@dataclass(frozen=True, slots=True)
class NotClaimed:
    """A claim could not be written; or it was, and we have not heard of it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The work of a leader has ended, whatever the reason."""


@dataclass(frozen=True, slots=True)
class Released:
    """That we lead no more has been written, as far as that is possible."""


@dataclass(frozen=True, slots=True)
class Advance:
    """The work begins anew, and wants a new epoch."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The node is to leave."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event: TypeAlias = (
    Elected | LeaseSeen | CaughtUp | NotClaimed | Ended | Released | Advance | Stop | Tick
)


@dataclass(frozen=True, slots=True)
class Claim:
    """Write a lease with this epoch."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Renew:
    """Write the lease of this epoch again, if that is possible."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Lead:
    """Begin the work with this epoch, or tell the work that runs of its new one."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Ask the work to commit and end; then ``Ended``."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """End the work at once, without another word to Kafka; then ``Ended``."""

    reason: str


@dataclass(frozen=True, slots=True)
class Suspend:
    """Do nothing that only a leader may, until ``Resume``: another one may lead by now."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on: nobody has led meanwhile."""


@dataclass(frozen=True, slots=True)
class Release:
    """Write that we lead no more; then ``Released``."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Rejoin:
    """Ask the group again who is to lead."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave the group: all is done."""


Action: TypeAlias = (
    Claim | Renew | Lead | Drain | Abandon | Suspend | Resume | Release | Rejoin | Leave
)
