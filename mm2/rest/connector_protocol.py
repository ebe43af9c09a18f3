"""
``Connectors``, which dedicated nodes and Connect workers implement for the REST interface.

HTTP, JSON and error bodies are left to the interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from mm2.core.connect.status_records import Status

JsonObject = Mapping[str, object]
"""A JSON object that is not validated."""


class ConnectorType(StrEnum):
    """Connect's type of a connector."""

    SOURCE = "source"
    SINK = "sink"


class TaskTarget(StrEnum):
    """Connect's target states."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorStatus:
    """Statuses of a connector and of its tasks, whose numbers need not be dense."""

    name: str
    type: ConnectorType
    connector: Status
    tasks: Mapping[int, Status] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorInfo:
    """A connector's configuration, secrets hidden, and the numbers of its tasks."""

    name: str
    type: ConnectorType
    config: Mapping[str, str]
    tasks: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One Connect source offset: partition map and offset map."""

    partition: JsonObject
    offset: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """
    Why flows and clusters are not ready; None for those that are.

    Attributes:
        flows: by the names of flows or connectors.
        clusters: by alias and bootstrap servers.
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
        Checks flows and clusters, or one flow and its clusters; takes some seconds at most.

        Raises:
            RestError: there is no such flow.
        """

    async def names(self) -> Sequence[str]:
        """The names of all connectors."""

    async def info(self, name: str) -> ConnectorInfo:
        """A connector's configuration and tasks."""

    async def info_quickly(self, name: str) -> ConnectorInfo:
        """As ``info``, but within seconds: may lack alterations, so it must not be sent back."""

    async def config(self, name: str) -> Mapping[str, str]:
        """A connector's configuration, secrets hidden."""

    async def status(self, name: str) -> ConnectorStatus:
        """A connector's status."""

    async def task_configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """The configurations of a connector's tasks by their numbers, secrets hidden."""

    async def topics(self, name: str) -> Sequence[str]:
        """The topics that a connector writes or reads."""

    async def reset_topics(self, name: str) -> None:
        """Resets the active topics."""

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
        """Restarts a connector, with or without its tasks; returns its status meanwhile."""

    async def restart_task(self, name: str, task: int) -> None:
        """
        Restarts one task.

        Raises:
            RestError: there is no such task.
        """

    async def offsets(self, name: str) -> Sequence[Position]:
        """A connector's source offsets."""

    async def alter_offsets(self, name: str, document: JsonObject) -> str:
        """
        Alters the offsets of a stopped connector (KIP-875); returns the message of the response.

        Raises:
            RestError: the connector is not stopped, or the request is wrong.
        """

    async def reset_offsets(self, name: str) -> str:
        """
        Resets the offsets of a stopped connector; returns the message of the response.

        Raises:
            RestError: the connector is not stopped.
        """
