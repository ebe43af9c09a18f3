"""Whether the classes that a flow's configuration names can be had: they may be the user's own."""

from __future__ import annotations

from mm2.config.flow import FlowConfig
from mm2.core.filters import build_config_property_filter, build_group_filter
from mm2.errors import ConfigError
from mm2.herder.topics import accepted_topics


def class_problem(config: FlowConfig) -> ConfigError | None:
    """
    Makes policy and filters of a flow once; says what is wrong with the first that cannot be made.

    The configuration's own checks load no code, because they also run where the flow does not.
    """
    try:
        accepted_topics(config)
        build_config_property_filter(config.source.properties)
        build_group_filter(config.checkpoint.properties)
    except ConfigError as error:
        return error
    return None
