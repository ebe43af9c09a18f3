"""Answers about connectors in Connect's JSON."""

from __future__ import annotations

from mm2.rest.connector_protocol import ConnectorInfo, ConnectorStatus, Position, State


def status_document(status: ConnectorStatus) -> dict[str, object]:
    """``ConnectorStateInfo`` of Connect."""
    return {
        "name": status.name,
        "connector": state_document(status.connector),
        "tasks": [task_document(number, state) for number, state in sorted(status.tasks.items())],
        "type": status.type.value,
    }


def state_document(state: State) -> dict[str, object]:
    """How a connector is itself; the trace only if there is one."""
    fields: dict[str, object] = {"state": state.state, "worker_id": state.worker_id}
    return {**fields, "trace": state.trace} if state.trace else fields


def task_document(number: int, state: State) -> dict[str, object]:
    """How one task is."""
    return {"id": number, **state_document(state)}


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
