"""
One node's part in leading a flow: follows, leads when it is elected, and follows again.

Carries out the actions of ``mm2.core.leadership.state_machine``: writes leases, starts and ends the
work of a leader.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from mm2 import __version__
from mm2.aligned_waits import aligned
from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.config.live_changes import config_digest
from mm2.core.leadership import leadership_events as events
from mm2.core.leadership.lease_timing import LASTS_MS
from mm2.core.leadership.state_machine import Leadership
from mm2.errors import ClusterError
from mm2.herder.control.control_topic import ControlTopicState
from mm2.herder.election.group_election import Election, NodeAssignments
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.election.pending_lease import LeaseWrite, PendingLeaseWrite
from mm2.herder.election.version_guard import VersionGuard
from mm2.kafka.writer import Writer
from mm2.protocol import lease_clock
from mm2.protocol.control_codec import ControlRecord, encode_control
from mm2.protocol.control_records import Lease, LeaseState
from mm2.protocol.member_metadata import Decision
from mm2.stop_deadlines import LEASE_RELEASE_S, LEASE_RENEWAL_S
from mm2.supervision import EventLike, run_unless_set

log = structlog.get_logger()

_TICK_S: Final = 1.0

Work = Callable[[LeadershipTerm, asyncio.TaskGroup], Awaitable[None]]
"""What a leader does until the term's ``stopping``; tasks of the group may go on beside it."""


