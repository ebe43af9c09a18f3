"""What it takes to give a running flow another value of a key; each row of the table says it."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Effect(Enum):
    """What a changed setting has the flow do; the value says it for people."""

    TASKS = "tasks take it over while they run"
    TOPICS = "topics are looked at anew; partitions that stay are not touched"
    SHARES = "partitions are divided anew; only those that move are drained, each by itself"
    CHECKPOINTS = "the flow of checkpoints starts again; copying goes on"
    HEARTBEATS = "the flow of heartbeats starts again; copying goes on"
    BUNDLES = "tasks drain and start again, one after the other"
    FLOW = "the whole flow drains and starts again; the process and other flows go on"
    PROCESS = "counts from the next start of the process"
    FIXED = "says which flow this is: cannot be altered, and needs another start of the process"
    NEW_ONLY = "counts for what is created from now on"
    VALUES = "says how expressions are read: counts when the file is read, by SIGHUP too"
    NONE = "nothing reads it"


Effects = frozenset[Effect]

TASKS: Final = frozenset({Effect.TASKS})
TOPICS: Final = frozenset({Effect.TOPICS})
SHARES: Final = frozenset({Effect.SHARES})
CHECKPOINTS: Final = frozenset({Effect.CHECKPOINTS})
HEARTBEATS: Final = frozenset({Effect.HEARTBEATS})
BUNDLES: Final = frozenset({Effect.BUNDLES})
FLOW: Final = frozenset({Effect.FLOW})
PROCESS: Final = frozenset({Effect.PROCESS})
FIXED: Final = frozenset({Effect.FIXED})
NEW_ONLY: Final = frozenset({Effect.NEW_ONLY})
VALUES: Final = frozenset({Effect.VALUES})
NONE: Final = frozenset({Effect.NONE})
