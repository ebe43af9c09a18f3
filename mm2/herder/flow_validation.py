"""
Makes what a flow will need when it runs, to hear at once of all that can never be made.

Clients' settings, key stores, logins and classes are made by the very functions that the run calls;
nothing is connected.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self, TypeAlias

from mm2.config.checks.failed_flows import FlowsOfFile
from mm2.config.clients import (
    Side,
    client_layers,
    client_properties,
    data_producer_properties,
    with_prefix,
    worker_client_properties,
)
from mm2.config.connector_reading import parse_connector
from mm2.config.keys.key_aliases import effective_settings
from mm2.config.keys.key_table import CONNECTOR_DEFINITION
from mm2.config.keys.key_types import Value
from mm2.config.keys.keys_clients import CLIENT_KINDS, ClientKind
from mm2.config.layers import FlowLayers, Setting, plain, resolved, with_written_key
from mm2.core.model import CONNECTORS, HEARTBEAT_CONNECTOR, SOURCE_CONNECTOR, SourceAndTarget
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.flow_classes import class_mistakes
from mm2.kafka.client_settings import client_mistakes

_Properties: TypeAlias = Mapping[str, str]
_Choice: TypeAlias = Callable[[_Properties, _Properties], _Properties]
"""Chooses what is a client's from what a worker and a connector have."""

_PROTOCOL: Final = "security.protocol"
_SERVERS: Final = "bootstrap.servers"
_OTHER_CLIENT_KEYS: Final = ("client.id", "key.", "value.")


class _Client(NamedTuple):
    """
    A client that a flow opens.

    Attributes:
        origins: the keys of the file that they come from; some may not count for it.
    """

    properties: _Choice
    origins: _Choice


class FlowValidation:
    """Validates flows of one configuration; what they share is made once."""

    def __init__(self) -> None:
        self._known: dict[frozenset[tuple[str, str]], list[ConfigError]] = {}

    def mistakes(self, layers: FlowLayers, flow: SourceAndTarget) -> list[ConfigError]:
        """
        All that a flow could never begin with, under the keys that the user has written.

        Values that cannot be read hide nothing of the rest; an expression that cannot be resolved
        does.
        """
        try:
            worker = layers.worker_settings(flow)
            parts = [_Part.of(layers, flow, connector) for connector in CONNECTORS]
        except (ConfigError, ConfigErrors):
            return []
        found: dict[tuple[str | None, str], ConfigError] = {}
        for part in parts:
            mistakes = [
                with_written_key(each, part.settings) for each in class_mistakes(part.properties)
            ]
            for client in part.clients():
                origins = client.origins(_origins(worker), _origins(part.settings))
                of_client = self._of_client(client.properties(plain(worker), part.properties))
                mistakes += [_at(layers, each, origins) for each in of_client]
            for mistake in mistakes:
                found.setdefault((mistake.key, mistake.message), layers.located(mistake))
        return list(found.values())

    def tried(self, found: FlowsOfFile) -> FlowsOfFile:
        """The flows of a file, those failed that could never begin."""
        left = found
        for config in found.flows:
            if mistakes := self.mistakes(found.maker, config.flow):
                left = left.without(config.flow, mistakes)
        return left

    def _of_client(self, properties: _Properties) -> list[ConfigError]:
        if not properties.get(_SERVERS):
            return []  # told of the cluster
        relevant = frozenset(
            (key, value)
            for key, value in properties.items()
            if not key.startswith(_OTHER_CLIENT_KEYS)
        )
        if relevant not in self._known:
            self._known[relevant] = client_mistakes(properties)
        return self._known[relevant]


@dataclass(frozen=True, slots=True)
class _Part:
    """
    One connector of a flow.

    Attributes:
        properties: resolved.
        values: of those of its keys that can be read.
    """

    connector: str
    settings: Mapping[str, Setting]
    properties: _Properties
    values: Mapping[str, Value]

    @classmethod
    def of(cls, layers: FlowLayers, flow: SourceAndTarget, connector: str) -> Self:
        """
        Reads what can be read.

        Raises:
            ConfigError: an expression cannot be resolved.
            ConfigErrors: the same.
        """
        settings = effective_settings(layers, flow, connector, [])
        properties = resolved(layers, settings)
        values, _ = parse_connector(CONNECTOR_DEFINITION[connector], properties)
        return cls(connector, settings, properties, values)

    def clients(self) -> list[_Client]:
        """Those that it opens; the herder's are counted to the heartbeats, which are always on."""
        if self.connector == HEARTBEAT_CONNECTOR:
            return [*(_of_worker(kind) for kind in CLIENT_KINDS), _of("target", "producer")]
        if self.values.get("enabled") is not True:
            return []
        admins = [_of("source", "admin"), _of("target", "admin")]
        if self.connector == SOURCE_CONNECTOR:
            at = self.values.get("offset-syncs.topic.location")
            syncs: Side = "source" if at == "source" else "target"
            clients = [_of("source", "consumer"), _of(syncs, "producer"), _of(syncs, "admin")]
            return [*admins, *clients, _DATA_PRODUCER]
        if self.values.get("emit.checkpoints.enabled") is not True:
            return []
        return [*admins, _of("target", "consumer"), _of("target", "producer")]


def _of(side: Side, kind: ClientKind) -> _Client:
    def origins(_: _Properties, connector: _Properties) -> _Properties:
        return dict(ChainMap(*map(dict, reversed(client_layers(connector, side, kind)))))

    return _Client(lambda _, own: client_properties(own, side, kind, None), origins)


def _of_worker(kind: ClientKind) -> _Client:
    def choice(worker: _Properties, _: _Properties) -> _Properties:
        return worker_client_properties(worker, kind, "herder")

    return _Client(choice, choice)


_DATA_PRODUCER: Final = _Client(
    lambda worker, own: data_producer_properties(worker, own, 0).properties,
    lambda worker, own: (
        {_SERVERS: worker.get(_SERVERS, _SERVERS)}
        | with_prefix(worker, "producer.")
        | with_prefix(own, "producer.override.")
    ),
)


def _origins(settings: Mapping[str, Setting]) -> dict[str, str]:
    """The key of the file for each setting, to be chosen from as values are."""
    return {name: setting.key or name for name, setting in settings.items()}


def _at(layers: FlowLayers, mistake: ConfigError, origins: _Properties) -> ConfigError:
    """A mistake under the key that was written, or beside which the missing one belongs."""
    key = mistake.key or _PROTOCOL
    beside = origins.get(_PROTOCOL, _PROTOCOL)
    prefix = beside.removesuffix(_PROTOCOL)
    written = {name: origin for name, origin in origins.items() if name != "client.id"}
    written.setdefault(key, f"{prefix}{key}")
    settings = {name: Setting("", origin, "") for name, origin in written.items()}
    told = with_written_key(mistake, settings)
    if key not in origins:
        told.line = layers.located(ConfigError("", key=beside)).line
    return told
