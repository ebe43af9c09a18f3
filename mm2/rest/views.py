"""Views of flows for whoever asks: a flow is followed while somebody does, and not otherwise."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from mm2.config.flow import FlowConfig
from mm2.core.model import SourceAndTarget
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
    limit: asyncio.Timeout
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
        self._followed: dict[SourceAndTarget, _Followed] = {}

    async def of(self, config: FlowConfig) -> FlowView:
        """
        The flow as it is now.

        Raises:
            ClusterError: its target does not answer, or refuses.
        """
        followed = self._following(config)
        followed.limit.reschedule(asyncio.get_running_loop().time() + self._idle_s)
        await self._until_ready(followed)
        if problem := followed.error or followed.follower.problem:
            raise problem
        return followed.follower.view()

    def _following(self, config: FlowConfig) -> _Followed:
        found = self._followed.get(config.flow)
        if found is not None and found.config is config and not found.ended.is_set():
            return found
        if found is not None:
            found.limit.reschedule(asyncio.get_running_loop().time())
        new = _Followed(config, FlowFollower(config), asyncio.timeout(None))
        self._followed[config.flow] = new
        self._tasks.create_task(self._run(new), name=f"rest-view-{config.flow}")
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

    async def _run(self, followed: _Followed) -> None:
        try:
            async with followed.limit:
                await followed.follower.run()
        except TimeoutError:
            pass  # nobody asks any more
        except ExceptionGroup as errors:
            cause = root_cause(errors)
            if not isinstance(cause, ClusterError):
                raise
            followed.error = cause
        finally:
            followed.ended.set()
