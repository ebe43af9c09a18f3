"""
The settings of one connector in a worker, as layers: its own keys, and below them its worker's.

The worker's cluster is the target of source connectors and the source of sink connectors, unless
the connector says where else it is. Whatever a connector is, its positions, leases and progress are
on its target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from mm2.config.clients import with_prefix
from mm2.config.keys.keys_mm2 import SPARK_PREFIX
from mm2.config.keys.keys_security import CLIENT_NAMES
from mm2.config.layers import CONNECTOR_LEVEL, Place, Setting, filled, plain, with_line
from mm2.config.layers import WORKER_LEVEL as _WORKER
from mm2.config.text.redact import as_written
from mm2.connect.connector_classes import ConnectorClass
from mm2.connect.worker_config import STANDALONE_GROUP, WorkerConfig, is_same_cluster
from mm2.core.flow_names import FlowNames, connector_names, topic_label
from mm2.core.model import HEARTBEAT_CONNECTOR, ClusterAlias, SourceAndTarget
from mm2.errors import ConfigError, ConfigErrors

_SERVERS: Final = "bootstrap.servers"
_KINDS: Final = ("producer", "consumer", "admin")
_HEADER_CONVERTER: Final = ("header.converter", "SimpleHeaderConverter")
_OFF: Final = {"enabled": "false", "emit.heartbeats.enabled": "false"}


@dataclass(frozen=True, kw_only=True)
class ConnectorLayers:
    """
    Where the settings of a connector's flow come from (``FlowLayers``).

    Args:
        own: its configuration as written.
        lines: line of each of these keys, for messages.
    """

    name: str
    kind: ConnectorClass
    own: Mapping[str, str]
    worker: WorkerConfig
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def raw(self) -> Mapping[str, str]:
        """The connector's keys, and the worker's for Spark."""
        spark = {k: v for k, v in self.worker.raw.items() if k.startswith(SPARK_PREFIX)}
        return {**spark, **self.own}

    @property
    def environment(self) -> Mapping[str, str] | None:
        """Variables for the environment provider."""
        return self.worker.environment

    @property
    def clusters(self) -> tuple[ClusterAlias, ...]:
        """None has keys of its own here that begin with its alias."""
        return ()

    def keys_with_prefix(self, prefix: str) -> list[str]:
        """The keys that begin with ``prefix``, in their order."""
        return [key for key in self.raw if key.startswith(prefix)]

    def cluster_settings(self, alias: str) -> dict[str, Setting]:
        """What the worker's file says of its producers and consumers."""
        del alias
        return _settings(self.worker.raw, _WORKER)

    def worker_settings(self, flow: SourceAndTarget) -> dict[str, Setting]:
        """
        The worker's keys, with the connections and producers of the connector's target.

        Raises:
            ConfigErrors: an expression of the connector cannot be resolved.
        """
        settings = _settings(self.worker.properties, _WORKER)
        if not self._at_target:
            settings = {
                key: setting for key, setting in settings.items() if not _connects(key)
            } | self._resolved(self._target_clients)
        if self.kind.is_sink:
            settings = {k: v for k, v in settings.items() if not k.startswith("producer.")}
            settings |= self._resolved(self._sink_producer())
        group = _settings({"group.id": self._group_of(flow)}, _WORKER)
        return filled(settings, {"client.id": self._group_id}) | self._topics(flow) | group

    def connector_settings(self, flow: SourceAndTarget, connector: str) -> dict[str, Setting]:
        """The connector's keys, and from the worker what it leaves unsaid of the cluster there."""
        del flow
        settings = _settings(self.own, CONNECTOR_LEVEL)
        settings |= {"name": Setting(self.name, "name", CONNECTOR_LEVEL)}
        if self.kind.is_sink:
            settings |= self._source_consumer()
        settings = self._clusters() | settings | self._addresses()
        if connector != self.kind.part or self.kind.is_checkpoint_sink:
            settings |= _settings(_OFF, CONNECTOR_LEVEL)
        defaults = {"enabled": "true"}
        if self.kind.is_checkpoint_sink:
            # Leading groups home writes to the other cluster, which nobody may have asked for.
            defaults |= {
                "sync.group.offsets.enabled": "true",
                "reverse.checkpointing.enabled": "false",
            }
        return filled(settings, defaults)

    def inherited_settings(self, flow: SourceAndTarget, connector: str) -> dict[str, Setting]:
        """What of it the worker hands down."""
        del flow, connector
        found = self._clusters() | self._worker_consumer()
        return {key: setting for key, setting in found.items() if setting.level == _WORKER}

    def resolve(self, properties: Mapping[str, str]) -> dict[str, str]:
        """
        Replaces expressions by what the worker's providers say.

        Raises:
            ConfigErrors: a provider fails.
        """
        try:
            return self.worker.providers().resolve_all(properties)
        except ConfigError as error:
            raise ConfigErrors([self.located(error)]) from error

    def unanswered(self, text: str) -> str | None:
        """The first expression in a text that its provider has no value for."""
        return self.worker.providers().unanswered(text)

    def located(self, error: ConfigError) -> ConfigError:
        """The same mistake with the line of its key in its file, and without resolved values."""
        raw = {**self.worker.raw, **self.own}
        return as_written(with_line(error, self.lines), raw)

    def written(self, flow: SourceAndTarget, place: Place, name: str) -> str:
        """How the user would write a key of the worker or of one of the clusters."""
        del flow
        return name if place == "worker" else f"{place}.cluster.{name}"

    def flow_names(self, flow: SourceAndTarget, group_id: str) -> FlowNames:
        """Names that no other connector has."""
        del flow
        return connector_names(self.name, group_id=group_id)

    def needs(self, place: Place) -> bool:
        """Whether the connector talks to that cluster at all."""
        return place == "target" or self.kind.part != HEARTBEAT_CONNECTOR

    @property
    def _group_id(self) -> str:
        return self.worker.group_id

    def _group_of(self, flow: SourceAndTarget) -> str:
        """
        Whose the connector's names are.

        Standalone workers that say nothing do not all belong together: those that do other things
        have other names.
        """
        if self.worker.is_distributed or self._group_id != STANDALONE_GROUP:
            return self._group_id
        return f"{STANDALONE_GROUP}-{flow.source}-{flow.target}"

    def _is_worker(self, *keys: str) -> bool:
        """Whether none of these keys leads to a cluster other than the worker's."""
        servers = self.worker.properties[_SERVERS]
        return all(is_same_cluster(self._value(key, servers), servers) for key in keys)

    def _value(self, key: str, default: str) -> str:
        """A key of the connector, resolved; as written if it cannot be, which others report."""
        written = self.own.get(key, default)
        try:
            return self.resolve({key: written})[key]
        except ConfigErrors:
            return written

    @cached_property
    def _at_source(self) -> bool:
        return self.kind.is_sink and self._is_worker(f"source.cluster.{_SERVERS}")

    @cached_property
    def _at_target(self) -> bool:
        return not self.kind.is_sink and self._is_worker(
            f"target.cluster.{_SERVERS}", f"producer.override.{_SERVERS}"
        )

    @cached_property
    def _target_clients(self) -> dict[str, Setting]:
        """How to connect to a target that is not the worker's cluster."""
        own = _settings(self.own, CONNECTOR_LEVEL)
        found: dict[str, Setting] = {}
        for prefix in ("target.cluster.", "producer.override."):
            below = with_prefix(own, prefix)
            if _SERVERS in below:
                # A connection is described in one place; two halves do not make one.
                found = {k: v for k, v in below.items() if k in CLIENT_NAMES}
        return found

    def _clusters(self) -> dict[str, Setting]:
        """Connections that the connector leaves to the worker, or to its producer's override."""
        of_worker = {
            key: Setting(value, key, _WORKER)
            for key, value in self.worker.properties.items()
            if key in CLIENT_NAMES
        }
        found: dict[str, Setting] = {}
        if self._at_source:
            found |= _below("source.cluster.", of_worker)
        if self._at_target:
            found |= _below("target.cluster.", of_worker)
        elif f"target.cluster.{_SERVERS}" not in self.own:
            found |= _below("target.cluster.", self._target_clients)
        return found

    def _addresses(self) -> dict[str, Setting]:
        """
        The worker's own servers, where the connector names some of them.

        The worker's credentials go there, and to no server that is named beside them.
        """
        prefixes = ("source.cluster.",) * self._at_source
        prefixes += ("target.cluster.", "producer.override.") * self._at_target
        servers = Setting(self.worker.properties[_SERVERS], _SERVERS, _WORKER)
        named = (f"{prefix}{_SERVERS}" for prefix in prefixes)
        return {key: servers for key in named if key in self.own}

    def _source_consumer(self) -> dict[str, Setting]:
        """A sink's consumer: the worker's ``consumer.*``, and the connector's overrides."""
        own = _settings(self.own, CONNECTOR_LEVEL)
        return self._worker_consumer() | _below(
            "source.consumer.",
            with_prefix(own, "consumer.")
            | with_prefix(own, "source.consumer.")
            | with_prefix(own, "consumer.override."),
        )

    def _worker_consumer(self) -> dict[str, Setting]:
        worker = _settings(self.worker.raw, _WORKER) if self._at_source else {}
        return _below("source.consumer.", with_prefix(worker, "consumer."))

    def _sink_producer(self) -> dict[str, Setting]:
        """A sink's producer of records is the connector's business alone (KIP-382)."""
        own = _settings(self.own, CONNECTOR_LEVEL)
        return _below(
            "producer.", with_prefix(own, "producer.") | with_prefix(own, "target.producer.")
        )

    def _topics(self, flow: SourceAndTarget) -> dict[str, Setting]:
        """What the worker keeps for itself is not looked for on the connector's target."""
        offsets = self.worker.properties["offset.storage.topic"]
        if not (self._at_target and offsets):
            # As each of Connect's groups has a topic: equal names of several do not meet in it.
            label = topic_label(f"{self._group_of(flow)}.{flow.source}")
            offsets = f"mm2-offsets.{label}.internal"
        topics = {
            "offset.storage.topic": offsets,
            "config.storage.topic": "",
            "status.storage.topic": "",
        }
        if self.kind.is_sink and self._is_required():
            topics["exactly.once.source.support"] = "enabled"
        return _settings(topics, _WORKER)

    def _is_required(self) -> bool:
        """A sink's transactions are nobody's business but its own (KIP-656)."""
        return self.own.get("exactly.once.support", "").strip().lower() == "required"

    def _resolved(self, settings: Mapping[str, Setting]) -> dict[str, Setting]:
        values = self.resolve(plain(settings))
        return {
            key: Setting(values[key], setting.key, setting.level)
            for key, setting in settings.items()
        }


def _settings(properties: Mapping[str, str], level: str) -> dict[str, Setting]:
    """The properties as settings, without a converter that is Connect's default in any case."""
    return {
        key: Setting(value, key, level)
        for key, value in properties.items()
        if (key, value.strip().rpartition(".")[2]) != _HEADER_CONVERTER
    }


def _below(prefix: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    return {prefix + key: setting for key, setting in settings.items()}


def _connects(key: str) -> bool:
    """Whether a key of the worker is about how to connect to its cluster."""
    kind, _, name = key.partition(".")
    return key in CLIENT_NAMES or (kind in _KINDS and name in CLIENT_NAMES)
