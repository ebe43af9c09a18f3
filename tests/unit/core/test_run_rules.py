"""What connectors and tasks are said to do."""

from __future__ import annotations

import pytest

from mm2.core.connect.run_states import LOST_MS, connector_state, task_state, trace_of
from mm2.core.connect.status_records import RunState
from mm2.core.model import TopicName, TopicPartition

RUNNING, PAUSED, STOPPED = RunState.RUNNING, RunState.PAUSED, RunState.STOPPED
FAILED, UNASSIGNED = RunState.FAILED, RunState.UNASSIGNED


@pytest.mark.parametrize(
    ("wanted", "is_led", "failure", "still_runs", "state"),
    [
        (RUNNING, True, None, True, RUNNING),
        (RUNNING, True, None, False, RUNNING),
        (RUNNING, True, "no", False, FAILED),
        (RUNNING, False, "no", False, UNASSIGNED),
        (STOPPED, True, None, False, STOPPED),
        (STOPPED, False, None, False, STOPPED),
        (STOPPED, True, None, True, RUNNING),
        (PAUSED, True, "no", False, PAUSED),
        (PAUSED, True, None, True, RUNNING),
    ],
)
def test_states_of_connectors(
    wanted: RunState, *, is_led: bool, failure: str | None, still_runs: bool, state: RunState
) -> None:
    found = connector_state(wanted, is_led=is_led, failure=failure, still_runs=still_runs)
    assert found is state


@pytest.mark.parametrize(
    ("wanted", "is_led", "failure", "silent_ms", "state"),
    [
        (RUNNING, True, None, 0, RUNNING),
        (RUNNING, True, None, LOST_MS, UNASSIGNED),
        (RUNNING, True, None, None, UNASSIGNED),
        (RUNNING, True, "no", 0, FAILED),
        (RUNNING, True, "no", None, FAILED),
        (RUNNING, False, "no", 0, UNASSIGNED),
        (STOPPED, True, None, 0, RUNNING),
        (STOPPED, True, None, LOST_MS, None),
        (STOPPED, False, None, None, None),
        (PAUSED, True, None, 0, RUNNING),
        (PAUSED, True, "no", LOST_MS, PAUSED),
        (PAUSED, False, None, None, PAUSED),
    ],
)
def test_states_of_tasks(
    wanted: RunState,
    *,
    is_led: bool,
    failure: str | None,
    silent_ms: int | None,
    state: RunState | None,
) -> None:
    assert task_state(wanted, is_led=is_led, failure=failure, silent_ms=silent_ms) is state


def test_a_trace_names_partitions_and_ends_somewhere() -> None:
    assert trace_of({}) is None
    many = {TopicPartition(TopicName("t"), n): "too large" for n in range(22)}
    lines = (trace_of(many) or "").splitlines()
    assert lines[0] == "t-0: too large"
    assert lines[19:] == ["t-19: too large", "and 2 more"]
    assert trace_of({TopicPartition(TopicName("t"), 1): "x"}) == "t-1: x"
