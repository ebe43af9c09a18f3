"""Conditions on which transforms are applied: Connect's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mm2.core.java_regex import JavaPattern
from mm2.core.transforms.record_draft import RecordDraft

_MOST_TOPICS: Final = 100_000


@dataclass(frozen=True, slots=True)
class TopicNameMatches:
    """The whole name of the (remote) topic matches a pattern."""

    pattern: JavaPattern
    _known: dict[str, bool] = field(default_factory=dict, compare=False)

    def test(self, draft: RecordDraft) -> bool:
        """
        Whether the topic matches.

        Raises:
            PatternTimeout: that takes longer than a second.
        """
        return self.matches(draft.topic)

    def matches(self, topic: str) -> bool:
        """
        Whether a topic matches; each is looked at once.

        Raises:
            PatternTimeout: that takes longer than a second.
        """
        found = self._known.get(topic)
        if found is None:
            if len(self._known) >= _MOST_TOPICS:
                self._known.clear()
            found = self._known[topic] = self.pattern.matches(topic)
        return found


@dataclass(frozen=True, slots=True)
class HasHeaderKey:
    """The record has a header of that name."""

    name: str

    def test(self, draft: RecordDraft) -> bool:
        """Whether it has."""
        return any(header[0] == self.name for header in draft.headers)


@dataclass(frozen=True, slots=True)
class RecordIsTombstone:
    """The record has no value."""

    def test(self, draft: RecordDraft) -> bool:
        """Whether it has none."""
        return draft.is_tombstone
