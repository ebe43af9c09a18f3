"""Views of flows for whoever asks: a flow is followed while somebody does, and not otherwise."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from mm2.config.flow import FlowConfig
from mm2.errors import ClusterError, Unavailable, root_cause
from mm2.herder.flow_view import FlowFollower, FlowView

IDLE_S: Final = 60.0
"""A flow that nobody has asked about for so long is not followed any more."""

READY_WITHIN_S: Final = 15.0
"""A first view takes no longer than this."""


@dataclass(slots=True)
class _Followed:
    config: FlowConfig
    follower: FlowFollower
    until_s: float = 0.0
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    error: ClusterError | None = None


class FlowViews:
    """
    Follows flows on demand.

    Args:
        tasks: where following runs.
        idle_s: how long it goes on after the last question.
    """

    def __init__(self, tasks: asyncio.TaskGroup, *, idle_s: float = IDLE_S) -> None:
        self._tasks = tasks
        self._idle_s = idle_s
        self._followed: dict[str, _Followed] = {}

    async def of(self, config: FlowConfig) -> FlowView:
        """
        The flow as it is now.

        Raises:
            ClusterError: its target does not answer, or refuses.
        """
        followed = self._following(config)
        followed.until_s = asyncio.get_running_loop().time() + self._idle_s
        await self._until_ready(followed)
        if problem := followed.error or followed.follower.problem:
            raise problem
        return followed.follower.view()

    def _following(self, config: FlowConfig) -> _Followed:
        label = config.herder.names.label
        found = self._followed.get(label)
        if found is not None and found.config is config and not found.ended.is_set():
            return found
        if found is not None:
            found.ended.set()
        new = _Followed(config, FlowFollower(config))
        self._followed[label] = new
        self._tasks.create_task(self._run(new), name=f"rest-view-{label}")
        return new

    async def _until_ready(self, followed: _Followed) -> None:
        alias = followed.config.flow.target
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                await followed.follower.until_ready()
        except TimeoutError:
            problem = followed.error or followed.follower.problem
            raise problem or Unavailable(
                alias, f"nothing is known of the flow after {READY_WITHIN_S:.0f} s"
            ) from None

    async def _until_idle(self, followed: _Followed) -> None:
        """Waits until nobody has asked for long enough, or another follower has taken over."""
        now = asyncio.get_running_loop().time
        while not followed.ended.is_set() and (left := followed.until_s - now()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await followed.ended.wait()

    async def _run(self, followed: _Followed) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                following = tasks.create_task(followed.follower.run(), name="rest-follower")
                await self._until_idle(followed)
                following.cancel()
        except ExceptionGroup as errors:
            cause = root_cause(errors)
            if not isinstance(cause, ClusterError):
                raise
            followed.error = cause
        finally:
            followed.ended.set()
