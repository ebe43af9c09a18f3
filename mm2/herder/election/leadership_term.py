"""The time for which a node leads a flow, as the work of a leader sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from mm2.herder.control.control_topic import ControlTopicState
from mm2.kafka.writer import Writer
from mm2.supervision import run_unless_set


class LeadershipTerm:
    """
    The time for which a node leads a flow.

    Args:
        board: what the control topic says.
        writer: of the target, for the control topic; in the order of the leases.
        epoch: the term's first.
        advance: asks for a higher one.

    Attributes:
        stopping: set when the work is to commit and end.
    """

    def __init__(
        self, board: ControlTopicState, writer: Writer, *, epoch: int, advance: Callable[[], None]
    ) -> None:
        self.control_topic = board
        self.writer = writer
        self.stopping = asyncio.Event()
        self._ask = advance
        self._is_asked = False
        self._doubt, self._trust = asyncio.Event(), asyncio.Event()
        self._trust.set()
        self._fresh: asyncio.Queue[int] = asyncio.Queue()
        self._fresh.put_nowait(epoch)

    @property
    def is_in_doubt(self) -> bool:
        """Whether the node cannot tell if it leads: the target does not answer."""
        return self._doubt.is_set()

    async def next_epoch(self) -> int:
        """An epoch that nobody has used yet; one that nobody waits for any more is the next's."""
        if self._fresh.empty() and not self._is_asked:
            self._is_asked = True
            self._ask()
        return await self._fresh.get()

    def advanced(self, epoch: int) -> None:
        """The node leads with this epoch from now on."""
        self._is_asked = False
        self._fresh.put_nowait(epoch)

    def suspend(self) -> None:
        """The node cannot tell any more whether it leads."""
        self._trust.clear()
        self._doubt.set()

    def resume(self) -> None:
        """The node leads, and has led all the time."""
        self._doubt.clear()
        self._trust.set()

    async def while_leading(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """
        Does to its end what only a leader may do.

        When the node cannot tell any more whether it leads, work is cancelled, and begins anew once
        it can.
        """
        while True:
            await self._trust.wait()
            if await run_unless_set(self._doubt, work()):
                return
