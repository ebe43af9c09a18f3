"""What is wrong with a flow, in sentences for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mm2.core.connect.status_records import RunState
from mm2.core.model import HEARTBEAT_CONNECTOR
from mm2.core.times import age_text
from mm2.herder.view.flow_views import ConnectorView, FlowView

_QUIET_MS: Final = 60_000
"""Heartbeats are reported each ten seconds at most, and one may be late."""


def problems_of(view: FlowView) -> list[str]:
    """What is not as it should be, and what is good to know; the worst first."""
    return [
        *_leader(view),
        *(problem for each in view.connectors for problem in _connector(each, is_led=view.is_led)),
        *_heartbeats_only(view),
        *_heartbeats(view),
        *_nodes(view),
        *_gaps(view),
        *_positions(view),
    ]


def _leader(view: FlowView) -> Iterator[str]:
    if view.is_run_by_java:
        hosts = sorted({node.host for node in view.nodes})
        yield f"Kafka's MirrorMaker runs it on {', '.join(hosts)}"
    elif view.leader is None:
        yield "nobody has ever led it"
    elif not view.is_led:
        yield f"nobody leads it; {view.leader.worker_id} did, {age_text(view.leader.age_ms)} ago"


def _connector(connector: ConnectorView, *, is_led: bool) -> Iterator[str]:
    if connector.state is RunState.FAILED:
        yield f"{connector.name}: {_first_line(connector.trace)}"
    elif connector.state is not connector.target_state and is_led:
        yield f"{connector.name} is to be {connector.target_state.value}"
    for task in connector.tasks:
        if task.state is RunState.FAILED:
            yield f"{connector.name} task {task.task}: {_first_line(task.trace)}"
    waiting = sum(task.state is RunState.UNASSIGNED for task in connector.tasks)
    if waiting and is_led:
        yield f"{connector.name}: {waiting} of {len(connector.tasks)} tasks have not started"


def _first_line(trace: str | None) -> str:
    lines = (trace or "no reason is known").splitlines()
    return lines[0] if len(lines) == 1 else f"{lines[0]} (and more)"


def _heartbeats_only(view: FlowView) -> Iterator[str]:
    """A flow exists for its heartbeats alone, which its user may not know."""
    if view.is_of_connector:
        return
    if [each.name for each in view.connectors] == [HEARTBEAT_CONNECTOR]:
        yield f"heartbeats only: no topic is copied unless {view.flow}.enabled = true"


def _heartbeats(view: FlowView) -> Iterator[str]:
    beats = view.connector(HEARTBEAT_CONNECTOR)
    if beats is None or beats.target_state is not RunState.RUNNING or view.heartbeat_ms is None:
        return
    age_ms = view.time_ms - view.heartbeat_ms
    if view.is_led and age_ms > _QUIET_MS:
        yield f"the last heartbeat is {age_text(age_ms)} old"


def _nodes(view: FlowView) -> Iterator[str]:
    for node in view.other_nodes:
        yield f"the file of {node.node} says something else than the leader's"


def _gaps(view: FlowView) -> Iterator[str]:
    if count := view.totals.with_gaps:
        yield f"data are missing in {count} partition{'s' if count > 1 else ''}"


def _positions(view: FlowView) -> Iterator[str]:
    if count := sum(each.contested for each in view.partitions):
        of = f"{count} partition{'s' if count > 1 else ''}"
        yield f"positions of {of} stand in several partitions of their topic; the newest count"
