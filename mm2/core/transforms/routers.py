"""Transforms that send records to other topics, and the one that drops them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mm2.core.java_regex import JavaPattern, Replacement
from mm2.core.transforms.date_format import DateFormat
from mm2.core.transforms.record_draft import RecordDraft

_MOST_TOPICS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Filter:
    """Drops every record."""

    def apply(self, draft: RecordDraft) -> bool:
        """Drops it."""
        del draft
        return False


@dataclass(frozen=True, slots=True)
class RegexRouter:
    """
    Renames topics whose whole name matches.

    As in Java, what is replaced is the first part of the name in which the pattern is found, which
    may be shorter than the name.
    """

    pattern: JavaPattern
    replacement: Replacement
    _known: dict[str, str] = field(default_factory=dict, compare=False)

    def apply(self, draft: RecordDraft) -> bool:
        """
        Renames its topic.

        Raises:
            PatternTimeout: matching takes longer than a second.
        """
        draft.topic = self.name_of(draft.topic)
        return True

    def name_of(self, topic: str) -> str:
        """
        What becomes of a name.

        Raises:
            PatternTimeout: matching takes longer than a second.
        """
        found = self._known.get(topic)
        if found is None:
            if len(self._known) >= _MOST_TOPICS:
                self._known.clear()
            found = self._known[topic] = self._renamed(topic)
        return found

    def keeps(self, topic: str) -> bool:
        """
        Whether the topic has that name already.

        Raises:
            PatternTimeout: matching takes longer than a second.
        """
        return self._renamed(topic) == topic

    def _renamed(self, topic: str) -> str:
        return self.replacement.replace_first(topic) if self.pattern.matches(topic) else topic


@dataclass(frozen=True, slots=True)
class TimestampRouter:
    """Names topics by the record's timestamp, in UTC."""

    topic_format: str
    timestamp_format: DateFormat

    def apply(self, draft: RecordDraft) -> bool:
        """
        Names its topic.

        Raises:
            TransformError: the timestamp is outside of the years 1 to 9999.
        """
        draft.topic = self.name_of(draft.topic, draft.source.timestamp)
        return True

    def name_of(self, topic: str, timestamp: int) -> str:
        """
        What becomes of a name at a time in ms.

        Raises:
            TransformError: the timestamp is outside of the years 1 to 9999.
        """
        text = self.timestamp_format.format(timestamp)
        return self.topic_format.replace("${topic}", topic).replace("${timestamp}", text)

    def keeps(self, topic: str) -> bool:
        """Never certain: the time decides."""
        del topic
        return False
