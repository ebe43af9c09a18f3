"""What Java's ``MirrorMakerConfig`` computes of one file, as ``mm2 config dump`` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.properties import parse
from mm2.core.model import CONNECTORS
from mm2.errors import ConfigError, ConfigErrors


class Dump(TypedDict):
    """Flows sorted; by flow the worker's settings, and by flow and connector the connectors'."""

    flows: list[str]
    workers: dict[str, dict[str, str]]
    connectors: dict[str, dict[str, dict[str, str]]]


class Rejected(TypedDict):
    """Why Java would reject the file."""

    error: str


def dump(data: bytes, environment: Mapping[str, str] | None = None) -> Dump | Rejected:
    """
    Computes everything from the bytes of a file; never raises for what is in it.

    Values are exactly Java's: expressions resolved in workers only, passwords not hidden.
    """
    try:
        return computed(MirrorMakerConfig.of(parse(data), environment))
    except (ConfigError, ConfigErrors) as error:
        return {"error": str(error)}


def computed(maker: MirrorMakerConfig) -> Dump:
    """
    The same of a configuration that stands.

    Raises:
        ConfigErrors: a provider fails where Java's would.
    """
    flows = maker.cluster_pairs()
    return {
        "flows": sorted(str(flow) for flow in flows),
        "workers": {str(flow): maker.worker_config(flow) for flow in flows},
        "connectors": {
            str(flow): {name: maker.connector_base_config(flow, name) for name in CONNECTORS}
            for flow in flows
        },
    }
