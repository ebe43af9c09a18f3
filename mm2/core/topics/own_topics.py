"""Topics that no record of users may be sent to: mm2's own, Connect's and Kafka's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from mm2.core.policy import HEARTBEATS_TOPIC

_BY_NAME: Final = re.compile(r"mm2.*internal|.*checkpoints[._-]internal|__.*|\..*", re.DOTALL)
"""Internal with one policy or another; what begins with a dot is, too (C115)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTopics:
    """
    Tells them by their names.

    Attributes:
        heartbeats: that topic, which takes heartbeats alone; empty if there is none.
        names: of more, such as those that a Connect worker keeps.
    """

    heartbeats: str = HEARTBEATS_TOPIC
    names: frozenset[str] = frozenset()

    def holds(self, topic: str) -> bool:
        """Whether a topic is one of them; ``heartbeats`` is none."""
        return topic in self.names or _BY_NAME.fullmatch(topic) is not None
