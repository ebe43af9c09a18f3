"""Derives the states of a flow's connectors and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mm2.core.connect.status_records import RunState
from mm2.core.model import TopicPartition

LOST_MS: Final = 15_000
"""
A task without a report for so long is gone; tasks report every few seconds, and when they end.

That is longer than it may write without a lease of its leader
(``mm2.core.leadership.state_machine``).
"""

_MOST_NAMED: Final = 20
"""Errors in one trace."""


def connector_state(
    target: RunState, *, is_led: bool, failure: str | None = None, still_runs: bool = False
) -> RunState:
    """
    The state of a connector.

    Args:
        target: RUNNING, PAUSED or STOPPED.
        still_runs: whether a task of it has not yet drained and ended.
    """
    if target is not RunState.RUNNING and not still_runs:
        return target
    if not is_led:
        return RunState.UNASSIGNED
    return RunState.RUNNING if failure is None else RunState.FAILED


def task_state(
    target: RunState, *, is_led: bool, failure: str | None = None, silent_ms: int | None = None
) -> RunState | None:
    """
    A task's run state; None once a stopped connector's task is gone.

    Args:
        failure: why it, or a partition of it, has stopped.
        silent_ms: how long ago it reported; None if it has ended, or has not started.
    """
    is_there = silent_ms is not None and silent_ms < LOST_MS
    if target is not RunState.RUNNING and not is_there:
        return None if target is RunState.STOPPED else target
    if not is_led:
        return RunState.UNASSIGNED
    if failure is not None:
        return RunState.FAILED
    return RunState.RUNNING if is_there else RunState.UNASSIGNED


def trace_of(errors: Mapping[TopicPartition, str]) -> str | None:
    """Why partitions have stopped, one a line, in their order; None if none has."""
    lines = [f"{where}: {error}" for where, error in sorted(errors.items())]
    left_out = len(lines) - _MOST_NAMED
    if left_out > 0:
        lines[_MOST_NAMED:] = [f"and {left_out} more"]
    return "\n".join(lines) or None
