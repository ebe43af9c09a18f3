"""Renders configurations and views of flows as Connect's documents."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.config.keys.key_aliases import effective_settings
from mm2.config.layers import plain
from mm2.config.overrides import apply_valid_overrides
from mm2.config.text.redact import redacted
from mm2.core.connect.status_records import RunState, Status
from mm2.core.model import CONNECTORS, SOURCE_CONNECTOR
from mm2.herder.view.flow_views import ConnectorView, FlowView, TaskView
from mm2.rest.connector_protocol import ConnectorInfo, ConnectorStatus, ConnectorType, Position
from mm2.rest.rest_errors import not_found

_ASSIGNED: Final = "task.assigned.partitions"


def status_document(status: ConnectorStatus) -> dict[str, object]:
    """``ConnectorStateInfo`` of Connect."""
    return {
        "name": status.name,
        "connector": _state_fields(status.connector),
        "tasks": [task_document(number, each) for number, each in sorted(status.tasks.items())],
        "type": status.type.value,
    }


def task_document(number: int, status: Status) -> dict[str, object]:
    """``TaskState`` of Connect."""
    return {"id": number, **_state_fields(status)}


def _state_fields(status: Status) -> dict[str, object]:
    """Clients know a trace only if there is one."""
    fields: dict[str, object] = {"state": status.state.value, "worker_id": status.worker_id}
    return {**fields, "trace": status.trace} if status.trace else fields


def info_document(info: ConnectorInfo) -> dict[str, object]:
    """``ConnectorInfo`` of Connect."""
    return {
        "name": info.name,
        "config": dict(info.config),
        "tasks": [{"connector": info.name, "task": number} for number in sorted(info.tasks)],
        "type": info.type.value,
    }


def position_document(position: Position) -> dict[str, object]:
    """``ConnectorOffset`` of Connect."""
    return {"partition": dict(position.partition), "offset": dict(position.offset)}


def connector_name(config: FlowConfig, connector: str) -> str:
    """The name of a flow's connector over REST."""
    return f"{config.flow}.{connector}"


def existing(config: FlowConfig) -> list[str]:
    """The connectors that Java would have made (C112)."""
    settings = zip(CONNECTORS, (config.source, config.checkpoint, config.heartbeat), strict=True)
    return [connector for connector, each in settings if not each.refusals]


def shown_config(config: FlowConfig, connector: str) -> dict[str, str]:
    """A connector's configuration as written, so that providers' secrets are not in it."""
    assert config.maker is not None  # noqa: S101 - a dedicated node's flows come from its file
    written = plain(effective_settings(config.maker, config.flow, connector, []))
    return dict(sorted({**redacted(written), "name": connector_name(config, connector)}.items()))


def altered_config(config: FlowConfig, connector: str, view: FlowView) -> dict[str, str]:
    """A connector's configuration with the alterations that are known."""
    return shown_config(
        apply_valid_overrides(config, view.desired.alterations.changes).config, connector
    )


def connector_of(view: FlowView, name: str, connector: str) -> ConnectorView:
    """
    The view of one connector.

    Raises:
        RestError: the flow has none of this name.
    """
    found = view.connector(connector)
    if found is None:
        raise not_found(f"No status found for connector {name}")
    return found


def status_of(
    name: str, view: ConnectorView, kind: ConnectorType = ConnectorType.SOURCE
) -> ConnectorStatus:
    """The status of a connector, from its view."""
    return ConnectorStatus(
        name=name,
        type=kind,
        connector=_status(view),
        tasks={
            task.task: _status(task)
            # A connector that is stopped has no tasks in Connect, and clients know none such.
            for task in view.tasks
            if task.state is not RunState.STOPPED
        },
    )


def _status(view: ConnectorView | TaskView) -> Status:
    return Status(
        state=view.state, worker_id=view.worker_id, generation=view.generation, trace=view.trace
    )


def status_without_tasks(
    name: str,
    state: RunState,
    *,
    kind: ConnectorType = ConnectorType.SOURCE,
    worker_id: str = "",
    trace: str | None = None,
) -> ConnectorStatus:
    """The status of a connector that does not run, or of which no more is known."""
    status = Status(state=state, worker_id=worker_id, generation=0, trace=trace)
    return ConnectorStatus(name=name, type=kind, connector=status)


def restarting(status: ConnectorStatus, tasks: Collection[int]) -> ConnectorStatus:
    """The same, with RESTARTING for the connector and these tasks."""
    return replace(
        status,
        connector=_restarting(status.connector),
        tasks={
            number: _restarting(each) if number in tasks else each
            for number, each in status.tasks.items()
        },
    )


def _restarting(status: Status) -> Status:
    return replace(status, state=RunState.RESTARTING, trace=None)


def names_of(failed: FailedFlow) -> list[str]:
    """The names of the connectors of a flow that cannot run."""
    return [f"{failed.flow}.{connector}" for connector in CONNECTORS]


def problems_text(failed: FailedFlow) -> str:
    """Why a flow cannot run, a line for each problem."""
    return "\n".join(map(str, failed.problems))


def assigned_partitions(view: FlowView, connector: str, task: int) -> dict[str, str]:
    """The key of a task's configuration that lists its partitions."""
    if connector != SOURCE_CONNECTOR:
        return {}
    partitions = [str(each.source) for each in view.partitions if each.task == task]
    return {_ASSIGNED: ",".join(partitions)}
