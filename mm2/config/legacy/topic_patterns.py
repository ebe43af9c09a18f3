"""
Which topics ``--include`` and ``--blacklist`` name: the rules of Kafka's ``TopicFilter``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from mm2.core.java_regex import JavaPattern
from mm2.core.topics.topic_name import KAFKAS_OWN
from mm2.errors import ConfigError
from mm2.user_patterns import NameMatch

_OUTER_QUOTES: Final = re.compile(r"^[\"']+|[\"']+$")


def java_pattern_of(flag: str, text: str) -> str:
    """
    The regular expression that Kafka's tools make of a list of topics.

    A comma stands for ``|``, blanks are removed, and quotes around the whole are stripped.

    Raises:
        ConfigError: it is empty, or no regular expression of Java's; names the flag.
    """
    pattern = _OUTER_QUOTES.sub("", text.strip().replace(",", "|").replace(" ", ""))
    if not pattern:
        message = f"{flag} is empty: write the topics, or a regular expression that matches them"
        raise ConfigError(message, key=flag, value=text)
    try:
        JavaPattern(pattern)
    except ConfigError as error:
        hint = " A comma means |, also between braces." if "," in text else ""
        reason = error.message.rstrip(".")
        message = f"{flag} {text}: {reason}.{hint} Write a regular expression of Java's."
        raise ConfigError(message, key=flag, value=text) from error
    return pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSelection:
    """
    The topics that are copied.

    Attributes:
        include: a pattern that matches the whole name; None includes every topic.
        exclude: a pattern of topics that are left out all the same; None leaves out none.
        internal: whether Kafka's own topics are copied if the patterns match them.
    """

    include: str | None
    exclude: str | None = None
    internal: bool = False

    def matcher(self) -> SelectionMatcher:
        """Compiles the patterns."""
        return SelectionMatcher(self)


class SelectionMatcher:
    """Tells of names whether they are selected; a name that takes too long to match is not."""

    def __init__(self, selection: TopicSelection) -> None:
        self._internal = selection.internal
        self._included = NameMatch(
            JavaPattern(selection.include or ".*").matches, otherwise=False, key="--include"
        )
        self._excluded = (
            None
            if selection.exclude is None
            else NameMatch(
                JavaPattern(selection.exclude).matches, otherwise=True, key="--blacklist"
            )
        )

    def __call__(self, topic: str) -> bool:
        """Whether a topic is to be copied."""
        if topic in KAFKAS_OWN and not self._internal:
            return False
        is_excluded = self._excluded is not None and self._excluded(topic)
        return not is_excluded and self._included(topic)
