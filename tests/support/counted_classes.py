"""
Classes of a user's own that write down when they are created, configured and closed.

They are named in configurations by ``names``; ``lives`` reads what they have written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from mm2.core.filters import (
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
)
from mm2.core.plugin import Plugin
from mm2.core.policy import DefaultReplicationPolicy

WRITTEN_TO: Final = "MM2_TEST_COUNTED_CLASSES"
"""The variable of the environment that names the file."""

_numbers = count()


class _Counted(Plugin):
    def __init__(self) -> None:
        super().__init__()
        self._number = next(_numbers)
        self._tell("created")

    def configure(self, properties: Mapping[str, str]) -> None:
        super().configure(properties)
        text = json.dumps(sorted(properties.items()))
        digest = hashlib.sha256(text.encode()).hexdigest()
        label = " ".join(properties.get(key, "-") for key in ("topics", "tasks.max"))
        self._tell("configured", configuration=digest, label=label)

    def close(self) -> None:
        super().close()
        self._tell("closed")

    def _tell(self, what: str, **more: str) -> None:
        said = {"of": [os.getpid(), type(self).__name__, self._number], "what": what, **more}
        with Path(os.environ[WRITTEN_TO]).open("a") as file:
            file.write(json.dumps(said) + "\n")


class Policy(_Counted, DefaultReplicationPolicy):
    """As Java's default."""


class Topics(_Counted, DefaultTopicFilter):
    """As Java's default."""


class Groups(_Counted, DefaultGroupFilter):
    """As Java's default."""


class Properties(_Counted, DefaultConfigPropertyFilter):
    """As Java's default."""


names: Final = {
    "replication.policy.class": f"{__name__}:Policy",
    "topic.filter.class": f"{__name__}:Topics",
    "group.filter.class": f"{__name__}:Groups",
    "config.property.filter.class": f"{__name__}:Properties",
}


@dataclass(frozen=True)
class Lives:
    """
    What became of the objects of one process.

    Attributes:
        created: how many there were, by class, configuration, and its ``topics`` and ``tasks.max``.
        open: those that nobody has closed.
        labels_open: the ``topics`` and ``tasks.max`` that those were configured with.
        most_at_once: how many of one class and one configuration were open at the same time.
        closed_again: those that were closed more than once.
    """

    created: Counter[tuple[str, str, str]]
    open: frozenset[tuple[int, str, int]]
    labels_open: frozenset[str]
    most_at_once: int
    closed_again: frozenset[tuple[int, str, int]]


def lives(file: Path, pid: int) -> Lives:
    """What objects of a process have written up to now."""
    created: Counter[tuple[str, str, str]] = Counter()
    opened: dict[tuple[int, str, int], tuple[str, str, str] | None] = {}
    closes: Counter[tuple[int, str, int]] = Counter()
    most = 0
    for line in file.read_text().splitlines():
        said: dict[str, Any] = json.loads(line)
        who = tuple(said["of"])
        if who[0] != pid:
            continue
        if said["what"] == "created":
            opened[who] = None
        elif said["what"] == "configured":
            opened[who] = configured = (who[1], said["configuration"], said["label"])
            created[configured] += 1
            most = max(most, *Counter(filter(None, opened.values())).values())
        else:
            closes[who] += 1
            opened.pop(who, None)
    again = frozenset(who for who, times in closes.items() if times > 1)
    labels = frozenset(each[2] for each in opened.values() if each)
    return Lives(created, frozenset(opened), labels, most, again)
