"""Configurations of flows between two clusters that nobody connects to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import ClusterAlias, SourceAndTarget

A_TO_B: Final = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
B_TO_A: Final = SourceAndTarget(ClusterAlias("B"), ClusterAlias("A"))
TWO_CLUSTERS: Final = {
    "clusters": "A, B",
    "A.bootstrap.servers": "a:1",
    "B.bootstrap.servers": "b:1",
}
TWO_CLUSTERS_TEXT: Final = "".join(f"{key} = {value}\n" for key, value in TWO_CLUSTERS.items())


def maker_of(
    more: Mapping[str, str] | None = None, /, environment: Mapping[str, str] | None = None
) -> MirrorMakerConfig:
    """A file of two clusters and more keys, one to a line."""
    raw = {**TWO_CLUSTERS, **(more or {})}
    lines = {key: line for line, key in enumerate(raw, start=1)}
    return MirrorMakerConfig(raw=raw, lines=lines, environment=environment or {})


def config_of(
    more: Mapping[str, str] | None = None, /, flow: SourceAndTarget = A_TO_B
) -> FlowConfig:
    """A flow of that file."""
    return flow_config(maker_of(more), flow)


def flow_of(more: Mapping[str, str] | None = None, /, **settings: str) -> FlowConfig:
    """
    The flow from A to B, enabled.

    Args:
        more: keys of the file.
        settings: of the flow: ``tasks_max`` is its ``tasks.max``.
    """
    own = {f"A->B.{key.replace('_', '.')}": value for key, value in settings.items()}
    return config_of({"A->B.enabled": "true", **(more or {}), **own})
