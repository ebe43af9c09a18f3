"""The typed settings of the flows of one file."""

from __future__ import annotations

from dataclasses import replace

from mm2.config.clients import DataProducer, data_producer_properties
from mm2.config.connector_settings import CheckpointSettings, HeartbeatSettings, SourceSettings
from mm2.config.flow_settings import FlowConfig, HerderSettings
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.single_flow import single_flow
from mm2.core.model import SourceAndTarget
from mm2.errors import ConfigErrors

__all__ = [
    "CheckpointSettings",
    "DataProducer",
    "FlowConfig",
    "FlowReader",
    "HeartbeatSettings",
    "HerderSettings",
    "SourceSettings",
    "data_producer",
    "flow_config",
]


def flow_config(maker: MirrorMakerConfig, flow: SourceAndTarget) -> FlowConfig:
    """
    The settings of one flow.

    Raises:
        ConfigErrors: as of ``FlowReader.read``.
    """
    return FlowReader(maker).read(flow)


class FlowReader:
    """Reads flows of one file; each is computed once, although its opposite needs it, too."""

    def __init__(self, maker: MirrorMakerConfig) -> None:
        self._maker = maker
        self._read: dict[SourceAndTarget, FlowConfig] = {}

    def read(self, flow: SourceAndTarget) -> FlowConfig:
        """
        The settings of one flow.

        Raises:
            ConfigErrors: values that cannot be read, clusters without ``bootstrap.servers``,
                providers that fail: every mistake in what this flow uses.
        """
        config = self._single(flow)
        return replace(config, reverse=self._reverse(config), maker=self._maker)

    def _single(self, flow: SourceAndTarget) -> FlowConfig:
        if flow not in self._read:
            self._read[flow] = single_flow(self._maker, flow)
        return self._read[flow]

    def _reverse(self, config: FlowConfig) -> FlowConfig | None:
        """
        The opposite flow, if groups that read its copies are to find their way back.

        Mistakes in it are for whoever runs it to report; without it, no group is led back.
        """
        opposite = SourceAndTarget(config.flow.target, config.flow.source)
        if not config.checkpoint.reverse_checkpoints or not self._maker.is_enabled(opposite):
            return None
        try:
            reverse = self._single(opposite)
        except ConfigErrors:
            return None
        return reverse if reverse.source.runs and reverse.source.emit_offset_syncs else None


def data_producer(config: FlowConfig, task: int) -> DataProducer:
    """The producer of one task's mirrored records, defaults apart from the user's words (C221)."""
    return data_producer_properties(config.worker, config.source.properties, task)
