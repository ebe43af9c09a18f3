"""A flow that this node leads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mm2.config.flow_config import FlowConfig
from mm2.core.connect.status_records import ConnectorKey, TaskKey
from mm2.herder.view.flow_snapshot import FlowSnapshot


@dataclass(frozen=True, slots=True)
class LedFlow:
    """
    What a leader knows of its flow.

    Attributes:
        config: as the node's file has it.
        snapshot: goes on changing.
        failures: why connectors and tasks do not run, as only the leader itself knows.
    """

    config: FlowConfig
    snapshot: FlowSnapshot
    failures: Mapping[ConnectorKey | TaskKey, str] = field(default_factory=dict)
