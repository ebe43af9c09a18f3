"""Writes the flows of a file as connectors of Kafka Connect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypedDict

from mm2.config.layers import Setting
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.redact import holds_secret
from mm2.core.model import (
    CHECKPOINT_CONNECTOR,
    HEARTBEAT_CONNECTOR,
    SOURCE_CONNECTOR,
    SourceAndTarget,
)
from mm2.interchange.secret_references import variable_of, variables_of


class ConnectorRequest(TypedDict):
    """What ``POST /connectors`` takes, and a file of ``connect-standalone``."""

    name: str
    config: dict[str, str]


def connector_requests(
    maker: MirrorMakerConfig, flow: SourceAndTarget
) -> Iterator[ConnectorRequest]:
    """
    Yields the connectors that a flow consists of; expressions stay, and secrets become some.

    A secret is a variable that is named after the key of the file, so that connectors which one
    worker runs have one each where they log in to other clusters.

    The heartbeat connector belongs to a worker whose brokers are the flow's target, as the others.
    """
    variables = variables_of(maker.raw)
    for connector in (SOURCE_CONNECTOR, CHECKPOINT_CONNECTOR, HEARTBEAT_CONNECTOR):
        if connector != HEARTBEAT_CONNECTOR and not maker.is_enabled(flow):
            continue
        name = f"{flow}.{connector}"
        config = {
            key: _public(key, setting, variables)
            for key, setting in maker.connector_settings(flow, connector).items()
            if key != "enabled"
        }
        yield {"name": name, "config": {**config, "name": name}}


def _public(key: str, setting: Setting, variables: Mapping[str, str]) -> str:
    if not holds_secret(key, setting.value):
        return setting.value
    written = setting.key or key
    return f"${{env:{variables.get(written, variable_of(written))}}}"
