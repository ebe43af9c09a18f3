"""
Filters: which topics and groups are mirrored, and which properties of topics are copied.

Java's ``TopicFilter``, ``GroupFilter`` and ``ConfigPropertyFilter`` with their default classes. A
list of patterns is one alternation that must match the whole name; excludes win (C087, C092).
A name that takes too long to match is not accepted, whichever pattern it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Final

from mm2.core.java_regex import JavaPattern
from mm2.core.lists import parse_list, trim
from mm2.core.model import GroupId, TopicName
from mm2.core.plugin import Plugin, build
from mm2.errors import ConfigError
from mm2.user_patterns import NameMatch

TOPICS_DEFAULT: Final = (".*",)
TOPICS_EXCLUDE_DEFAULT: Final = (r"mm2.*\.internal", r".*\.replica", "__.*")
GROUPS_DEFAULT: Final = (".*",)
GROUPS_EXCLUDE_DEFAULT: Final = ("console-consumer-.*", "connect-.*", "__.*")
CONFIG_PROPERTIES_EXCLUDE_DEFAULT: Final = (
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "message.timestamp.difference.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.after.max.ms",
    "message.timestamp.type",
    "unclean.leader.election.enable",
    "min.insync.replicas",
)

TOPIC_FILTER_KEY: Final = "topic.filter.class"
GROUP_FILTER_KEY: Final = "group.filter.class"
CONFIG_PROPERTY_FILTER_KEY: Final = "config.property.filter.class"


class TopicFilter(Plugin, ABC):
    """Decides which topics are mirrored (Java: ``TopicFilter``)."""

    @abstractmethod
    def should_replicate_topic(self, topic: TopicName) -> bool:
        """Tells whether the user wants ``topic`` mirrored."""

    def refusal(self, topic: TopicName) -> str:
        """Says for people why ``topic`` is not mirrored."""
        del topic
        return f"{TOPIC_FILTER_KEY} does not accept it"


class GroupFilter(Plugin, ABC):
    """Decides of which consumer groups offsets are translated (Java: ``GroupFilter``)."""

    @abstractmethod
    def should_replicate_group(self, group: GroupId) -> bool:
        """Tells whether the user wants the offsets of ``group`` translated."""


class ConfigPropertyFilter(Plugin, ABC):
    """Decides which properties of topics are copied (Java: ``ConfigPropertyFilter``)."""

    @abstractmethod
    def should_replicate_config_property(self, name: str) -> bool:
        """Tells whether the property ``name`` is copied at all."""

    def should_replicate_source_default(self, name: str) -> bool:
        """Tells whether a value that is the source's default is copied. By default it is not."""
        del name
        return False


class NamePatterns:
    """
    Names that match one of the patterns, each taken as a whole.

    Args:
        otherwise: whether names are in there that take too long to match (``NameMatch``).
    """

    def __init__(
        self, patterns: Iterable[str], key: str | None = None, *, otherwise: bool = False
    ) -> None:
        self.patterns = tuple(patterns)
        self._key = key
        alternatives = "|".join(self.patterns)
        self._matches = (
            NameMatch(JavaPattern(alternatives).matches, otherwise=otherwise, key=key)
            if alternatives
            else None
        )

    def __contains__(self, name: str) -> bool:
        return self._matches is not None and self._matches(name)

    def first_match(self, name: str) -> str | None:
        """The first single pattern that matches a name."""
        alone = (each for each in self.patterns if name in NamePatterns([each], self._key))
        return next(alone, None)


_NOTHING: Final = NamePatterns(())


class DefaultTopicFilter(TopicFilter):
    """Accepts what ``topics`` matches and ``topics.exclude`` does not; unconfigured, nothing."""

    def __init__(self) -> None:
        self._included = self._excluded = _NOTHING

    def configure(self, properties: Mapping[str, str]) -> None:
        """Reads ``topics`` and ``topics.exclude``."""
        self._included = _patterns(properties, "topics", TOPICS_DEFAULT)
        self._excluded = _patterns(properties, "topics.exclude", TOPICS_EXCLUDE_DEFAULT)

    def should_replicate_topic(self, topic: TopicName) -> bool:
        """Accepts included topics that are not excluded (C092)."""
        return topic in self._included and topic not in self._excluded

    def refusal(self, topic: TopicName) -> str:
        """Names the pattern that excludes ``topic``, or says that none includes it."""
        if topic not in self._included:
            return "no pattern of topics matches it"
        pattern = self._excluded.first_match(topic)
        return "topics.exclude" if pattern is None else f"topics.exclude: {pattern}"

    @property
    def included(self) -> tuple[str, ...]:
        """The patterns of ``topics``."""
        return self._included.patterns


