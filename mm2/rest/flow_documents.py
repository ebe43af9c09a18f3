"""Renders views of flows as Connect's documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from mm2.herder.view.flow_follower import ConnectorView, FlowView, TaskView
from mm2.rest.connector_protocol import ConnectorStatus, ConnectorType, State
from mm2.rest.rest_errors import not_found

_RESTARTING: Final = "RESTARTING"
_ASSIGNED: Final = "task.assigned.partitions"


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
        apply_valid_overrides(config, view.steering.alterations.changes).config, connector
    )


def connector_of(view: FlowView, name: str, connector: str) -> ConnectorView:
    """
    How a connector is.

    Raises:
        RestError: nothing is known of it.
    """
    found = view.connector(connector)
    if found is None:
        raise not_found(f"No status found for connector {name}")
    return found


def state_of(seen: ConnectorView | TaskView | Status) -> State:
    """The state of a connector or task, for clients of Connect."""
    return State(state=seen.state.value, worker_id=seen.worker_id, trace=seen.trace or "")


def status_of(
    name: str, view: ConnectorView, kind: ConnectorType = ConnectorType.SOURCE
) -> ConnectorStatus:
    """The status of a connector, for clients of Connect."""
    return ConnectorStatus(
        name=name,
        type=kind,
        connector=state_of(view),
        tasks={
            task.task: state_of(task)
            # A connector that is stopped has no tasks in Connect, and clients know none such.
            for task in view.tasks
            if task.state is not RunState.STOPPED
        },
    )


def names_of(failed: FailedFlow) -> list[str]:
    """The names of the connectors of a flow that cannot run."""
    return [f"{failed.flow}.{connector}" for connector in CONNECTORS]


def failed_status(name: str, failed: FailedFlow) -> ConnectorStatus:
    """FAILED, the status of a connector of a flow that cannot run."""
    state = State(state=RunState.FAILED.value, worker_id="", trace=trace_of(failed))
    return ConnectorStatus(name=name, type=ConnectorType.SOURCE, connector=state)


def trace_of(failed: FailedFlow) -> str:
    """What is wrong with it, a line for each problem."""
    return "\n".join(map(str, failed.problems))


def restarting(
    status: ConnectorStatus, tasks: Sequence[int] | Mapping[int, State]
) -> ConnectorStatus:
    """The same, with RESTARTING for what is about to: the connector and these tasks."""

    def then(state: State) -> State:
        return State(state=_RESTARTING, worker_id=state.worker_id)

    return replace(
        status,
        connector=then(status.connector),
        tasks={
            number: then(state) if number in tasks else state
            for number, state in status.tasks.items()
        },
    )


def assigned_partitions(view: FlowView, connector: str, task: int) -> dict[str, str]:
    """What a task's configuration says of the partitions that it has."""
    if connector != SOURCE_CONNECTOR:
        return {}
    partitions = [str(each.source) for each in view.partitions if each.task == task]
    return {_ASSIGNED: ",".join(partitions)}
