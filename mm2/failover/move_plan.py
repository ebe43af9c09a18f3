"""The options of a move of consumer groups, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mm2.core.checks import Check
from mm2.core.failover.moving_group import MovingGroup, WithoutCheckpoint

Report = Callable[[str], None]
"""Takes sentences about the progress, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOptions:
    """
    What the user asks for.

    Attributes:
        groups: which; None for all.
        is_planned: the origin answers, and nothing may be read again.
        assume_lost: whether an origin that answers is taken for lost, if it is not planned.
        without_checkpoint: where groups go on of which nothing is known, if it is not planned.
        drain: whether everything must be copied, not only what the groups have read.
        stop_flow: whether the flow is stopped, so that nothing comes late.
        resume_flow: whether a flow that a move has stopped is resumed afterwards.
        forced: whether costs are accepted.
        strict: whether cautions count as a no-go.
    """

    groups: tuple[str, ...] | None
    is_planned: bool = True
    assume_lost: bool = False
    without_checkpoint: WithoutCheckpoint = WithoutCheckpoint.LEAVE
    drain: bool = False
    stop_flow: bool = False
    resume_flow: bool = False
    forced: bool = False
    strict: bool = False
    timeout_s: float = 60.0
    heartbeat_age_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a move would do, or has done if ``is_done``; it may be made if ``is_go``."""

    groups: tuple[MovingGroup, ...]
    checks: tuple[Check, ...]
    is_go: bool
    is_done: bool = False
