"""What ``mm2 status`` and its kin show of a flow: rows for flows, nodes, tasks, partitions ..."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from mm2.cli.rows import Row
from mm2.config.checks.failed_flows import FailedFlow
from mm2.core.connect.status_records import RunState
from mm2.core.first_copy import FirstCopyProgress, first_copy_progress
from mm2.core.model import NO_OFFSET, SourceAndTarget
from mm2.errors import ClusterError
from mm2.herder.view.flow_problems import problems_of
from mm2.herder.view.flow_views import ConnectorView, FlowView, PartitionView, TaskView
from mm2.herder.view.topic_views import flow_delay_ms, partition_delay_ms, topics_of

Found: TypeAlias = FlowView | ClusterError | FailedFlow
"""A flow, or why its target cannot be asked, or why the flow cannot run."""

_PROGRESS: Final = (
    "lag",
    "percent",
    "bytes_left",
    "eta_ms",
    "records_per_s",
    "bytes_per_s",
    "delay_ms",
)

COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    "flow": (
        "flow",
        "state",
        "leader",
        "tasks",
        "running",
        "partitions",
        *_PROGRESS,
        "heartbeat_age_ms",
        "problems",
    ),
    "node": ("flow", "node", "host", "release", "config", "leads", "warm", "java"),
    "task": ("flow", "connector", "task", "state", "wanted", "generation", "worker_id", "trace"),
    "topic": (
        "flow",
        "topic",
        "remote",
        "partitions",
        *_PROGRESS,
        "error",
    ),
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
        "left_out",
        "gaps",
        "error",
        "report_age_ms",
    ),
    "topology": (
        "source",
        "target",
        "state",
        "topics",
        "partitions",
        "lag",
        "percent",
        "records_per_s",
        "bytes_per_s",
        "problems",
    ),
    "lag": ("flow", "topic", "partition", "position", "end", "lag", "eta_ms", "delay_ms"),
}
"""By what there is a row for."""

BY: Final = ("flow", "node", "task", "topic", "partition")
"""What ``mm2 status --by`` takes; the others have commands of their own."""

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
    if by not in {"flow", "topology"}:
        return []
    named = {"flow": str(flow), "source": flow.source, "target": flow.target}
    row: dict[str, str | None] = {column: named.get(column) for column in COLUMNS[by]}
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
    row = {
        "flow": str(view.flow),
        "state": view.state.value,
        "leader": view.leader.worker_id if view.leader and view.is_led else None,
        "tasks": len(states),
        "running": states.count(RunState.RUNNING),
        "partitions": totals.partitions,
        "lag": totals.lag if is_known and not totals.unknown else None,
        **_progress(view, first_copy_progress(view.partitions), is_known=is_known),
        "delay_ms": flow_delay_ms(view, view.partitions),
        "heartbeat_age_ms": None if beat_ms is None else max(0, view.time_ms - beat_ms),
        "problems": _one_line("\n".join(problems_of(view)) or None),
    }
    yield ShownRow(row, is_bad=not view.is_in_target_state)


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
            "warm": node.is_warm,
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
        "wanted": connector.target_state.value,
        "generation": each.generation,
        "worker_id": each.worker_id,
        "trace": _one_line(each.trace),
    }
    return ShownRow(row, is_bad=each.state in _BAD)


def _topics(view: FlowView) -> Iterator[ShownRow]:
    for each in topics_of(view):
        is_known = any(part.reported_ms is not None for part in each.partitions)
        lags = [part.lag for part in each.partitions]
        row = {
            "flow": str(view.flow),
            "topic": each.topic,
            "remote": each.remote,
            "partitions": len(each.partitions),
            "lag": None if None in lags else each.progress.records_left,
            **_progress(view, each.progress, is_known=is_known),
            "delay_ms": each.delay_ms,
            "error": _one_line("\n".join(each.errors) or None),
        }
        yield ShownRow(row, is_bad=bool(each.errors))


def _progress(view: FlowView, progress: FirstCopyProgress, *, is_known: bool) -> Row:
    """How far a copy is; rates, and what follows from them, only while somebody copies."""
    is_live = is_known and view.is_led
    return {
        "percent": progress.percent if is_known else None,
        "bytes_left": progress.bytes_left if is_known else None,
        "eta_ms": progress.eta_s * 1000 if is_live and progress.eta_s is not None else None,
        "records_per_s": round(progress.records_per_s) if is_live else None,
        "bytes_per_s": round(progress.bytes_per_s) if is_live else None,
    }


def _topology(view: FlowView) -> Iterator[ShownRow]:
    (flow,) = _flow(view)
    named: Row = {
        "source": view.flow.source,
        "target": view.flow.target,
        "topics": len({each.source.topic for each in view.partitions}),
    }
    row: Row = {**flow.row, **named}
    yield ShownRow({column: row[column] for column in COLUMNS["topology"]}, flow.is_bad)


def _lags(view: FlowView) -> Iterator[ShownRow]:
    for each in sorted(view.partitions, key=lambda each: -(each.lag or 0)):
        progress = first_copy_progress([each])
        is_known = each.reported_ms is not None
        row = {**_partition(view, each), **_progress(view, progress, is_known=is_known)}
        shown = {column: row[column] for column in COLUMNS["lag"]}
        yield ShownRow(shown, is_bad=each.error is not None)


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
        "delay_ms": partition_delay_ms(view, each),
        "lost": each.lost if is_known else None,
        "skipped": each.skipped if is_known else None,
        "left_out": each.left_out if is_known else None,
        "gaps": ", ".join(gap.kind for gap in each.gaps) or None,
        "error": _one_line(each.error),
        "report_age_ms": None if reported_ms is None else max(0, view.time_ms - reported_ms),
    }


def _one_line(text: str | None) -> str | None:
    return None if text is None else "; ".join(text.splitlines())


def _known(offset: int) -> int | None:
    return None if offset == NO_OFFSET else offset


_ROWS: Final[Mapping[str, Callable[[FlowView], Iterator[ShownRow]]]] = {
    "flow": _flow,
    "node": _nodes,
    "task": _tasks,
    "topic": _topics,
    "partition": _partitions,
    "topology": _topology,
    "lag": _lags,
}