class FlowLeading:
    """
    Leads one flow whenever this node is elected to.

    Args:
        stopping: set when it is to hand the flow over and end.
    """

    def __init__(
        self,
        config: FlowConfig,
        *,
        node: str,
        share: NodeAssignments,
        work: Work,
        stopping: EventLike,
    ) -> None:
        self._config = config
        self._node = node
        self._share = share
        self._work = work
        self._stopping = stopping
        self._topic = config.herder.names.control_topic
        consumer = config.herder.client("consumer", "control")
        self._control_topic = ControlTopicState(config.flow.target, consumer, self._topic)
        self._machine = Leadership(node)
        self._events: asyncio.Queue[events.Event] = asyncio.Queue()
        self._pending_lease = PendingLeaseWrite()
        self._election = Election(
            config,
            self._topic,
            node=node,
            share=share,
            may_lead=lambda: self._version_guard.is_complete,
            decided=self._decided,
        )
        self._version_guard = VersionGuard(
            self._control_topic,
            caught_up=lambda: self._events.put_nowait(events.CaughtUp()),
            rejoin=self._election.rejoin,
        )
        self._digest = config_digest(config)
        self._differing: str | None = None
        self._term: LeadershipTerm | None = None
        self._working: asyncio.Task[None] | None = None

    def reconfigure(self, config: FlowConfig) -> None:
        """Goes on with another file; the connections stay as they are."""
        self._config = config
        self._digest = config_digest(config)
        self._election.reconfigure(config)
        if self._term is not None:
            self._term.reconfigure(config)

    @property
    def has_term(self) -> bool:
        """Whether the node leads the flow, or has not handed it over yet."""
        return self._term is not None

    async def run(self) -> None:
        """
        Follows and leads until ``stopping`` is set, and hands the flow over then.

        Raises:
            ClusterError: the target refuses what is needed.
            FatalError: from the work.
        """
        self._share.register(self._config.herder.names.label)
        properties = self._config.herder.client("producer", "control")
        # An assignment of many topics is larger than brokers take, and compresses very well.
        writer = Writer(self._config.flow.target, properties, compression="gzip")
        try:
            if not await run_unless_set(self._stopping, writer.start()):
                self._share.unregister(self._config.herder.names.label)
                return
            with self._control_topic.subscribe_entries(self._control_record):
                await self._run(writer)
        finally:
            self._share.take(self._config.herder.names.label)
            await writer.close()

    async def _run(self, writer: Writer) -> None:
        async with asyncio.TaskGroup() as group:
            parts = [
                group.create_task(self._control_topic.follow(), name="control"),
                group.create_task(self._catch_up(), name="catch-up"),
                group.create_task(self._write_leases(writer), name="lease"),
                group.create_task(self._tick(), name="tick"),
                group.create_task(self._end(), name="stopping"),
                group.create_task(self._election.run(), name="election"),
            ]
            while True:
                event = await self._events.get()
                actions = self._machine.handle(event, _lease_ms())
                for action in actions:
                    self._carry_out(action, group, writer)
                if events.Leave() in actions:
                    break
            for part in parts:
                part.cancel()
            # While the group is left: a target that does not answer is waited for only once.
            group.create_task(writer.close(), name="writer")

    def _carry_out(self, action: events.Action, group: asyncio.TaskGroup, writer: Writer) -> None:
        match action:
            case events.Claim() | events.Renew() | events.Release():
                self._pending_lease.put(action)
            case events.Lead():
                self._lead(action.epoch, group, writer)
            case events.Drain():
                log.info("flow.releasing")
                if self._term is not None:
                    self._term.stopping.set()
            case events.Abandon():
                log.error("flow.abandoned", reason=action.reason)
                self._pending_lease.clear()
                self._share.take(self._config.herder.names.label)
                if self._working is not None:
                    self._working.cancel()
            case events.Suspend() | events.Resume():
                self._suspend(is_suspended=isinstance(action, events.Suspend))
            case events.Rejoin():
                self._election.rejoin()
            case events.Leave():
                pass

    def _lead(self, epoch: int, group: asyncio.TaskGroup, writer: Writer) -> None:
        log.info("flow.led", epoch=epoch, owner=self._node)
        self._share.give(self._config.herder.names.label, epoch)
        if self._term is not None:
            self._term.advanced(epoch)
            return
        self._term = LeadershipTerm(
            self._config,
            self._control_topic,
            writer,
            epoch=epoch,
            advance=lambda: self._events.put_nowait(events.Advance()),
        )
        self._working = group.create_task(self._run_work(self._term, group), name="work")

    def _suspend(self, *, is_suspended: bool) -> None:
        if self._term is None:
            return
        if is_suspended:
            log.warning("flow.suspended")
            self._term.suspend()
        else:
            log.info("flow.resumed")
            self._term.resume()

    async def _run_work(self, term: LeadershipTerm, group: asyncio.TaskGroup) -> None:
        try:
            await self._work(term, group)
        finally:
            self._term = self._working = None
            self._events.put_nowait(events.Ended())

    def _decided(self, decided: Decision) -> None:
        flow = self._config.herder.names.label
        is_ours = decided.leader == self._node and self._version_guard.is_complete
        if is_ours:
            self._share.give(flow, self._share.leads.get(flow, 0))
        else:
            self._share.take(flow)
        self._events.put_nowait(events.Elected(is_ours=is_ours, alive=frozenset(decided.nodes)))

    def _control_record(self, entry: ControlRecord) -> None:
        if not isinstance(entry, Lease):
            return
        self._compare(entry)
        self._events.put_nowait(
            events.LeaseSeen(
                owner=entry.owner,
                epoch=entry.epoch,
                is_released=entry.is_released,
                lasts_ms=entry.lasts_ms,
            )
        )

    def _compare(self, lease: Lease) -> None:
        """
        Says once that the leader has another configuration than this node's file.

        What the topic tells at the start is the past; whoever leads now says so again soon.
        """
        if not self._control_topic.caught_up.is_set():
            return
        differs = not lease.is_released and lease.digest not in {"", self._digest}
        if differs and self._differing != lease.digest:
            log.warning("flow.config_differs", owner=lease.owner, theirs=lease.digest)
        self._differing = lease.digest if differs else None

    async def _end(self) -> None:
        await self._stopping.wait()
        self._share.unregister(self._config.herder.names.label)
        self._events.put_nowait(events.Stop())

    async def _catch_up(self) -> None:
        await self._control_topic.caught_up.wait()
        self._version_guard.check()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(aligned(_TICK_S))
            self._version_guard.check()
            self._events.put_nowait(events.Tick())

    async def _write_leases(self, writer: Writer) -> None:
        while True:
            await self._write(writer, await self._pending_lease.take())

    async def _write(self, writer: Writer, action: LeaseWrite) -> None:
        limits = {
            events.Release: LEASE_RELEASE_S,
            events.Renew: LEASE_RENEWAL_S,
            events.Claim: LASTS_MS / 1000,
        }
        within_s = limits[type(action)]
        is_written = False
        try:
            async with asyncio.timeout(within_s):
                await writer.send(self._topic, *encode_control(self._lease(action)), partition=0)
            is_written = True
        except (ClusterError, TimeoutError) as error:
            reason = str(error) or f"no answer within {within_s:g} s"
            log.warning("flow.lease_not_written", epoch=action.epoch, error=reason)
        match action:
            case events.Claim() if not is_written:
                self._events.put_nowait(events.NotClaimed())
            case events.Release():
                self._events.put_nowait(events.Released())
            case _:
                pass

    def _lease(self, action: LeaseWrite) -> Lease:
        is_release = isinstance(action, events.Release)
        return Lease(
            epoch=action.epoch,
            owner=self._node,
            state=LeaseState.RELEASED if is_release else LeaseState.LEADING,
            time_ms=now_ms(),
            lasts_ms=LASTS_MS,
            digest=self._digest,
            release=__version__,
        )


def _lease_ms() -> int:
    return int(lease_clock.seconds() * 1_000)
