"""Which names Kafka's brokers take for a topic."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
KAFKAS_OWN: Final = frozenset({"__consumer_offsets", "__share_group_state", "__transaction_state"})
"""Topics that only brokers write."""

_FOLDERS: Final = frozenset({".", ".."})


def is_topic_name(name: object) -> bool:
    """Whether a topic may have this name."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name)) and name not in _FOLDERS
