"""
What a move of groups needs beside two clusters in memory: a way between them, and a flow to stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mm2.config.flow_config import FlowConfig, flow_config
from mm2.core.model import SourceAndTarget, TopicPartition
from mm2.core.translation.offset_translation import MappedOffset
from mm2.failover.directions import Ids, OffsetMapping
from mm2.failover.flow_switch import FlowSwitch
from mm2.failover.move_route import MoveRoute, Pair
from mm2.kafka.logs.first_records import Range
from mm2.protocol.control_records import DesiredFlowState, FlowState
from tests.support.fake_route import A, B, FakeSide, at, maker_in

ORIGINAL = at("orders")
COPY = at("A.orders")


@dataclass(frozen=True, slots=True)
class SameOffsets:
    """A direction, and what is known of it: all that is copied has the same offset there."""

    config: FlowConfig
    may_lag: bool = False

    def __hash__(self) -> int:
        return id(self)

    def destination(self, where: TopicPartition) -> TopicPartition | None:
        """Its copy."""
        return COPY if where == ORIGINAL else None

    async def read(self) -> OffsetMapping:
        """What is known never changes."""
        return self

    def nearest(self, where: TopicPartition, offset: int) -> int | None:
        """Nothing is ever in doubt."""

    def translate(self, where: TopicPartition, offset: int) -> MappedOffset | None:
        """The same offset, exactly."""
        return MappedOffset(offset, exact=True)

    def copies_none(self, where: TopicPartition, offset: int, log: Range) -> bool:
        """It is not known to."""
        return False

    def is_about(self, where: TopicPartition, ids: Ids, end: int) -> bool:
        """Of any log."""
        return True


@dataclass(slots=True)
class FakeSwitch:
    """
    The switch of a flow that obeys at once.

    Attributes:
        now: what is wanted of the flow.
        on_stop: called when it is stopped: what happens in that instant.
        calls: what was asked.
    """

    now: DesiredFlowState = field(default_factory=lambda: DesiredFlowState(state=FlowState.RUNNING))
    on_stop: Callable[[], None] = lambda: None
    calls: list[str] = field(default_factory=list)

    async def desired_state(self) -> DesiredFlowState:
        """What is wanted now."""
        return self.now

    async def why_not_copying(self) -> str | None:
        """The operator's reason, if it is stopped."""
        return self.now.reason if self.now.is_stopped else None

    async def stop(self, reason: str, *, by: str = "") -> None:
        """Stops it."""
        self.calls.append("stop")
        self.now = DesiredFlowState(state=FlowState.STOPPED, reason=reason, by=by)
        self.on_stop()
        await asyncio.sleep(0)

    async def until_stopped(self) -> None:
        """It is, as soon as it is wanted."""
        self.calls.append("wait")
        self.on_stop()

    async def resume(self, reason: str) -> None:
        """Lets it run."""
        self.calls.append("resume")
        self.now = DesiredFlowState(state=FlowState.RUNNING, reason=reason)


def switch(fake: FakeSwitch) -> FlowSwitch:
    """The fake, as a move takes it."""
    return cast("FlowSwitch", fake)


def fake_route(folder: Path, source: FakeSide, target: FakeSide) -> MoveRoute:
    """From A to B, where all that is copied has the same offset."""
    config = flow_config(maker_in(folder), SourceAndTarget(A, B))
    return MoveRoute(
        pair=Pair(flow=config, opposite=None),
        is_back=False,
        origin=source.side(),
        destination=target.side(),
        directions=(SameOffsets(config),),
    )
