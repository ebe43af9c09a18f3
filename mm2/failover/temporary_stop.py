"""Stops a flow while groups move, and undoes that: only what was done for a move."""

from __future__ import annotations

from typing import Final

from mm2.failover.flow_switch import FlowSwitch
from mm2.failover.move_plan import Report

FAILOVER: Final = "failover"
"""Who stopped a flow, if it was a move of groups."""


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
