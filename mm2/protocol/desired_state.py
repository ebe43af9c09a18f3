"""
The desired state of a flow, as the records of its control topic say.

The last record of each kind applies, over restarts and under each leader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mm2.core.model import SOURCE_CONNECTOR
from mm2.protocol.command_records import Alterations, ConnectorState, DesiredConnectorState
from mm2.protocol.control_codec import ControlRecord
from mm2.protocol.control_records import DesiredFlowState, FlowState


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredState:
    """
    The desired state of a flow and its connectors.

    Attributes:
        flow: whether it is to copy at all; running without a record.
        connectors: by simple name of Java's class; without a record, a connector runs.
    """

    flow: DesiredFlowState = field(
        default_factory=lambda: DesiredFlowState(state=FlowState.RUNNING)
    )
    connectors: Mapping[str, DesiredConnectorState] = field(default_factory=dict)
    alterations: Alterations = field(default_factory=lambda: Alterations(changes={}))

    def state_of(self, connector: str) -> ConnectorState:
        """
        The desired state of a connector.

        A flow that is stopped stops its source connector; heartbeats and checkpoints go on.
        """
        if connector == SOURCE_CONNECTOR and self.flow.is_stopped:
            return ConnectorState.STOPPED
        desired = self.connectors.get(connector)
        return ConnectorState.RUNNING if desired is None else desired.state

    def reason_of(self, connector: str) -> str:
        """The reason that the operator gave; empty without one."""
        if connector == SOURCE_CONNECTOR and self.flow.is_stopped:
            return self.flow.reason
        desired = self.connectors.get(connector)
        return "" if desired is None else desired.reason

    def then(self, entry: ControlRecord | None) -> DesiredState:
        """What holds after one more record."""
        match entry:
            case DesiredFlowState():
                return replace(self, flow=entry)
            case DesiredConnectorState():
                return replace(self, connectors={**self.connectors, entry.connector: entry})
            case Alterations():
                return replace(self, alterations=entry)
            case _:
                return self
