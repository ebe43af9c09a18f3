"""Properties of topics: which ones a remote topic takes over, and how (Java: ``targetConfig``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from mm2.core.filters import ConfigPropertyFilter
from mm2.core.model import TopicName


class ConfigSource(Enum):
    """Where the value of a property comes from; the names are Kafka's."""

    UNKNOWN = "UNKNOWN_CONFIG"
    DYNAMIC_TOPIC = "DYNAMIC_TOPIC_CONFIG"
    DYNAMIC_BROKER = "DYNAMIC_BROKER_CONFIG"
    DYNAMIC_DEFAULT_BROKER = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC_BROKER = "STATIC_BROKER_CONFIG"
    DEFAULT = "DEFAULT_CONFIG"


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One property of a topic as its cluster describes it."""

    name: str
    value: str | None
    source: ConfigSource = ConfigSource.DYNAMIC_TOPIC
    read_only: bool = False
    sensitive: bool = False


class ConfigOperation(Enum):
    """What an incremental alteration does to a property; the names are Kafka's."""

    SET = "SET"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class AlterConfig:
    """Set one property of a topic of the target, or delete it there (then ``value`` is None)."""

    topic: TopicName
    name: str
    operation: ConfigOperation
    value: str | None = None


def creation_configs(
    entries: Iterable[ConfigEntry], property_filter: ConfigPropertyFilter
) -> dict[str, str]:
    """Returns the properties a new remote topic is created with (C178, C179)."""
    return {
        entry.name: entry.value
        for entry in entries
        if entry.value is not None
        and _is_replicated(entry, property_filter)
        and not _falls_back(entry, property_filter)
    }


def config_alterations(
    topic: TopicName,
    entries: Iterable[ConfigEntry],
    property_filter: ConfigPropertyFilter,
    current: Iterable[ConfigEntry] | None = None,
) -> tuple[AlterConfig, ...]:
    """
    Returns what makes the remote topic follow its source (C175-C182).

    Where the source has its built-in default, the target falls back to its own, unless
    ``use.defaults.from`` says otherwise (C180).

    Args:
        current: the remote topic's properties; if given, alterations that would change nothing are
            left out. Java never looks (C175).
    """
    alterations = (
        _alteration(topic, entry, property_filter)
        for entry in entries
        if _is_replicated(entry, property_filter)
    )
    if current is None:
        return tuple(alterations)
    own = {entry.name: entry.value for entry in current if _is_override(entry)}
    return tuple(each for each in alterations if own.get(each.name) != each.value)


def _alteration(
    topic: TopicName, entry: ConfigEntry, property_filter: ConfigPropertyFilter
) -> AlterConfig:
    if entry.value is None or _falls_back(entry, property_filter):
        return AlterConfig(topic, entry.name, ConfigOperation.DELETE)
    return AlterConfig(topic, entry.name, ConfigOperation.SET, entry.value)


def _is_replicated(entry: ConfigEntry, property_filter: ConfigPropertyFilter) -> bool:
    """
    Tells whether a property is copied at all (C176).

    What stands in the brokers' file belongs to those brokers; what was set on them while they ran
    is taken as meant for the topic (C181).
    """
    return (
        not entry.read_only
        and not entry.sensitive
        and entry.source is not ConfigSource.STATIC_BROKER
        and property_filter.should_replicate_config_property(entry.name)
    )


def _falls_back(entry: ConfigEntry, property_filter: ConfigPropertyFilter) -> bool:
    return (
        entry.source is ConfigSource.DEFAULT
        and not property_filter.should_replicate_source_default(entry.name)
    )


def _is_override(entry: ConfigEntry) -> bool:
    return entry.source is ConfigSource.DYNAMIC_TOPIC
