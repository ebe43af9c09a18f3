"""
What the REST interface asks of whoever has connectors.

Dedicated mode and Connect's workers each implement ``Connectors``; everything that is about HTTP,
JSON and error bodies stands on this side of it. Names are those that clients use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

JsonObject = Mapping[str, object]
"""An object of JSON whose values are not looked at here."""


class ConnectorType(StrEnum):
    """Which way a connector carries records, as Connect sees it."""

    SOURCE = "source"
    SINK = "sink"


class TaskTarget(StrEnum):
    """What an operator can want of a connector."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """
    How a connector or a task is.

    Attributes:
        state: RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED or RESTARTING.
        worker_id: the node that has it; empty if none has.
        trace: why it failed; empty if it has not.
    """

    state: str
    worker_id: str = ""
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorStatus:
    """
    How a connector and its tasks are.

    Attributes:
        name: the connector's.
        type: its type.
        connector: how it is itself.
        tasks: how its tasks are, by their numbers, which need not be dense.
    """

    name: str
    type: ConnectorType
    connector: State
    tasks: Mapping[int, State] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorInfo:
    """
    What a connector is.

    Attributes:
        name: the connector's.
        type: its type.
        config: its configuration as it may be shown: secrets are hidden.
        tasks: the numbers of its tasks.
    """

    name: str
    type: ConnectorType
    config: Mapping[str, str]
    tasks: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """
    One Connect source offset: partition map and offset map.

    Attributes:
        partition: what the position is about.
        offset: the position.
    """

    partition: JsonObject
    offset: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """
    What can do its work, and why the rest cannot; None is no reason.

    Attributes:
        flows: by their names, or those of connectors.
        clusters: by alias and addresses.
    """

    flows: Mapping[str, str | None] = field(default_factory=dict)
    clusters: Mapping[tuple[str, str], str | None] = field(default_factory=dict)


class Connectors(Protocol):
    """
    The connectors that clients see.

    Every call that names a connector raises ``RestError`` with status 404 if there is none, and
    ``ClusterError`` if what it needs of Kafka cannot be had.
    """

    async def cluster_id(self) -> str:
        """The id of the Kafka cluster that this node lives at."""

    async def readiness(self, only: str | None) -> Readiness:
        """
        Which flows and clusters are ready; takes some seconds, whoever does not answer.

        Args:
            only: the name of the only flow that is asked about.

        Raises:
            RestError: there is no such flow.
        """

    async def names(self) -> Sequence[str]:
        """The names of all connectors."""

    async def info(self, name: str) -> ConnectorInfo:
        """What a connector is."""

    async def info_quickly(self, name: str) -> ConnectorInfo:
        """What a connector is, as far as that is known soon: to be looked at, not sent back."""

    async def config(self, name: str) -> Mapping[str, str]:
        """A connector's configuration, secrets hidden."""

    async def status(self, name: str) -> ConnectorStatus:
        """How a connector is."""

    async def task_configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """The configurations of a connector's tasks by their numbers, secrets hidden."""

    async def topics(self, name: str) -> Sequence[str]:
        """The topics that a connector writes or reads."""

    async def reset_topics(self, name: str) -> None:
        """Forgets these topics, until they are used again."""

    async def create(
        self, name: str, config: Mapping[str, str], target: TaskTarget
    ) -> ConnectorInfo:
        """
        Makes a connector.

        Raises:
            RestError: it is there already, cannot be made, or its configuration is wrong.
        """

    async def put_config(self, name: str, config: Mapping[str, str]) -> tuple[ConnectorInfo, bool]:
        """
        Gives a connector a configuration; returns what it is then, and whether it is new.

        Raises:
            RestError: the configuration is wrong.
        """

    async def patch_config(self, name: str, changes: Mapping[str, str | None]) -> ConnectorInfo:
        """
        Changes some keys of a connector's configuration, None for no value (KIP-477).

        Raises:
            RestError: the configuration would be wrong.
        """

    async def delete(self, name: str) -> None:
        """
        Ends a connector for good.

        Raises:
            RestError: it cannot be ended.
        """

    async def set_target_state(self, name: str, target: TaskTarget) -> None:
        """Has a connector run, pause or stop; safe to repeat."""

    async def restart(
        self, name: str, *, include_tasks: bool, only_failed: bool
    ) -> ConnectorStatus:
        """Has a connector start anew, with or without its tasks; returns how it is meanwhile."""

    async def restart_task(self, name: str, task: int) -> None:
        """
        Has one task start anew.

        Raises:
            RestError: there is no such task.
        """

    async def offsets(self, name: str) -> Sequence[Position]:
        """Where a connector is."""

    async def alter_offsets(self, name: str, document: JsonObject) -> str:
        """
        Moves a stopped connector (KIP-875); returns a sentence for people.

        Args:
            name: the connector's.
            document: the request's body.

        Raises:
            RestError: the connector is not stopped, or the request is wrong.
        """

    async def reset_offsets(self, name: str) -> str:
        """
        Makes a stopped connector forget where it is; returns a sentence for people.

        Raises:
            RestError: the connector is not stopped.
        """
