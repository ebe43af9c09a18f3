"""
Nodes that lead a flow in turn, whatever happens in between: no older leader's word ever counts.

A small world: the control topic as a log, a group that decides at any time, and a broker that
refuses producers whose identity somebody else has taken over. Nodes crash at any time, also while a
lease is on its way, fall asleep, read late, and are told late; their tasks may outlive them and
write on. What a node has to write waits in the slot that it really has, where a later word takes an
earlier one's place. Tasks are cut off, or sleep, for any time: they pause, and go on when they read
that their leader does. That a node asks the group to decide again may be lost.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from flows.source.task_lease import TaskLease
from mm2.core.leadership import leadership_events as events
from mm2.core.leadership.state_machine import PATIENCE_MS, Leadership, Role
from mm2.herder.election.pending_lease import LeaseWrite, PendingLeaseWrite

_NODES = 3
_WHO = st.integers(0, _NODES - 1)


@dataclass
class Work:
    """The tasks of a leader; ``token`` is their identity to the broker; None for none that run."""

    epoch: int
    lease: TaskLease
    token: int | None = None
    is_ending: bool = False
    read: int = 0
    starts: int = 0


@dataclass
class Node:
    """One node, from its start to its end."""

    name: str
    machine: Leadership
    read: int = 0
    has_caught_up: bool = False
    slot: PendingLeaseWrite = field(default_factory=PendingLeaseWrite)
    writing: LeaseWrite | None = None
    is_suspended: bool = False
    decisions: deque[events.Elected] = field(default_factory=deque)
    work: Work | None = None


class World(RuleBasedStateMachine):
    """Everything that happens to one flow."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.log: list[events.LeaseSeen] = []
        self.born = 0
        self.nodes = [self.new_node() for _ in range(_NODES)]
        self.works: list[Work] = []
        self.epochs: set[int] = set()
        self.token = self.accepted = 0
        self.must_decide, self.is_asked = True, False

    def new_node(self) -> Node:
        self.born += 1
        name = f"n{self.born}"
        return Node(name, Leadership(name))

    def new_lease(self) -> TaskLease:
        return TaskLease(lambda: self.now_ms / 1_000)

    def feed(self, node: Node, event: events.Event) -> None:
        """A node hears of something, and carries out at once what is to be done but for writing."""
        for action in node.machine.handle(event, self.now_ms):
            self.carry_out(node, action)

    def carry_out(self, node: Node, action: events.Action) -> None:
        match action:
            case events.Claim() | events.Renew() | events.Release():
                node.slot.put(action)
            case events.Lead(epoch):
                self.lead(node, epoch)
            case events.Drain() | events.Abandon():
                if isinstance(action, events.Abandon):
                    node.slot.clear()
                if node.work is not None:
                    node.work.is_ending = True
            case events.Suspend() | events.Resume():
                node.is_suspended = isinstance(action, events.Suspend)
            case events.Rejoin():
                self.is_asked = True
            case events.Leave():
                self.crash(self.nodes.index(node))

    @rule(who=_WHO)
    def read(self, who: int) -> None:
        """A node reads the next record of the control topic."""
        node = self.nodes[who]
        if node.read < len(self.log):
            node.read += 1
            self.feed(node, self.log[node.read - 1])
        elif not node.has_caught_up:
            node.has_caught_up = True
            self.feed(node, events.CaughtUp())

    @rule(who=_WHO, others=st.sets(_WHO))
    def decide(self, who: int, others: set[int]) -> None:
        """The group decides; some nodes may have been silent for too long."""
        members = [self.nodes[each] for each in sorted({who} | others)]
        alive = frozenset(each.name for each in members)
        for node in members:
            is_ours = node is self.nodes[who]
            node.decisions.append(events.Elected(is_ours=is_ours, alive=alive))
        self.must_decide = self.is_asked = False

    @rule(who=_WHO)
    def hear(self, who: int) -> None:
        """A node hears of the next decision."""
        node = self.nodes[who]
        if node.decisions:
            self.feed(node, node.decisions.popleft())

    @rule(who=_WHO, is_written=st.booleans(), is_heard=st.booleans())
    def write_lease(self, who: int, is_written: bool = True, is_heard: bool = True) -> None:
        """A node begins to write of its lease, or ends it; that may fail, or seem to."""
        node = self.nodes[who]
        if node.writing is None:
            node.writing = node.slot.next()
            return
        word, node.writing = node.writing, None
        is_released = isinstance(word, events.Release)
        if is_written:
            seen = events.LeaseSeen(owner=node.name, epoch=word.epoch, is_released=is_released)
            self.log.append(seen)
        if is_released:
            self.feed(node, events.Released())
        elif isinstance(word, events.Claim) and not (is_written and is_heard):
            self.feed(node, events.NotClaimed())

    @rule()
    def forget(self) -> None:
        """That somebody wants the group to decide again does not get there."""
        self.is_asked = False

    def lead(self, node: Node, epoch: int) -> None:
        assert node.work is None or not node.work.is_ending, "one work at a time"
        assert epoch not in self.epochs, "an epoch is led once"
        self.epochs.add(epoch)
        if node.work is None:
            node.work, node.is_suspended = Work(epoch, self.new_lease()), False
            self.works.append(node.work)
        else:
            node.work.epoch, node.work.token = epoch, None

    @rule(who=_WHO)
    def start(self, who: int) -> None:
        """Tasks start, or start again: they look who leads, and take their identity if they may."""
        work = self.nodes[who].work
        if work is not None:
            is_led_by_another = any(lease.epoch > work.epoch for lease in self.log)
            self.token += not is_led_by_another
            work.token = None if is_led_by_another else self.token
            work.lease, work.read = self.new_lease(), 0
            work.starts += 1

    @rule(pick=st.integers(0, 30), count=st.integers(1, 40))
    def hear_of_leader(self, pick: int, count: int) -> None:
        """Tasks read on in the control topic, at once what has been written meanwhile."""
        if self.works:
            self.read_as_task(self.works[pick % len(self.works)], count)

    def read_as_task(self, work: Work, count: int) -> None:
        for lease in self.log[work.read : work.read + count]:
            work.read += 1
            if lease.epoch > work.epoch or (lease.epoch == work.epoch and lease.is_released):
                work.token = None
            elif lease.epoch == work.epoch:
                work.lease.renewed(lease.lasts_ms)

    @rule(pick=st.integers(0, 30))
    def write(self, pick: int) -> None:
        """Any tasks write, also those of nodes that are gone, or have been asleep."""
        if not self.works:
            return
        work = self.works[pick % len(self.works)]
        if work.token == self.token and work.lease.is_valid:
            assert work.epoch >= self.accepted, "an older leader's tasks have written"
            self.accepted = work.epoch

    @rule(who=_WHO)
    def end(self, who: int) -> None:
        """Work that was told to end has ended."""
        node = self.nodes[who]
        if node.work is not None and node.work.is_ending:
            self.works.remove(node.work)
            node.work = None
            self.feed(node, events.Ended())

    @rule(who=_WHO)
    def advance(self, who: int) -> None:
        """The work begins anew."""
        work = self.nodes[who].work
        if work is not None and not work.is_ending:
            work.token = None
            self.feed(self.nodes[who], events.Advance())

    @rule(ms=st.sampled_from([500, 2_000, 11_000, PATIENCE_MS]), who=st.sets(_WHO))
    def pass_time(self, ms: int, who: set[int]) -> None:
        """Time passes; not every node looks at the clock."""
        self.now_ms += ms
        for each in who:
            self.feed(self.nodes[each], events.Tick())

    @rule(who=_WHO)
    def crash(self, who: int) -> None:
        """A node is gone, with all that it had still to do; its tasks may live on."""
        self.nodes[who] = self.new_node()
        self.must_decide = True

    @rule(who=_WHO)
    def stop(self, who: int) -> None:
        """A node is asked to leave."""
        self.feed(self.nodes[who], events.Stop())

    def go_on(self) -> None:
        """One calm second, in which everybody does what there is to do."""
        self.now_ms += 1_000
        if self.must_decide or self.is_asked:
            leaders = [n for n, node in enumerate(self.nodes) if node.machine.role is Role.LEADING]
            self.decide((leaders or [0])[0], set(range(_NODES)))
        for who, node in enumerate(self.nodes):
            while node.decisions:
                self.hear(who)
            while node.read < len(self.log) or not node.has_caught_up:
                self.read(who)
            self.feed(node, events.Tick())
            self.write_all(who)
            self.end(who)
            self.write_all(who)
            if node.work is not None:
                self.read_as_task(node.work, len(self.log))
                if node.work.token != self.token:
                    self.start(who)

    def write_all(self, who: int) -> None:
        while self.nodes[who].writing or self.nodes[who].slot._pending is not None:
            self.write_lease(who)

    def teardown(self) -> None:
        """Whatever has happened: when it has become calm, one node leads."""
        for _ in range(2 * PATIENCE_MS // 1_000 + 20):
            self.go_on()
        (leader,) = [node for node in self.nodes if node.machine.role is Role.LEADING]
        assert leader.work is not None
        assert leader.work.token == self.token, "its tasks can write"
        assert leader.work.lease.is_valid, "and do"
        assert not leader.is_suspended, "as the node itself"
        assert leader.work.epoch == leader.machine.epoch == max(each.epoch for each in self.log)
        assert not self.log[-1].is_released
        others = [node for node in self.nodes if node is not leader]
        assert all(node.machine.role is Role.FOLLOWING for node in others)
        self.survive_outage(leader, leader.work, leader.work.starts)

    def survive_outage(self, leader: Node, work: Work, starts: int) -> None:
        """Nothing can be written for minutes, and nobody is elected: then all goes on as it was."""
        for _ in range(300):
            self.now_ms += 1_000
            self.feed(leader, events.Tick())
        assert not work.lease.is_valid, "tasks pause"
        assert leader.is_suspended, "and so does the node"
        assert leader.slot.next() == events.Renew(leader.machine.epoch)
        for _ in range(10):
            self.go_on()
        assert leader.work is work
        assert (work.starts, work.token) == (starts, self.token), "its tasks have not begun anew"
        assert (work.lease.is_valid, leader.is_suspended) == (True, False), "all goes on"


TestLeadership = World.TestCase
TestLeadership.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
