"""
What one flow is to do, typed: what the rest of the program sees of the configuration.

Everything is a plain value that can be pickled and sent to a worker. ``mm2.config.flow_config``
makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from mm2.config.clients import worker_client_properties
from mm2.config.connector_settings import CheckpointSettings, HeartbeatSettings, SourceSettings
from mm2.config.keys.keys_clients import ClientKind
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.record_clients import DataSettings
from mm2.core.flow_names import FlowNames
from mm2.core.model import CONNECTORS, SourceAndTarget
from mm2.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class HerderSettings:
    """
    What the flow's worker on the target cluster is set to; -1 is the broker's default.

    Positions are committed every second unless the user says otherwise, because what was copied
    since the last commit is copied again after a crash; Java's default is 60 s.

    Attributes:
        exactly_once: "disabled", "preparing" or "enabled".
    """

    group_id: str
    names: FlowNames
    config_topic: str
    offsets_topic: str
    status_topic: str
    config_replication_factor: int
    offsets_replication_factor: int
    status_replication_factor: int
    offsets_partitions: int
    status_partitions: int
    offset_flush_interval: timedelta
    shutdown_timeout: timedelta
    exactly_once: str
    properties: Mapping[str, str]

    def client(self, kind: ClientKind, role: str) -> dict[str, str]:
        """Settings of a client for the herder's own topics, in Java's key names."""
        return worker_client_properties(self.properties, kind, role)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowConfig:
    """
    Everything that one flow is to do.

    Attributes:
        worker: Java's worker configuration, resolved; ``herder`` is the same, typed.
        spark: ``spark.*`` keys for the session, which all flows share.
        warnings: a sentence for each spelling that Java 4.3 does not know, and for each key that
            has no effect.
        unread_keys: of these, what is said of keys that have no effect.
        parts: the connectors of the flow that are run here, by their simple names; a Connect
            worker's connector is one part.
        worker_topics: that a Connect worker keeps beside its connectors.
        reverse: the flow the other way, whose copies this flow translates offsets back from; None
            if it does not.
        maker: what all this was made from, for those who alter it; two flows are the same that do
            the same, whatever else their files hold.
    """

    flow: SourceAndTarget
    worker: Mapping[str, str]
    herder: HerderSettings
    source: SourceSettings
    checkpoint: CheckpointSettings
    heartbeat: HeartbeatSettings
    spark: Mapping[str, str]
    data: DataSettings
    warnings: tuple[str, ...] = ()
    unread_keys: tuple[ConfigError, ...] = field(default=(), compare=False)
    parts: tuple[str, ...] = CONNECTORS
    worker_topics: tuple[str, ...] = ()
    reverse: FlowConfig | None = None
    maker: MirrorMakerConfig | None = field(default=None, compare=False, repr=False)

    @property
    def is_dedicated(self) -> bool:
        """Whether it is a flow of a mirror's file, and not a connector of a Connect worker."""
        return self.herder.names.label == str(self.flow)

    @property
    def emits_checkpoints(self) -> bool:
        """Whether checkpoints are written, be it only for groups on their way back."""
        settings = self.checkpoint
        may = settings.emit_checkpoints is not None and not settings.refusals
        return may and (settings.enabled or self.reverse is not None)
