"""Stops a flow and lets it run again, whoever runs it, through its control topic."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final

from mm2.config.flow_config import FlowConfig
from mm2.core.model import SOURCE_CONNECTOR
from mm2.errors import FlowError
from mm2.failover.move_plan import Report
from mm2.herder.control.flow_commands import FlowCommands
from mm2.herder.election.liveness import why_still_running
from mm2.kafka.flow_clusters import FlowClusters, check_reachable
from mm2.protocol.command_records import ConnectorState
from mm2.protocol.control_backlog import read_control
from mm2.protocol.control_records import Assignment, DesiredFlowState, Lease
from mm2.protocol.desired_state import DesiredState
from mm2.stop_deadlines import FLOW_EVERYWHERE_S

FAILOVER: Final = "failover"
"""Who stopped a flow, if it was a move of groups."""


class NotStopped(FlowError):
    """A node still runs the flow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStatus:
    """
    The status of a flow.

    Attributes:
        running: a sentence that names the node that runs it; None if none does.
        epoch: of the leader that had it last; None if there was none.
    """

    desired: DesiredState
    running: str | None
    epoch: int | None
    owner: str | None
    tasks: int


class FlowSwitch:
    """
    Stops and resumes one flow; raises ``ClusterError`` if its target does not answer, or refuses.

    Args:
        clusters: its admin clients; only the target is asked.

    Attributes:
        commands: everything else that operators may want of the flow.
    """

    def __init__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        self._config = config
        self._clusters = clusters
        self.commands = FlowCommands(config, clusters)
        self._topic = config.herder.names.control_topic

    async def status(self) -> FlowStatus:
        """The flow's status; takes some seconds, for a flow that runs is known by its reports."""
        await check_reachable(self._clusters.target)
        desired, lease, assignments = await self._control()
        return FlowStatus(
            desired=desired,
            running=await why_still_running(self._config, self._clusters.target),
            epoch=lease.epoch if lease else None,
            owner=lease.owner if lease else None,
            tasks=len(assignments),
        )

    async def desired_state(self) -> DesiredFlowState:
        """The desired state of the flow."""
        return (await self._control())[0].flow

    async def why_not_copying(self) -> str | None:
        """
        The reason for which operators have stopped or paused what copies, which may be empty.

        Returns None if they want it to run.
        """
        desired = (await self._control())[0]
        if desired.state_of(SOURCE_CONNECTOR) is ConnectorState.RUNNING:
            return None
        return desired.reason_of(SOURCE_CONNECTOR)

    async def stop(self, reason: str, *, by: str = "", within_s: float = FLOW_EVERYWHERE_S) -> None:
        """
        Has the flow drain, commit and stop; it stays so over restarts, until ``resume``.

        Raises:
            NotStopped: a node still runs it after ``within_s`` seconds.
        """
        await self.commands.stop(reason=reason, by=by)
        await self.until_stopped(within_s=within_s)

    async def until_stopped(self, *, within_s: float = FLOW_EVERYWHERE_S) -> None:
        """
        Waits until no node runs the flow, whose desired state is stopped already.

        Raises:
            NotStopped: a node still runs it after ``within_s`` seconds.
        """
        deadline = time.monotonic() + within_s
        while (running := await why_still_running(self._config, self._clusters.target)) is not None:
            if time.monotonic() > deadline:
                raise NotStopped(str(self._config.flow), f"does not stop: {running}")
            await asyncio.sleep(0.5)

    async def resume(self, reason: str) -> None:
        """Has the flow run again, as soon as a node is there to run it."""
        await self.commands.resume(reason=reason)

    async def restart(self, connector: str | None = None, task: int | None = None) -> None:
        """
        As ``FlowCommands.restart``, but not of a task that there is not.

        Raises:
            FlowError: the connector has no such task, as far as its last leader has reported.
        """
        if task is not None:
            await check_reachable(self._clusters.target)
            assigned = sorted(each.index for each in (await self._control())[2] if each.partitions)
            tasks = assigned if connector == SOURCE_CONNECTOR else [0]
            if task not in tasks:
                there = f"it has {', '.join(map(str, tasks)) or 'none'}"
                message = f"{connector} has no task {task}: {there}"
                raise FlowError(str(self._config.flow), message)
        await self.commands.restart(connector, task)

    async def _control(self) -> tuple[DesiredState, Lease | None, list[Assignment]]:
        if self._topic not in await self._clusters.target.list_topics():
            return DesiredState(), None, []
        backlog = await read_control(
            self._config.flow.target, self._config.herder.client("consumer", "control"), self._topic
        )
        leases = [each for each in backlog.entries if isinstance(each, Lease)]
        lease = leases[-1] if leases else None
        tasks = [
            each
            for each in backlog.entries
            if isinstance(each, Assignment) and lease and each.epoch == lease.epoch
        ]
        return backlog.desired, lease, tasks


class TemporaryStop:
    """A flow that is stopped for a move."""

    def __init__(self, switch: FlowSwitch, flow: str, report: Report) -> None:
        self._switch = switch
        self._flow = flow
        self._report = report
        self._is_ours = False
        self.is_stopped = False

    async def stop(self, reason: str) -> None:
        """
        Stops the flow; one that an operator has stopped keeps the operator's reason.

        Raises:
            NotStopped: a node that does not obey still runs it.
            ClusterError: the target does not answer, or refuses.
        """
        before = await self._switch.desired_state()
        self.is_stopped = True
        if before.is_stopped:
            reason = before.reason or "no reason"
            self._report(f"the flow {self._flow} was stopped before: {reason}")
            await self._switch.until_stopped()
            return
        self._is_ours = True
        self._report(f"stopping the flow {self._flow}")
        await self._switch.stop(reason, by=FAILOVER)

    async def rollback(self) -> None:
        """
        Resumes the flow if it was stopped here.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        if self._is_ours:
            await self._resume("the move was not made")

    async def resume(self, reason: str) -> None:
        """
        Resumes the flow if any move has stopped it, and leaves alone what an operator did.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        desired = await self._switch.desired_state()
        if desired.is_stopped and desired.by == FAILOVER:
            await self._resume(reason)
        elif desired.is_stopped:
            self.is_stopped = True
            self._report(f"the flow {self._flow} was not stopped by a failover, and stays so")

    async def _resume(self, reason: str) -> None:
        await self._switch.resume(reason)
        self._is_ours = self.is_stopped = False
        self._report(f"resuming the flow {self._flow}")
