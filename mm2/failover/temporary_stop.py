"""
Has a flow stand still while groups move, and undoes that: only what was done for a move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mm2.failover.flow_switch import FlowSwitch

FAILOVER: Final = "failover"
"""Who stopped a flow, if it was a move of groups."""


class TemporaryStop:
    """
    A flow that is stopped for a move.

    Args:
        switch: the flow's.
        flow: its name.
        say: tells people how far it is.
    """

    def __init__(self, switch: FlowSwitch, flow: str, say: Callable[[str], None]) -> None:
        self._switch = switch
        self._flow = flow
        self._say = say
        self._is_ours = False
        self.is_stopped = False

    async def stop(self, reason: str) -> None:
        """
        Stops the flow; one that an operator has stopped keeps the operator's reason.

        Raises:
            NotStopped: somebody runs it who does not obey.
            ClusterError: the target does not answer, or refuses.
        """
        before = await self._switch.wanted()
        self.is_stopped = True
        if before.is_stopped:
            self._say(f"the flow {self._flow} was stopped before: {before.reason or 'no reason'}")
            await self._switch.until_stopped()
            return
        self._is_ours = True
        self._say(f"stopping the flow {self._flow}")
        await self._switch.stop(reason, by=FAILOVER)

    async def rollback(self) -> None:
        """
        Has the flow go on if it was stopped here.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        if self._is_ours:
            await self._resume("the move was not made")

    async def resume(self, reason: str) -> None:
        """
        Has the flow go on if any move has stopped it, and leaves alone what an operator did.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        wanted = await self._switch.wanted()
        if wanted.is_stopped and wanted.by == FAILOVER:
            await self._resume(reason)
        elif wanted.is_stopped:
            self.is_stopped = True
            self._say(f"the flow {self._flow} was not stopped by a failover, and stays so")

    async def _resume(self, reason: str) -> None:
        await self._switch.resume(reason)
        self._is_ours = self.is_stopped = False
        self._say(f"resuming the flow {self._flow}")