class DefaultGroupFilter(GroupFilter):
    """Accepts what ``groups`` matches and ``groups.exclude`` does not; unconfigured, nothing."""

    def __init__(self) -> None:
        self._included = self._excluded = _NOTHING

    def configure(self, properties: Mapping[str, str]) -> None:
        """Reads ``groups`` and ``groups.exclude``."""
        self._included = _patterns(properties, "groups", GROUPS_DEFAULT)
        self._excluded = _patterns(properties, "groups.exclude", GROUPS_EXCLUDE_DEFAULT)

    def should_replicate_group(self, group: GroupId) -> bool:
        """Accepts included groups that are not excluded (C094)."""
        return group in self._included and group not in self._excluded


class DefaultConfigPropertyFilter(ConfigPropertyFilter):
    """Copies every property that ``config.properties.exclude`` does not match (C095, C096)."""

    def __init__(self) -> None:
        self._excluded = NamePatterns(CONFIG_PROPERTIES_EXCLUDE_DEFAULT)
        self._source_defaults = False

    def configure(self, properties: Mapping[str, str]) -> None:
        """Reads ``config.properties.exclude``, replacing the default, and ``use.defaults.from``."""
        key = "config.properties.exclude"
        self._excluded = _patterns(properties, key, CONFIG_PROPERTIES_EXCLUDE_DEFAULT)
        self._source_defaults = trim(properties.get("use.defaults.from", "")) == "source"

    def should_replicate_config_property(self, name: str) -> bool:
        """Copies what is not excluded."""
        return name not in self._excluded

    def should_replicate_source_default(self, name: str) -> bool:
        """Copies defaults if ``use.defaults.from`` is exactly "source" (C096)."""
        del name
        return self._source_defaults


TOPIC_FILTERS: Final[Mapping[str, type[TopicFilter]]] = {"DefaultTopicFilter": DefaultTopicFilter}
GROUP_FILTERS: Final[Mapping[str, type[GroupFilter]]] = {"DefaultGroupFilter": DefaultGroupFilter}
CONFIG_PROPERTY_FILTERS: Final[Mapping[str, type[ConfigPropertyFilter]]] = {
    "DefaultConfigPropertyFilter": DefaultConfigPropertyFilter
}


def build_topic_filter(properties: Mapping[str, str]) -> TopicFilter:
    """
    Creates and configures the filter that ``topic.filter.class`` names.

    Raises:
        ConfigError: no such class, the wrong kind of class, or a list it does not understand.
    """
    kind: type[TopicFilter] = TopicFilter  # type: ignore[type-abstract]  # nobody creates it
    return build(properties, key=TOPIC_FILTER_KEY, kind=kind, known=TOPIC_FILTERS)


def build_group_filter(properties: Mapping[str, str]) -> GroupFilter:
    """
    Creates and configures the filter that ``group.filter.class`` names.

    Raises:
        ConfigError: no such class, the wrong kind of class, or a list it does not understand.
    """
    kind: type[GroupFilter] = GroupFilter  # type: ignore[type-abstract]  # nobody creates it
    return build(properties, key=GROUP_FILTER_KEY, kind=kind, known=GROUP_FILTERS)


def build_config_property_filter(properties: Mapping[str, str]) -> ConfigPropertyFilter:
    """
    Creates and configures the filter that ``config.property.filter.class`` names.

    Raises:
        ConfigError: no such class, the wrong kind of class, or a list it does not understand.
    """
    key, known = CONFIG_PROPERTY_FILTER_KEY, CONFIG_PROPERTY_FILTERS
    kind: type[ConfigPropertyFilter] = ConfigPropertyFilter  # type: ignore[type-abstract]  # as above
    return build(properties, key=key, kind=kind, known=known)


def _patterns(properties: Mapping[str, str], key: str, default: tuple[str, ...]) -> NamePatterns:
    text = properties.get(key)
    try:
        patterns = default if text is None else parse_list(key, text)
        # In doubt nothing is copied: what excludes take too long for is excluded.
        return NamePatterns(patterns, key, otherwise=key.endswith(".exclude"))
    except ConfigError as problem:
        raise ConfigError(problem.message, key=key, value=text) from problem
