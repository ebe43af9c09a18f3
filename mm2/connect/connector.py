"""A connector's configuration, and the flow of which it is one part."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from mm2.config.checks.allowed_classes import LOADED, foreign_classes
from mm2.config.checks.key_lint import connector_advice, unread_keys
from mm2.config.flow_config import FlowConfig
from mm2.config.keys.definition import by_line
from mm2.config.keys.key_types import java_trim
from mm2.config.layers import with_line
from mm2.config.single_flow import single_flow
from mm2.config.text.expressions import hide
from mm2.connect.connector_classes import ConnectorClass, connector_class
from mm2.connect.connector_layers import ConnectorLayers
from mm2.connect.worker_config import WorkerConfig
from mm2.core.model import (
    CHECKPOINT_CONNECTOR,
    HEARTBEAT_CONNECTOR,
    SOURCE_CONNECTOR,
    ClusterAlias,
    SourceAndTarget,
)
from mm2.errors import ConfigError, ConfigErrors

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ALIASES: Final = ("source.cluster.alias", "target.cluster.alias")
_TOPICS: Final = tuple(f"{what}.storage.topic" for what in ("config", "offset", "status"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """
    One connector of a worker.

    Attributes:
        config: its configuration as the user wrote it.
        flow: what it does: a flow of which one part is enabled.
    """

    name: str
    kind: ConnectorClass
    config: Mapping[str, str]
    flow: FlowConfig


def read_connector(
    config: Mapping[str, str], worker: WorkerConfig, lines: Mapping[str, int] | None = None
) -> Connector:
    """
    Makes sense of a connector's configuration.

    Args:
        lines: line of each key, if they stand in a file.

    Raises:
        ConfigErrors: everything that is wrong with it.
    """
    lines = lines or {}
    mistakes = _unwritable(config)
    name = _required(config, "name", mistakes)
    source, target = (_required(config, key, mistakes) for key in _ALIASES)
    try:
        kind = connector_class(config.get("connector.class"))
    except ConfigError as error:
        mistakes.append(error)
    if mistakes:
        raise ConfigErrors(sorted((with_line(each, lines) for each in mistakes), key=by_line))
    layers = ConnectorLayers(name=name, kind=kind, own=config, lines=lines, worker=worker)
    try:
        flow = single_flow(layers, SourceAndTarget(ClusterAlias(source), ClusterAlias(target)))
    except ConfigError as error:
        raise ConfigErrors([layers.located(error)]) from error
    _check_refusals(flow, kind)
    _check_classes(flow, config, worker)
    warnings = [str(with_line(each, lines)) for each in unread_keys(config, connector_advice)]
    return Connector(
        name=name,
        kind=kind,
        config=dict(config),
        flow=replace(
            flow,
            parts=(kind.part,),
            worker_topics=tuple(worker.properties[key] for key in _TOPICS),
            warnings=(*flow.warnings, *warnings),
        ),
    )


def _unwritable(config: Mapping[str, str]) -> list[ConfigError]:
    """Halves of characters, which JSON has and neither Kafka nor a file can hold."""
    return [
        ConfigError(f"{key!r}: the key or its value has half of a character (a lone surrogate)")
        for key, value in config.items()
        if _SURROGATE.search(key) or _SURROGATE.search(value)
    ]


def _required(config: Mapping[str, str], key: str, mistakes: list[ConfigError]) -> str:
    value = java_trim(config.get(key, ""))
    if not value:
        mistakes.append(ConfigError(f"{key} is missing: write {key} = ...", key=key))
    return value


def _check_refusals(flow: FlowConfig, kind: ConnectorClass) -> None:
    """
    Looks whether Connect would take the connector (C106-C112).

    Raises:
        ConfigErrors: why it would not.
    """
    settings = {
        SOURCE_CONNECTOR: flow.source,
        CHECKPOINT_CONNECTOR: flow.checkpoint,
        HEARTBEAT_CONNECTOR: flow.heartbeat,
    }
    if refusals := settings[kind.part].refusals:
        raise ConfigErrors([ConfigError(hide(refusal)) for refusal in refusals])


def _check_classes(flow: FlowConfig, config: Mapping[str, str], worker: WorkerConfig) -> None:
    """
    Looks whether a connector, which anybody may have written, names classes that may run here.

    Raises:
        ConfigErrors: those that may not.
    """
    free = {
        key: flow.source.properties[key]
        for key in flow.source.properties.keys() & LOADED.keys()
        if config.get(key) in worker.classes
    }
    if foreign := list(foreign_classes(flow, free, worker.properties)):
        raise ConfigErrors(foreign)
