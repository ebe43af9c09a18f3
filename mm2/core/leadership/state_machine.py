"""
Leadership state machine: events in, actions out.

The flow's group elects a node (``mm2.core.leadership.placement``). That node claims the flow by a
lease in the control topic, with an epoch higher than all before, and leads once it has read its
claim back from there: the order of that log decides between claims, and nothing else does. A former
leader that lives is waited for until it says that it has drained; one that is gone is not. The
lease is renewed as long as the node leads. A leader that does not read its own renewals goes on
trying: meanwhile neither it nor its tasks, who do not hear of it either, do what only a leader may.
It ends when it reads a higher epoch, or when the group names another node; until then nobody else
leads, or this node is cut off and cannot know.

None of this keeps a paused leader from writing when it wakes up. That the target's brokers do, who
refuse the producers of an older epoch once the new leader has fenced them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from mm2.core.leadership import leadership_events as events
from mm2.core.leadership.lease_timing import LeaseLife

RENEW_MS: Final = 1_900
"""Every two seconds: ticks come each second, and may come a little early."""

PATIENCE_MS: Final = 25_000
"""How long a living leader is waited for; it must have drained by then."""


class Role(StrEnum):
    """What a node is to a flow."""

    FOLLOWING = "following"
    WAITING = "waiting"
    LEADING = "leading"
    RELEASING = "releasing"


class Leadership:
    """
    What one node is to one flow.

    Args:
        node: its id; owner of its leases.

    Attributes:
        epoch: of its last lease that counted; 0 for none.
    """

    def __init__(self, node: str) -> None:
        self.role = Role.FOLLOWING
        self.epoch = 0
        self._node = node
        self._alive: frozenset[str] = frozenset()
        self._is_assigned = self._has_caught_up = self._is_working = self._is_stopping = False
        self._lease = events.LeaseSeen(owner=node, epoch=0, is_released=True)
        self._seen_at = self._waits_since = self._asked_at = 0
        self._claimed: int | None = None
        self._last_claim = 0
        self._is_advancing = False
        self._life = LeaseLife()
        self._is_suspended = False

    def handle(self, event: events.Event, now_ms: int) -> list[events.Action]:
        """
        What is to be done, in this order, because of ``event``.

        Args:
            now_ms: by a clock that never goes back.
        """
        match event:
            case events.Elected():
                return self._assigned(event, now_ms)
            case events.LeaseSeen() if event.owner == self._node:
                return self._own_seen(event, now_ms)
            case events.LeaseSeen():
                return self._other_seen(event, now_ms)
            case events.Stop():
                return self._stop(now_ms)
            case events.Ended():
                return self._ended(now_ms)
            case _:
                self._note(event)
                return self._go_on(now_ms)

    def _note(self, event: events.Event) -> None:
        match event:
            case events.Advance():
                self._is_advancing = True
            case events.NotClaimed():
                self._claimed = None
            case events.CaughtUp():
                self._has_caught_up = True
            case events.Released() if not self._is_working:
                self.role = Role.FOLLOWING
            case _:
                pass

    def _go_on(self, now_ms: int) -> list[events.Action]:
        if now_ms - self._asked_at >= PATIENCE_MS:
            # A claim that was written and is not to be found in the log is lost.
            self._claimed = None
        return self._keep(now_ms) if self._is_leader else self._follow(now_ms)

    @property
    def _is_leader(self) -> bool:
        return self.role in (Role.LEADING, Role.RELEASING)

    def _assigned(self, event: events.Elected, now_ms: int) -> list[events.Action]:
        if event.is_ours and not self._is_assigned:
            self._waits_since = now_ms
        self._is_assigned, self._alive = event.is_ours, event.alive
        if self.role is Role.LEADING and not event.is_ours:
            return self._drain()
        return self._follow(now_ms)

    def _other_seen(self, lease: events.LeaseSeen, now_ms: int) -> list[events.Action]:
        if lease.epoch >= self._lease.epoch:
            self._lease, self._seen_at = lease, now_ms
        if not self._is_leader:
            return self._follow(now_ms)
        if lease.epoch >= self.epoch:
            return self._abandon(f"{lease.owner} leads with epoch {lease.epoch}")
        # Who reads only the last lease must not take an older leader's late word for the truth.
        return [events.Renew(self.epoch)] if self._is_working else []

    def _own_seen(self, lease: events.LeaseSeen, now_ms: int) -> list[events.Action]:
        is_claim = lease.epoch == self._claimed and not lease.is_released
        is_first = lease.epoch > self._lease.epoch
        if is_first or self._lease.owner == self._node:
            self._lease, self._seen_at = lease, now_ms
        if is_claim and is_first:
            return self._lead(lease, now_ms)
        if is_claim:
            # Somebody was quicker with the same epoch.
            self._claimed = None
            return self._go_on(now_ms)
        if lease.epoch == self.epoch:
            self._life.renewed(lease.lasts_ms, now_ms)
        is_unwanted = lease.epoch > self.epoch and not lease.is_released
        is_outdone = self._is_leader or self._claimed is not None
        return [events.Release(lease.epoch)] if is_unwanted and not is_outdone else []

    def _lead(self, lease: events.LeaseSeen, now_ms: int) -> list[events.Action]:
        if not self._is_working:
            self._life, self._is_suspended = LeaseLife(), False
        self._life.renewed(lease.lasts_ms, now_ms)
        self.epoch = lease.epoch
        self.role, self._is_working = Role.LEADING, True
        self._claimed, self._is_advancing = None, False
        return [events.Lead(lease.epoch)]

    def _follow(self, now_ms: int) -> list[events.Action]:
        """What a node does that does not lead."""
        if self._is_leader or self._is_working:
            return []
        if self._is_stopping:
            return [events.Leave()]
        self.role = Role.WAITING if self._is_assigned else Role.FOLLOWING
        if not self._is_assigned:
            self._claimed = None
            return self._check_elected(now_ms)
        if self._has_caught_up and self._claimed is None and self._is_free(now_ms):
            return self._claim(now_ms)
        return []

    def _check_elected(self, now_ms: int) -> list[events.Action]:
        """The group may believe that a node leads which does not; then it has to decide anew."""
        if not self._alive or now_ms - max(self._seen_at, self._asked_at) < PATIENCE_MS:
            return []
        self._asked_at = now_ms
        return [events.Rejoin()]

    def _is_free(self, now_ms: int) -> bool:
        lease = self._lease
        is_stale = now_ms - self._seen_at >= (lease.lasts_ms or PATIENCE_MS)
        is_overdue = now_ms - self._waits_since >= PATIENCE_MS
        is_gone = lease.owner == self._node or lease.owner not in self._alive
        return lease.is_released or is_gone or is_stale or is_overdue

    def _claim(self, now_ms: int) -> list[events.Action]:
        self._claimed = self._last_claim = max(self._lease.epoch, self._last_claim) + 1
        self._asked_at = now_ms
        return [events.Claim(self._claimed)]

    def _drain(self) -> list[events.Action]:
        self.role, self._claimed = Role.RELEASING, None
        return [events.Drain()]

    def _abandon(self, reason: str) -> list[events.Action]:
        """
        Leads no more, and only again when the group says so anew.

        What the group has said last may be older than the reason.
        """
        self.role, self._claimed, self._is_assigned = Role.FOLLOWING, None, False
        return [events.Abandon(reason), events.Rejoin()]

    def _ended(self, now_ms: int) -> list[events.Action]:
        self._is_working = False
        if self._is_stopping and not self._life.is_valid(now_ms):
            # Others, too, count it as over; to say so the target would have to answer.
            self.role = Role.FOLLOWING
        if self._is_leader:
            self.role = Role.RELEASING
            return [events.Release(self._last_claim)]
        return self._follow(now_ms)

    def _stop(self, now_ms: int) -> list[events.Action]:
        self._is_stopping = True
        if self.role is Role.LEADING:
            # Who is to lead next is found out while the tasks drain.
            return [*self._drain(), events.Rejoin()]
        return self._follow(now_ms)

    def _keep(self, now_ms: int) -> list[events.Action]:
        """What a leader does to stay one."""
        if not self._is_working:
            return []
        return [*self._suspension(now_ms), *self._renewed(now_ms)]

    def _suspension(self, now_ms: int) -> list[events.Action]:
        """Whether it leads, it knows only as long as it reads so."""
        was_suspended, self._is_suspended = self._is_suspended, not self._life.is_valid(now_ms)
        if was_suspended == self._is_suspended:
            return []
        return [events.Suspend() if self._is_suspended else events.Resume()]

    def _renewed(self, now_ms: int) -> list[events.Action]:
        if self._claimed is not None:
            return []
        if self._is_advancing and self.role is Role.LEADING:
            return self._claim(now_ms)
        if now_ms - self._asked_at >= RENEW_MS:
            self._asked_at = now_ms
            return [events.Renew(self.epoch)]
        return []
