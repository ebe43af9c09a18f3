"""What ``mm2 status`` shows of a flow, a row for each flow, node, task or partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from mm2.cli.rows import Row
from mm2.config.checks.failed_flows import FailedFlow
from mm2.core.connect.status_records import RunState
from mm2.core.model import NO_OFFSET, SourceAndTarget
from mm2.errors import ClusterError
from mm2.herder.view.flow_follower import ConnectorView, FlowView, PartitionView, TaskView
from mm2.herder.view.flow_problems import problems_of

Found: TypeAlias = FlowView | ClusterError | FailedFlow
"""A flow, or why its target cannot be asked, or why the flow cannot run."""

COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    "flow": (
        "flow",
        "state",
        "leader",
        "tasks",
        "running",
        "partitions",
        "lag",
        "records_per_s",
        "bytes_per_s",
        "delay_ms",
        "heartbeat_age_ms",
        "problems",
    ),
    "node": ("flow", "node", "host", "release", "config", "leads", "java"),
    "task": ("flow", "connector", "task", "state", "wanted", "generation", "worker_id", "trace"),
    "partition": (
        "flow",
        "topic",
        "partition",
        "remote",
        "task",
        "position",
        "end",
        "lag",
        "records_per_s",
        "bytes_per_s",
        "delay_ms",
        "lost",
        "skipped",
        "gaps",
        "error",
        "report_age_ms",
    ),
}
"""By what there is a row for."""

_BACKLOG_S: Final = 10.0
"""What takes longer to be copied is a backlog."""

_BAD: Final = (RunState.FAILED, RunState.UNASSIGNED)


@dataclass(frozen=True, slots=True)
class ShownRow:
    """
    A row.

    Attributes:
        row: by column.
        is_bad: whether it should catch the eye.
    """

    row: Row
    is_bad: bool


def rows_of(flow: SourceAndTarget, found: Found, by: str) -> list[ShownRow]:
    """
    The rows of a flow.

    A flow whose target cannot be asked has a row of its own only where there is one for each flow.

    Args:
        flow: its name.
        found: the flow.
        by: what there is a row for; a key of ``COLUMNS``.
    """
    if isinstance(found, FlowView):
        return list(_ROWS[by](found))
    if by != "flow":
        return []
    row: dict[str, str | None] = {**dict.fromkeys(COLUMNS["flow"]), "flow": str(flow)}
    if isinstance(found, FailedFlow):
        row |= {"state": RunState.FAILED.value, "problems": "; ".join(map(str, found.problems))}
    else:
        row["problems"] = str(found)
    return [ShownRow(row, is_bad=True)]


def _flow(view: FlowView) -> Iterator[ShownRow]:
    totals = view.totals
    states = [task.state for each in view.connectors for task in each.tasks]
    beat_ms = view.heartbeat_ms
    is_known = any(each.reported_ms is not None for each in view.partitions)
    delays = [delay for each in view.partitions if (delay := _delay_ms(view, each)) is not None]
    row = {
        "flow": str(view.flow),
        "state": view.state.value,
        "leader": view.leader.worker_id if view.leader and view.is_led else None,
        "tasks": len(states),
        "running": states.count(RunState.RUNNING),
        "partitions": totals.partitions,
        "lag": totals.lag if is_known and not totals.unknown else None,
        "records_per_s": round(totals.records_per_s) if is_known and view.is_led else None,
        "bytes_per_s": round(totals.bytes_per_s) if is_known and view.is_led else None,
        "delay_ms": max(delays, default=None),
        "heartbeat_age_ms": None if beat_ms is None else max(0, view.time_ms - beat_ms),
        "problems": _one_line("\n".join(problems_of(view)) or None),
    }
    yield ShownRow(row, is_bad=not view.is_as_wanted)


def _nodes(view: FlowView) -> Iterator[ShownRow]:
    others = view.other_nodes
    for node in view.nodes:
        row = {
            "flow": str(view.flow),
            "node": node.node,
            "host": node.host,
            "release": node.release,
            "config": node.config_digest,
            "leads": node.leads,
            "java": node.is_java,
        }
        yield ShownRow(row, is_bad=node in others)


def _tasks(view: FlowView) -> Iterator[ShownRow]:
    for connector in view.connectors:
        yield _task(view, connector, connector, None)
        for task in connector.tasks:
            yield _task(view, connector, task, task.task)


def _task(
    view: FlowView, connector: ConnectorView, each: ConnectorView | TaskView, number: int | None
) -> ShownRow:
    row = {
        "flow": str(view.flow),
        "connector": connector.name,
        "task": number,
        "state": each.state.value,
        "wanted": connector.wanted.value,
        "generation": each.generation,
        "worker_id": each.worker_id,
        "trace": _one_line(each.trace),
    }
    return ShownRow(row, is_bad=each.state in _BAD)


def _partitions(view: FlowView) -> Iterator[ShownRow]:
    for each in view.partitions:
        yield ShownRow(_partition(view, each), is_bad=each.error is not None)


def _partition(view: FlowView, each: PartitionView) -> Row:
    reported_ms = each.reported_ms
    is_known = reported_ms is not None
    return {
        "flow": str(view.flow),
        "topic": each.source.topic,
        "partition": each.source.partition,
        "remote": each.remote,
        "task": each.task,
        "position": _known(each.position),
        "end": _known(each.end),
        "lag": each.lag,
        "records_per_s": round(each.records_per_s) if is_known and view.is_led else None,
        "bytes_per_s": round(each.bytes_per_s) if is_known and view.is_led else None,
        "delay_ms": _delay_ms(view, each),
        "lost": each.lost if is_known else None,
        "skipped": each.skipped if is_known else None,
        "gaps": ", ".join(gap.kind for gap in each.gaps) or None,
        "error": _one_line(each.error),
        "report_age_ms": None if reported_ms is None else max(0, view.time_ms - reported_ms),
    }


def _delay_ms(view: FlowView, each: PartitionView) -> int | None:
    """
    How late records arrive; None if nobody reports it.

    Those of a backlog are as old as it is, which its lag tells, and not how long copying takes.
    """
    is_behind = (each.lag or 0) > _BACKLOG_S * each.records_per_s
    return None if each.reported_ms is None or not view.is_led or is_behind else each.latency_ms


def _one_line(text: str | None) -> str | None:
    return None if text is None else "; ".join(text.splitlines())


def _known(offset: int) -> int | None:
    return None if offset == NO_OFFSET else offset


_ROWS: Final[Mapping[str, Callable[[FlowView], Iterator[ShownRow]]]] = {
    "flow": _flow,
    "node": _nodes,
    "task": _tasks,
    "partition": _partitions,
}
