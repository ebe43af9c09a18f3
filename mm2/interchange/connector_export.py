"""Writes the flows of a file as connectors of Kafka Connect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from mm2.config.layers import plain
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import (
    CHECKPOINT_CONNECTOR,
    HEARTBEAT_CONNECTOR,
    SOURCE_CONNECTOR,
    SourceAndTarget,
)
from mm2.interchange.secret_references import with_references


class ConnectorRequest(TypedDict):
    """What ``POST /connectors`` takes, and a file of ``connect-standalone``."""

    name: str
    config: dict[str, str]


def connector_requests(
    maker: MirrorMakerConfig, flow: SourceAndTarget
) -> Iterator[ConnectorRequest]:
    """
    Yields the connectors that a flow consists of; expressions stay, and secrets become some.

    The heartbeat connector belongs to a worker whose brokers are the flow's target, as the others.
    """
    for connector in (SOURCE_CONNECTOR, CHECKPOINT_CONNECTOR, HEARTBEAT_CONNECTOR):
        if connector != HEARTBEAT_CONNECTOR and not maker.is_enabled(flow):
            continue
        name = f"{flow}.{connector}"
        config = plain(maker.connector_settings(flow, connector))
        config = {key: value for key, value in config.items() if key != "enabled"}
        yield {"name": name, "config": {**with_references(config), "name": name}}
