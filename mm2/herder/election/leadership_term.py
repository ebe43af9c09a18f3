"""The time for which a node leads a flow, as the work of a leader sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from mm2.config.flow_config import FlowConfig
from mm2.herder.control.control_topic import ControlTopicState
from mm2.kafka.writer import Writer
from mm2.supervision import run_unless_set


class LeadershipTerm:
    """
    The time for which a node leads a flow.

    Args:
        writer: of the target, for the control topic; in the order of the leases.
        epoch: the term's first.
        advance: asks for a higher one.

    Attributes:
        config: the flow, as this node's file has it now.
        is_changed: set when the file, or what is altered, has changed since it was cleared.
        stopping: set when the work is to commit and end.
    """

    def __init__(
        self,
        config: FlowConfig,
        control_topic: ControlTopicState,
        writer: Writer,
        *,
        epoch: int,
        advance: Callable[[], None],
    ) -> None:
        self.config = config
        self.is_changed = asyncio.Event()
        self.control_topic = control_topic
        self.writer = writer
        self.stopping = asyncio.Event()
        self._ask = advance
        self._is_asked = False
        self._suspended, self._leading = asyncio.Event(), asyncio.Event()
        self._leading.set()
        self._fresh: asyncio.Queue[int] = asyncio.Queue()
        self._fresh.put_nowait(epoch)

    def reconfigure(self, config: FlowConfig) -> None:
        """Goes on with another file."""
        self.config = config
        self.is_changed.set()

    @property
    def is_suspended(self) -> bool:
        """Whether the node does not know if it leads: the target does not answer."""
        return self._suspended.is_set()

    async def next_epoch(self) -> int:
        """An unused epoch; one that was asked for and not awaited goes to the next call."""
        if self._fresh.empty() and not self._is_asked:
            self._is_asked = True
            self._ask()
        return await self._fresh.get()

    def advanced(self, epoch: int) -> None:
        """The node leads with this epoch from now on."""
        self._is_asked = False
        self._fresh.put_nowait(epoch)

    def suspend(self) -> None:
        """The node does not know any more whether it leads."""
        self._leading.clear()
        self._suspended.set()

    def resume(self) -> None:
        """The node leads, and has led all the time."""
        self._suspended.clear()
        self._leading.set()

    async def while_leading(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """
        Does to its end what only a leader may do.

        When the node does not know any more whether it leads, work is cancelled, and begins again
        once it knows.
        """
        while True:
            await self._leading.wait()
            if await run_unless_set(self._suspended, work()):
                return
