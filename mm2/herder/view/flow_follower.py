"""
Builds a view of a flow from Kafka only; works from any machine, with or without a leader.

Once, with ``view_flow``; or again and again, with a ``FlowFollower``.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.errors import ClusterError, root_cause
from mm2.herder.control.control_topic import ControlTopicState
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_topics import CONTROL, FlowTopics, now_ms
from mm2.herder.view.flow_views import (
    ConnectorView,
    FlowView,
    LeaderView,
    NodeView,
    PartitionView,
    TaskView,
    Totals,
)
from mm2.herder.view.view_builder import build_view
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import check_reachable
from mm2.kafka.logs.log_tail import LogTail

__all__ = [
    "ConnectorView",
    "FlowFollower",
    "FlowView",
    "LeaderView",
    "NodeView",
    "PartitionView",
    "TaskView",
    "Totals",
    "view_flow",
]

log = structlog.get_logger()

_ASK_EVERY_S: Final = 3.0
_LOOK_EVERY_S: Final = 0.05


async def view_flow(config: FlowConfig) -> FlowView:
    """
    Reads a flow once; takes about a second.

    Args:
        config: the flow; only its target is asked.

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    admin = _admin(config)
    topics = FlowTopics(config, admin)
    try:
        await check_reachable(admin)
        await _read_all(topics)
        return build_view(config, topics.snapshot, now_ms())
    finally:
        await admin.close()


class FlowFollower:
    """
    Follows a flow, so that a view costs nothing.

    Args:
        config: the flow; only its target is asked.
        nodes: whether the flow's group is described, too.
        board: says what is in the control topic; None: it is read.

    Attributes:
        problem: why the target cannot be asked at the moment, so that views grow old; None if it
            can.
    """

    def __init__(
        self, config: FlowConfig, *, nodes: bool = True, board: ControlTopicState | None = None
    ) -> None:
        self._config = config
        self._board = board
        self._topics = FlowTopics(config, _admin(config))
        self._tails: dict[str, LogTail | None] = {}
        self._asks = nodes
        self._has_asked = not nodes
        self.problem: ClusterError | None = None

    async def run(self) -> None:
        """Follows until cancelled; a target that is away is waited for."""
        try:
            async with asyncio.TaskGroup() as tasks:
                if self._asks:
                    tasks.create_task(self._follow_group(), name="view-group")
                for kind in self._topics.names:
                    tasks.create_task(self._follow(kind), name=f"view-{kind}")
        finally:
            await self._topics.admin.close()

    async def until_ready(self) -> None:
        """Waits until all that there is has been seen; for as long as the target is away."""
        while not self._is_ready:  # noqa: ASYNC110 - tails come and go, each with its own event
            await asyncio.sleep(_LOOK_EVERY_S)

    @property
    def snapshot(self) -> FlowSnapshot:
        """What has been seen so far."""
        return self._topics.snapshot

    def view(self) -> FlowView:
        """The flow as it is now; before ``until_ready``, only what has been seen so far."""
        return build_view(self._config, self._topics.snapshot, now_ms())

    @property
    def _is_ready(self) -> bool:
        tails = [self._tails[kind] for kind in self._topics.names if kind in self._tails]
        has_read = all(tail is None or tail.caught_up.is_set() for tail in tails)
        return self._has_asked and has_read and len(tails) == len(self._topics.names)

    async def _follow_group(self) -> None:
        while True:
            try:
                # The question itself would wait for a minute.
                await check_reachable(self._topics.admin)
                await self._topics.read_group()
            except ClusterError as error:
                self.problem = error
            else:
                self.problem = None
                self._has_asked = True
            await asyncio.sleep(_ASK_EVERY_S)

    async def _follow(self, kind: str) -> None:
        if kind == CONTROL and self._board is not None:
            await self._follow_board(self._board)
            return
        topic, logged = self._topics.names[kind], ""
        while True:
            try:
                if topic in await self._topics.admin.list_topics():
                    await self._read_on(kind)
                self._tails[kind] = None
            except ClusterError as error:
                if str(error) != logged:
                    log.warning("kafka.log_interrupted", topic=topic, error=str(error))
                logged = str(error)
            await asyncio.sleep(_ASK_EVERY_S)

    async def _follow_board(self, board: ControlTopicState) -> None:
        await board.caught_up.wait()
        with board.subscribe_records(self.snapshot.apply_control):
            self._tails[CONTROL] = None
            await asyncio.Event().wait()  # Until cancelled.

    async def _read_on(self, kind: str) -> None:
        self._tails[kind] = tail = await self._topics.tail(kind)
        async for record in tail:
            self._topics.take(kind, record)


async def _read_all(topics: FlowTopics) -> None:
    known = await topics.admin.list_topics()
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(topics.read_group(), name="view-group")
            for kind, topic in topics.names.items():
                if topic in known:
                    tasks.create_task(topics.read(kind), name=f"view-{kind}")
    except ExceptionGroup as errors:
        raise root_cause(errors) from errors


def _admin(config: FlowConfig) -> Admin:
    return Admin(config.flow.target, config.source.target_admin("status-admin"))
