"""
Makes the typed settings of one flow from the configuration of the whole file.

``mm2.config.flow_draft`` collects its parts; all mistakes come out together, each with the key and
line where the user wrote it.
"""

from __future__ import annotations

from dataclasses import replace

from mm2.config.clients import DataProducer, data_producer_properties
from mm2.config.connector_reading import read_checkpoint, read_heartbeat, read_herder, read_source
from mm2.config.connector_settings import (
    CheckpointSettings,
    ConnectorSettings,
    HeartbeatSettings,
    SourceSettings,
)
from mm2.config.flow_draft import FlowDraft
from mm2.config.flow_settings import FlowConfig, HerderSettings
from mm2.config.keys.definition import by_line
from mm2.config.keys.keys_mm2 import SPARK_PREFIX
from mm2.config.layers import FlowLayers
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import (
    CHECKPOINT_CONNECTOR,
    CONNECTORS,
    HEARTBEAT_CONNECTOR,
    SOURCE_CONNECTOR,
    SourceAndTarget,
)
from mm2.errors import ConfigErrors

__all__ = [
    "CheckpointSettings",
    "ConnectorSettings",
    "DataProducer",
    "FlowConfig",
    "HeartbeatSettings",
    "HerderSettings",
    "SourceSettings",
    "data_producer",
    "flow_config",
    "single_flow",
]


def flow_config(maker: MirrorMakerConfig, flow: SourceAndTarget) -> FlowConfig:
    """
    The settings of one flow.

    Raises:
        ConfigErrors: values that cannot be read, clusters without ``bootstrap.servers``, providers
            that fail:
            every mistake in what this flow uses.
    """
    config = single_flow(maker, flow)
    return replace(config, reverse=_reverse(maker, config), maker=maker)


def _reverse(maker: MirrorMakerConfig, config: FlowConfig) -> FlowConfig | None:
    """
    The opposite flow, if groups that read its copies are to find their way back.

    Mistakes in it are for whoever runs it to report; without it, no group is led back.
    """
    opposite = SourceAndTarget(config.flow.target, config.flow.source)
    if not config.checkpoint.reverses or not maker.is_enabled(opposite):
        return None
    try:
        reverse = single_flow(maker, opposite)
    except ConfigErrors:
        return None
    return reverse if reverse.source.runs and reverse.source.emit_offset_syncs else None


def single_flow(layers: FlowLayers, flow: SourceAndTarget) -> FlowConfig:
    """
    The settings of one flow by itself, from wherever they come.

    Raises:
        ConfigErrors: every mistake in what the flow uses.
    """
    draft = FlowDraft(layers, flow)
    worker = draft.worker()
    connectors = {connector: draft.connector(connector) for connector in CONNECTORS}
    draft.check_obeyed(worker, connectors)
    draft.check_overrides(worker, connectors[SOURCE_CONNECTOR].properties)
    draft.check_cluster("source", flow.source, connectors[SOURCE_CONNECTOR].properties)
    draft.check_cluster("target", flow.target, connectors[SOURCE_CONNECTOR].properties)
    data = draft.data_clients(worker, connectors[SOURCE_CONNECTOR])
    draft.check_exactly_once(worker, connectors[SOURCE_CONNECTOR].properties)
    if draft.mistakes:
        raise ConfigErrors(sorted(draft.mistakes.values(), key=by_line))
    return FlowConfig(
        flow=flow,
        worker=worker.properties,
        herder=read_herder(worker, layers.flow_names(flow, worker.text("group.id"))),
        source=read_source(flow, connectors[SOURCE_CONNECTOR]),
        checkpoint=read_checkpoint(flow, connectors[CHECKPOINT_CONNECTOR]),
        heartbeat=read_heartbeat(flow, connectors[HEARTBEAT_CONNECTOR]),
        spark=spark_properties(layers),
        data=data,
        warnings=tuple(dict.fromkeys([*draft.warnings, *map(str, draft.doubts.values())])),
        doubts=tuple(draft.doubts.values()),
    )


def data_producer(config: FlowConfig, task: int) -> DataProducer:
    """The producer of one task's mirrored records, defaults apart from the user's words (C221)."""
    return data_producer_properties(config.worker, config.source.properties, task)


def spark_properties(layers: FlowLayers) -> dict[str, str]:
    """The keys for the Spark session, resolved; none if a cluster is called "spark"."""
    if SPARK_PREFIX.rstrip(".") in layers.clusters:
        return {}
    return layers.resolve({k: v for k, v in layers.raw.items() if k.startswith(SPARK_PREFIX)})
