"""Views of flows on demand: a flow is followed while clients ask for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.errors import ClusterError, ConfigError, Unavailable, root_cause
from mm2.herder.view.flow_follower import FlowFollower
from mm2.herder.view.flow_views import FlowView

log = structlog.get_logger()

IDLE_S: Final = 60.0
"""A flow is followed for so long after the last request."""

READY_WITHIN_S: Final = 30.0
"""A first view takes no longer than this."""

_UNREACHABLE_AFTER_S: Final = 4.5
"""A first view fails after so long if the target has failed a request; else it is waited for."""


@dataclass(slots=True)
class _Followed:
    config: FlowConfig
    follower: FlowFollower
    error: ClusterError | None = None
    is_over: bool = False
    was_ready: bool = False
    requests: int = 0
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None

    @property
    def problem(self) -> ClusterError | None:
        """Why there is no view of it; None if there is."""
        return self.error or self.follower.problem

    def end(self) -> None:
        """Ends following, unless a request still waits for a view."""
        if self.task is not None and not self.requests:
            self.task.cancel()


class FollowedFlows:
    """
    Follows flows on demand, in tasks of a group.

    Args:
        idle_s: how long a flow is followed after the last request.
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
        followed.requests += 1
        try:
            await _until_ready(followed)
        finally:
            followed.requests -= 1
            self._end_later(followed, self._idle_s)
        if problem := followed.problem:
            raise problem
        return followed.follower.view()

    async def last(self, config: FlowConfig) -> FlowView:
        """
        The flow as it is now, or as its topics were read last.

        Raises:
            ClusterError: its target does not answer, or refuses, and they were never read.
        """
        try:
            return await self.of(config)
        except ClusterError:
            followed = self._followed[config.herder.names.label]
            if not followed.was_ready:
                raise
            return followed.follower.view()

    def _following(self, config: FlowConfig) -> _Followed:
        label = config.herder.names.label
        found = self._followed.get(label)
        if found is not None and found.config is config and not found.is_over:
            return found
        if found is not None:
            self._end_later(found, 0)
        new = _Followed(config, FlowFollower(config))
        self._followed[label] = new
        new.task = self._tasks.create_task(_follow(new), name=f"rest-view-{label}")
        return new

    def _end_later(self, followed: _Followed, delay_s: float) -> None:
        if followed.timer is not None:
            followed.timer.cancel()
        followed.timer = asyncio.get_running_loop().call_later(delay_s, followed.end)


async def _until_ready(followed: _Followed) -> None:
    """
    Waits for a first view.

    Raises:
        ClusterError: there will be none, or not soon.
    """
    for within_s in (_UNREACHABLE_AFTER_S, READY_WITHIN_S - _UNREACHABLE_AFTER_S):
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await followed.follower.until_ready()
                followed.was_ready = True
                return
        if followed.problem:
            raise followed.problem
    reason = f"nothing is known of the flow after {READY_WITHIN_S:.0f} s"
    raise Unavailable(followed.config.flow.target, reason)


async def _follow(followed: _Followed) -> None:
    """Follows until cancelled; an error does not end the followers of other flows."""
    try:
        await followed.follower.run()
    except Exception as error:
        flow, cause = followed.config.flow, root_cause(error)
        if isinstance(cause, ConfigError):
            # Its message may contain a secret; clients get an error without it.
            reason = f"{cause.key or 'a setting'} cannot be used"
            log.error("rest.view_failed", flow=str(flow), error=reason)
        else:
            log.error("rest.view_failed", flow=str(flow), exc_info=error)
        known = cause if isinstance(cause, ClusterError) else None
        followed.error = known or Unavailable(flow.target, f"cannot be looked at: {cause}")
    finally:
        followed.is_over = True
