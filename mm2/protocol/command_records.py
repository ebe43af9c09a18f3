"""
Records of the control topic by which operators steer a flow, and by which its leader passes it on.

They hold until the next one under the same key, over restarts and changes of the leader; only a
``RestartCommand`` is a command, for the leader that reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ConnectorState(StrEnum):
    """What an operator wants of a connector; the names are Connect's target states (KIP-875)."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredConnectorState:
    """
    What operators want of one connector of the flow.

    Attributes:
        connector: simple name of Java's class, ``MirrorSourceConnector``.
        time_ms: since when, by the operator's clock.
    """

    connector: str
    state: ConnectorState
    reason: str = ""
    time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alterations:
    """
    Settings over those of the flow in the file.

    Attributes:
        changes: by key as it would stand behind ``A->B.``; None counts as if the file had not got
            it.
        time_ms: of the last change, by the operator's clock.
        read: offset of the last record of the topic that its writer had read, so that it counts
            only if nothing else was altered since; None if it counts in any case.
    """

    changes: Mapping[str, str | None]
    time_ms: int = 0
    read: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartCommand:
    """
    A command to start a connector, or one of its tasks, anew.

    Attributes:
        connector: simple name of Java's class.
        task: number of the task; None for all.
        id: tells commands from each other.
        time_ms: when, by the operator's clock.
    """

    connector: str
    task: int | None = None
    id: str
    time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSettings:
    """
    What tasks that run take over from their leader without a restart.

    Attributes:
        byte_rate_limit: ``flow.byte.rate.limit`` of the whole flow; negative: none.
        flush_interval_s: ``offset.flush.interval.ms``, in seconds.
        transaction_s: longest time until a transaction ends, in seconds; None at least once.
        log_levels: that operators have chosen on the leader's node, by logger.
        number: grows with each change of an epoch.
    """

    epoch: int
    byte_rate_limit: int
    flush_interval_s: float
    transaction_s: float | None = None
    log_levels: Mapping[str, str] = field(default_factory=dict)
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RateDivision:
    """
    Who may take how much.

    Attributes:
        portions: of the flow's byte rate, by numbers of tasks; together they are 1.
        number: grows with each division of an epoch.
    """

    epoch: int
    portions: Mapping[int, float]
    number: int = 0
