"""
What is wanted of a move of consumer groups, and what it comes to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mm2.core.failover.group_facts import GroupFacts, WithoutCheckpoint
from mm2.core.failover.verdicts import Verdict

Say = Callable[[str], None]
"""Tells people how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOptions:
    """
    What the user wants.

    Attributes:
        groups: which; None for all.
        is_planned: the origin answers, and nothing may be read again.
        gives_up: whether an origin that answers is taken for lost, if it is not planned.
        without_checkpoint: where groups go on of which nothing is known, if it is not planned.
        drains: whether everything must be copied, not only what the groups have read.
        fences: whether the flow is stopped, so that nothing comes late.
        resumes: whether a flow that was stopped goes on afterwards.
        forced: whether costs are accepted.
        strict: whether cautions count as a no.
        timeout_s: how long to wait for the copy.
        heartbeat_age_ms: how old the last heartbeat may be.
    """

    groups: tuple[str, ...] | None
    is_planned: bool = True
    gives_up: bool = False
    without_checkpoint: WithoutCheckpoint = WithoutCheckpoint.LEAVE
    drains: bool = False
    fences: bool = False
    resumes: bool = False
    forced: bool = False
    strict: bool = False
    timeout_s: float = 60.0
    heartbeat_age_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    What a move would do, or has done.

    Attributes:
        groups: where they stand and where they go on.
        verdicts: of all checks.
        is_go: whether the move may be made.
        is_done: whether it was made.
    """

    groups: tuple[GroupFacts, ...]
    verdicts: tuple[Verdict, ...]
    is_go: bool
    is_done: bool = False
