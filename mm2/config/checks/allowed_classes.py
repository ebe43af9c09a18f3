"""
Which classes may be named from outside the file: ours, and those that the file allows.

A class is code that runs in every node. The file may name any; over REST, in the control topic and
in Connect's config topic, whoever reaches them may write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mm2.config.flow_settings import FlowConfig
from mm2.config.keys.key_types import java_trim, split_list
from mm2.config.keys.keys_mm2 import ARROW_FUNCTION, HANDLER
from mm2.config.keys.keys_top import ALLOWED_PREFIXES
from mm2.config.text.expressions import hide
from mm2.core import filters, policy
from mm2.core.plugin import JAVA_PACKAGE
from mm2.errors import ConfigError

LOADED: Final[Mapping[str, frozenset[str]]] = {
    policy.POLICY_KEY: frozenset(policy.POLICIES),
    filters.TOPIC_FILTER_KEY: frozenset(filters.TOPIC_FILTERS),
    filters.GROUP_FILTER_KEY: frozenset(filters.GROUP_FILTERS),
    filters.CONFIG_PROPERTY_FILTER_KEY: frozenset(filters.CONFIG_PROPERTY_FILTERS),
    HANDLER: frozenset({""}),
    ARROW_FUNCTION: frozenset({""}),
}
"""The keys whose classes are loaded, with the names of ours."""


def names_foreign(config: FlowConfig) -> bool:
    """Whether a flow needs classes that are not ours."""
    return any(
        java_trim(each.properties[key]).removeprefix(JAVA_PACKAGE) not in ours
        for each in (config.source, config.checkpoint, config.heartbeat)
        for key, ours in LOADED.items()
        if key in each.properties
    )


def foreign_classes(
    config: FlowConfig, free: Mapping[str, str], file: Mapping[str, str]
) -> Iterator[ConfigError]:
    """
    A mistake for each class of a flow that is neither ours, nor free, nor allowed.

    Free are the classes that the file itself names, by their keys; ``file`` is its top-level keys,
    resolved.
    """
    allowed = split_list(file.get(ALLOWED_PREFIXES, ""))
    connectors = (config.source, config.checkpoint, config.heartbeat)
    for key, ours in LOADED.items():
        named = {java_trim(each.properties[key]) for each in connectors if key in each.properties}
        for name in sorted(named - {java_trim(free.get(key, ""))}):
            is_ours = name.removeprefix(JAVA_PACKAGE) in ours
            if not is_ours and not any(_begins(name, prefix) for prefix in allowed):
                message = (
                    f"{key} = {name} is not a class of mm2's, and {ALLOWED_PREFIXES} of the node's"
                    " file does not allow it: add its package there, and start the node again"
                )
                yield ConfigError(hide(message), key=key, value=hide(name))


def _begins(name: str, prefix: str) -> bool:
    """Whether a name is in a package, a module, or is that class; not in one named alike."""
    if not prefix or not name.startswith(prefix):
        return False
    return prefix.endswith((".", ":")) or name[len(prefix) : len(prefix) + 1] in {"", ".", ":"}
