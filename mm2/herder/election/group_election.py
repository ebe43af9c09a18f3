"""
Elects the node that leads a flow: by a consumer group on the target, the one that Java's nodes use.

Java's workers are members of a group with the same id, of Connect's protocol; the group's broker
lets in either them or us, and so the two never run a flow at the same time.

Whatever a member says of itself is asked for anew at each rebalance, and the group's answer is for
``mm2.core.leadership.state_machine`` to act upon. A rebalance interrupts nothing: who leads, leads
on until another one is named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from mm2 import __version__
from mm2.config.flow_config import FlowConfig
from mm2.config.live_changes import config_digest
from mm2.core.leadership.placement import Member, leader_of
from mm2.errors import ClusterError
from mm2.kafka.groups.membership import Membership, MemberTimes, OtherProtocol
from mm2.protocol.member_metadata import (
    PROTOCOL,
    Decision,
    decision,
    decode_decision,
    decode_member,
    encode_decision,
    encode_member,
    names_of_one_cluster,
)

log = structlog.get_logger()

_RETRY_S: Final = 2.0
_STEADY_S: Final = 5.0
"""After so long without a change to what a node leads, the groups look at the balance again."""


@dataclass(slots=True)
class NodeAssignments:
    """
    What one node leads of all that it could lead; shared by its flows.

    Attributes:
        eligible: those that it could lead.
        leads: those that it has been given, with the epochs under which it leads them.
        changed: replaced by a new event whenever what this or another node leads has changed, and
            then set.
        is_warm: whether the node could begin at once, as it can if nobody says otherwise; until
            then flows stay where they are led.
        is_starved: whether it could not for long: others are to have the flows that it leads.
        warmth_changed: as ``changed``, of these two.
    """

    eligible: frozenset[str]
    leads: dict[str, int] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    is_warm: bool = True
    is_starved: bool = False
    warmth_changed: asyncio.Event = field(default_factory=asyncio.Event)

    def register(self, flow: str) -> None:
        """The node could lead a flow."""
        self.eligible |= {flow}

    def unregister(self, flow: str) -> None:
        """The node is to lead a flow no more, whatever it still has to do for it."""
        self.eligible -= {flow}
        self.take(flow)

    def give(self, flow: str, epoch: int) -> None:
        """The node has been given a flow, or leads it with an epoch."""
        is_new = flow not in self.leads
        self.leads[flow] = epoch
        if is_new:
            self.recheck()

    def take(self, flow: str) -> None:
        """The node has the flow no longer."""
        if self.leads.pop(flow, None) is not None:
            self.recheck()

    def tell_warmth(self, is_warm: bool) -> None:  # noqa: FBT001 - a callback
        """The node could begin at once, or has waited for long to be able to."""
        self.is_warm, self.is_starved = is_warm, not is_warm
        changed, self.warmth_changed = self.warmth_changed, asyncio.Event()
        changed.set()

    def recheck(self) -> None:
        """What some node leads has changed, so that it may be for this one to give a flow away."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class Election:
    """
    One node's membership in the group of one flow.

    Args:
        topic: its control topic, which must exist.
        decided: called with each decision of the group.
    """

    def __init__(
        self,
        config: FlowConfig,
        topic: str,
        *,
        node: str,
        share: NodeAssignments,
        may_lead: Callable[[], bool],
        decided: Callable[[Decision], None],
    ) -> None:
        self._config = config
        self._share = share
        self._decided = decided
        self._trouble: str | None = None
        self._names: list[str] = []
        self._node = node
        self._leader = ""
        self._voter = _Voter(
            config, node=node, share=share, may_lead=may_lead, decided=self._take_decision
        )
        self._membership = Membership(
            config.flow.target,
            {**config.herder.client("consumer", "leader"), "client.id": node},
            group_id=config.herder.names.election_group,
            topic=topic,
            assignor=self._voter,
            times=MemberTimes.of(config.herder.properties),
        )

    def reconfigure(self, config: FlowConfig) -> None:
        """Says from now on that this node's file is this."""
        self._voter.digest = config_digest(config)

    def rejoin(self) -> None:
        """Has the group decide again, from what its members say now."""
        self._membership.rejoin()

    async def run(self) -> None:
        """
        Is a member until cancelled, and leaves the group then.

        A group that does not let us in, or not any more, is asked again and again.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look_at_balance(), name="balance")
            group.create_task(self._look_at_warmth(), name="warm")
            while True:
                try:
                    await self._membership.run()
                except OtherProtocol:
                    self._refused()
                except ClusterError as error:
                    self._not_joined(str(error))
                await asyncio.sleep(_RETRY_S)

    def _take_decision(self, decided: Decision) -> None:
        self._trouble = None
        self._compare_names(decided)
        self._decided(decided)
        if decided.leader != self._leader:
            self._leader = decided.leader
            self._share.recheck()

    def _compare_names(self, decided: Decision) -> None:
        """Says once that flows under several names of this target share its group."""
        names = names_of_one_cluster(self._node, decided.nodes)
        if len(names) > 1 and names != self._names:
            log.error(
                "flow.duplicate_target",
                group=self._config.herder.names.election_group,
                targets=names,
            )
        self._names = names

    def _refused(self) -> None:
        group, target = self._config.herder.names.election_group, self._config.flow.target
        reason = (
            f"the group {group} on {target} has members of another program: Kafka's MirrorMaker "
            "runs the flow. Stop it there; this node takes the flow over as soon as it has gone"
        )
        if self._trouble != reason:
            log.error("flow.refused", group=group, reason=reason)
        self._trouble = reason

    def _not_joined(self, error: str) -> None:
        if self._trouble != error:
            log.warning(
                "flow.not_joined", group=self._config.herder.names.election_group, error=error
            )
        self._trouble = error

    async def _look_at_balance(self) -> None:
        """Once what nodes lead has changed and then stayed, the groups of this one look again."""
        while True:
            await self._share.changed.wait()
            await self._until_steady()
            if self._config.herder.names.label in self._share.leads and len(self._share.leads) > 1:
                self.rejoin()

    async def _look_at_warmth(self) -> None:
        """Flows are given to a node once it has become warm, and go from one that starves."""
        while True:
            await self._share.warmth_changed.wait()
            self.rejoin()

    async def _until_steady(self) -> None:
        while True:
            try:
                async with asyncio.timeout(_STEADY_S):
                    await self._share.changed.wait()
            except TimeoutError:
                return


class _Voter:
    """Speaks for this node in the group of one flow, and decides if it is asked to."""

    name = PROTOCOL

    def __init__(
        self,
        config: FlowConfig,
        *,
        node: str,
        share: NodeAssignments,
        may_lead: Callable[[], bool],
        decided: Callable[[Decision], None],
    ) -> None:
        self._flow = config.herder.names.label
        self.digest = config_digest(config)
        self._node = node
        self._share = share
        self._may_lead = may_lead
        self._decided = decided

    def subscription_user_data(self) -> bytes:
        """What this node leads and could lead."""
        never = self._not_for_it()
        leads = {flow: epoch for flow, epoch in self._share.leads.items() if flow not in never}
        return encode_member(
            Member(
                node=self._node,
                leads=leads,
                eligible=self._share.eligible.difference(never),
                release=__version__,
                digest=self.digest,
                is_warm=self._share.is_warm,
            )
        )

    def _not_for_it(self) -> Collection[str]:
        """The flows for others to lead; without any others it leads them all the same."""
        if self._share.is_starved:
            return self._share.eligible
        return () if self._may_lead() else {self._flow}

    def decide(self, user_data: Mapping[str, bytes]) -> tuple[str, bytes]:
        """Places the flow."""
        members = {each: decode_member(data, each) for each, data in user_data.items()}
        leader = leader_of(self._flow, members.values())
        chosen = next(each for each, member in members.items() if member.node == leader)
        return chosen, encode_decision(decision(leader, members.values()))

    def decided(self, decision: bytes) -> None:
        """Passes on who is to lead."""
        if found := decode_decision(decision):
            self._decided(found)
