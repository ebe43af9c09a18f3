"""The flows that a configuration file asks for; imports little, because the start waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mm2.config.checks.failed_flows import FlowsOfFile
from mm2.config.flow_config import FlowConfig
from mm2.config.mirror_maker_config import MirrorMakerConfig, load_maker
from mm2.config.rest_settings import rest_of_file
from mm2.errors import ConfigError, ConfigErrors


def load_flows(path: Path, clusters: Sequence[str] | None) -> list[FlowConfig]:
    """
    The flows of a file, restricted to those into ``clusters`` if any are named (C004).

    Raises:
        ConfigErrors: everything that is wrong with the file, together.
        ConfigError: no flow is left (C005).
    """
    found = read_flows(path, clusters)
    if found.failed:
        raise ConfigErrors(found.problems)
    return list(found.flows)


def read_flows(path: Path, clusters: Sequence[str] | None) -> FlowsOfFile:
    """
    The same, but what is wrong with one flow leaves the others alone.

    Raises:
        ConfigErrors: what is wrong with all flows, or with what they share.
        ConfigError: no flow is left (C005).
    """
    maker = load_maker(path)
    wanted = [
        flow for flow in maker.cluster_pairs() if not clusters or flow.target in set(clusters)
    ]
    if not wanted:
        raise ConfigError("No source->target replication flows.")
    found = FlowsOfFile.of(maker, wanted)
    if of_process := _problems_of_process(maker):
        raise ConfigErrors([*of_process, *found.problems])
    found.check_any_left()
    return found


def _problems_of_process(maker: MirrorMakerConfig) -> list[ConfigError]:
    """What is wrong with what all flows share."""
    try:
        rest_of_file(maker)
    except ConfigErrors as errors:
        return list(errors.problems)
    return []
