"""What a flow makes of the names and the origins of topics, as far as its configuration tells."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mm2.config.connector_settings import provenance_of
from mm2.config.flow_settings import FlowConfig
from mm2.config.offset_topics import accepted_topics
from mm2.config.transforms.chain_reading import read_transforms
from mm2.core.model import ClusterAlias
from mm2.core.plugin import JAVA_PACKAGE
from mm2.core.policy import POLICY_KEY, build_policy
from mm2.core.preflight.endless_copies import Copying
from mm2.core.preflight.routed_names import routed_names
from mm2.core.transforms import TransformChain

IDENTITY: Final = "IdentityReplicationPolicy"


def copying_of(
    config: FlowConfig, ids: Mapping[ClusterAlias, str] = MappingProxyType({})
) -> Copying:
    """
    How a flow decides about topics; what code and SQL of users do to names is not followed.

    Args:
        ids: of clusters, as far as they are known.

    Raises:
        ConfigError: its classes cannot be loaded.
    """
    flow, policy, chain = config.flow, build_policy(config.source.properties), chain_of_flow(config)
    provenance = provenance_of(flow, config.source.transforms)

    def takes(origin: str) -> bool:
        assert provenance is not None  # noqa: S101 - else nobody asks
        return provenance.takes(origin, ids.get(ClusterAlias(origin), ""))

    return Copying(
        flow=flow,
        accepts=accepted_topics(config),
        remotes=lambda topic: routed_names(chain, policy.format_remote_topic(flow.source, topic)),
        takes=None if provenance is None else takes,
    )


def keeps_names(config: FlowConfig) -> bool:
    """Whether copies have the names of their originals; no class of a user is asked."""
    written = config.source.properties.get(POLICY_KEY, "").strip()
    return written.removeprefix(JAVA_PACKAGE) == IDENTITY


def chain_of_flow(config: FlowConfig) -> TransformChain | None:
    """Connect's transforms of its records."""
    return read_transforms(config.source.transforms.connect)[0]
