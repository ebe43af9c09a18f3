"""
Reads the snapshot of a flow from Kafka, and derives views from it.

Works from any machine, with or without a leader: once with ``view_flow``, or continuously with a
``FlowFollower``.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.errors import ClusterError, root_cause
from mm2.herder.control.control_topic import ControlTopicState
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_topics import CONTROL, FlowTopics
from mm2.herder.view.flow_views import FlowView
from mm2.herder.view.view_builder import build_view
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import check_reachable
from mm2.kafka.logs.log_tail import LogTail

log = structlog.get_logger()

_REQUEST_EVERY_S: Final = 3.0
_READY_CHECK_S: Final = 0.05


async def view_flow(config: FlowConfig) -> FlowView:
    """
    Reads a flow once, from its target alone; takes about a second.

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
    Follows a flow on its target, so that each view costs no request.

    Args:
        nodes: whether the members of the flow's group are requested, too.
        control_topic: already followed by the caller; None: it is read.

    Attributes:
        problem: why the target does not answer at the moment, so that views are out of date.
    """

    def __init__(
        self,
        config: FlowConfig,
        *,
        nodes: bool = True,
        control_topic: ControlTopicState | None = None,
    ) -> None:
        self._config = config
        self._control_topic = control_topic
        self._topics = FlowTopics(config, _admin(config))
        self._tails: dict[str, LogTail | None] = {}
        self._reads_group = nodes
        self._has_group = not nodes
        self.problem: ClusterError | None = None

    async def run(self) -> None:
        """Follows until cancelled; waits while the target does not answer."""
        try:
            async with asyncio.TaskGroup() as tasks:
                if self._reads_group:
                    tasks.create_task(self._follow_group(), name="view-group")
                for kind in self._topics.names:
                    tasks.create_task(self._follow(kind), name=f"view-{kind}")
        finally:
            await self._topics.admin.close()

    async def until_ready(self) -> None:
        """Waits until all topics were read, as long as that takes."""
        while not self._is_ready:  # noqa: ASYNC110 - tails come and go, each with its own event
            await asyncio.sleep(_READY_CHECK_S)

    @property
    def snapshot(self) -> FlowSnapshot:
        """What was read so far."""
        return self._topics.snapshot

    def view(self) -> FlowView:
        """The view from what was read so far."""
        return build_view(self._config, self._topics.snapshot, now_ms())

    @property
    def _is_ready(self) -> bool:
        tails = [self._tails[kind] for kind in self._topics.names if kind in self._tails]
        has_read = all(tail is None or tail.caught_up.is_set() for tail in tails)
        return self._has_group and has_read and len(tails) == len(self._topics.names)

    async def _follow_group(self) -> None:
        while True:
            try:
                # The request itself would wait for a minute.
                await check_reachable(self._topics.admin)
                await self._topics.read_group()
            except ClusterError as error:
                self.problem = error
            else:
                self.problem = None
                self._has_group = True
            await asyncio.sleep(_REQUEST_EVERY_S)

    async def _follow(self, kind: str) -> None:
        if kind == CONTROL and self._control_topic is not None:
            await self._subscribe(self._control_topic)
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
            await asyncio.sleep(_REQUEST_EVERY_S)

    async def _subscribe(self, control_topic: ControlTopicState) -> None:
        await control_topic.caught_up.wait()
        with control_topic.subscribe_records(self.snapshot.apply_control):
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
