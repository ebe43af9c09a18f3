"""
The connectors of a dedicated node: those of the flows in its file, called ``A->B.MirrorSource...``.

Answers come from Kafka, and requests are written to the flow's control topic, so that any node
answers for any flow. Errors are those of ``Connectors``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Final, NoReturn

from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.core.connect.status_records import RunState
from mm2.core.model import SOURCE_CONNECTOR
from mm2.errors import ClusterError
from mm2.herder.view.followed_flows import FollowedFlows
from mm2.kafka.admin import Admin
from mm2.rest.config_diff import patch_diff, replace_diff
from mm2.rest.connector_protocol import (
    ConnectorInfo,
    ConnectorStatus,
    ConnectorType,
    JsonObject,
    Position,
    Readiness,
    TaskTarget,
)
from mm2.rest.documents import (
    altered_config,
    assigned_partitions,
    connector_name,
    connector_of,
    existing,
    names_of,
    problems_text,
    shown_config,
    status_of,
    status_without_tasks,
)
from mm2.rest.flow_control import (
    FlowControl,
    alter_positions,
    positions_of,
    reset_positions,
)
from mm2.rest.readiness import readiness_of
from mm2.rest.rest_errors import RestError, bad_request, conflict, unknown_connector

_LISTED_WITHIN_S: Final = 5.0
_ANSWERED_WITHIN_S: Final = 4.0


class FlowConnectors:
    """
    The connectors of flows; implements ``Connectors``.

    Args:
        failed: flows of the file that cannot run; their connectors have failed.
    """

    def __init__(
        self,
        flows: Callable[[], Sequence[FlowConfig]],
        views: FollowedFlows,
        failed: Callable[[], Sequence[FailedFlow]] = tuple,
    ) -> None:
        self._flows = flows
        self._failed = failed
        self._views = views
        self._control = FlowControl(views)

    async def cluster_id(self) -> str:
        """The id of the first target, where this node has its topics."""
        return await _cluster_id(self._flows()[0])

    async def readiness(self, only: str | None) -> Readiness:
        """Which flows of the file are ready, and which of their clusters answer."""
        flows = {str(config.flow): config for config in self._flows()}
        return await readiness_of(flows, self._views, only)

    async def names(self) -> Sequence[str]:
        """All connectors of all flows, whether they run or not."""
        good = [connector_name(config, connector) for config, connector in self._all()]
        return [*good, *(name for each in self._failed() for name in names_of(each))]

    async def info(self, name: str) -> ConnectorInfo:
        """
        A connector's configuration, alterations included, and its tasks.

        While the target does not answer, as they were read last. Never without the alterations: a
        client that sends the configuration back with one change would reset them.
        """
        config, connector = self._find(name)
        view = await self._views.last(config)
        return ConnectorInfo(
            name=name,
            type=ConnectorType.SOURCE,
            config=altered_config(config, connector, view),
            tasks=list(status_of(name, connector_of(view, name, connector)).tasks),
        )

    async def info_quickly(self, name: str) -> ConnectorInfo:
        """As ``info``; if that takes more than some seconds, the configuration of the file."""
        if self._failure(name) is not None:
            return ConnectorInfo(name=name, type=ConnectorType.SOURCE, config={"name": name})
        with suppress(ClusterError, TimeoutError):
            async with asyncio.timeout(_LISTED_WITHIN_S):
                return await self.info(name)
        config, connector = self._find(name)
        shown = shown_config(config, connector)
        return ConnectorInfo(name=name, type=ConnectorType.SOURCE, config=shown, tasks=[])

    async def config(self, name: str) -> Mapping[str, str]:
        """The `config` field of `info`."""
        config, connector = self._find(name)
        return altered_config(config, connector, await self._views.last(config))

    async def status(self, name: str) -> ConnectorStatus:
        """A connector's status."""
        if (failure := self._failure(name)) is not None:
            return status_without_tasks(name, RunState.FAILED, trace=problems_text(failure))
        config, connector = self._find(name)
        view = await self._views.of(config)
        return status_of(name, connector_of(view, name, connector))

    async def task_configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """The connector's configuration for each task, with the partitions that it has."""
        config, connector = self._find(name)
        shown = (await self.info(name)).config
        view = await self._views.of(config)
        return {
            task.task: {**shown, **assigned_partitions(view, connector, task.task)}
            for task in connector_of(view, name, connector).tasks
        }

    async def topics(self, name: str) -> Sequence[str]:
        """The topics that a connector writes to."""
        config, connector = self._find(name)
        view = await self._views.of(config)
        topics = set(connector_of(view, name, connector).topics)
        if connector == SOURCE_CONNECTOR:
            topics.update(each.remote for each in view.partitions)
        return sorted(topics)

    async def reset_topics(self, name: str) -> None:
        """Cannot be done: topics are those of the assignment, and not collected."""
        self._find(name)
        raise RestError(HTTPStatus.FORBIDDEN, "Topic tracking reset is disabled.")

    async def create(
        self, name: str, config: Mapping[str, str], target: TaskTarget
    ) -> ConnectorInfo:
        """Cannot be done here."""
        del config, target
        self._refuse(f"Connector {name} cannot be made here", "add the flow to its file")

    async def delete(self, name: str) -> None:
        """Cannot be done here."""
        self._find(name)
        self._refuse(
            f"Connector {name} cannot be deleted here",
            f"stop it with PUT /connectors/{name}/stop, or take the flow out of the file",
        )

    async def put_config(self, name: str, config: Mapping[str, str]) -> tuple[ConnectorInfo, bool]:
        """Alters the flow by what differs from its present configuration."""
        await self._control.alter(
            *self._find(name), lambda present, altered: replace_diff(present, config, altered)
        )
        return await self.info(name), False

    async def patch_config(self, name: str, changes: Mapping[str, str | None]) -> ConnectorInfo:
        """Alters the flow."""
        await self._control.alter(
            *self._find(name), lambda present, _: patch_diff(present, changes)
        )
        return await self.info(name)

    async def set_target_state(self, name: str, target: TaskTarget) -> None:
        """Sets a connector's target state."""
        await self._control.set_target_state(*self._find(name), target)

    async def restart(
        self, name: str, *, include_tasks: bool, only_failed: bool
    ) -> ConnectorStatus:
        """Restarts a connector, or failed tasks alone; returns its status meanwhile."""
        return await self._control.restart(
            *self._find(name), include_tasks=include_tasks, only_failed=only_failed
        )

    async def restart_task(self, name: str, task: int) -> None:
        """Restarts one task."""
        await self._control.restart_task(*self._find(name), task)

    async def offsets(self, name: str) -> Sequence[Position]:
        """Positions of copying; the other connectors have none."""
        return await positions_of(*self._find(name))

    async def alter_offsets(self, name: str, document: JsonObject) -> str:
        """Alters the offsets of a stopped flow."""
        return await alter_positions(*self._find(name), document)

    async def reset_offsets(self, name: str) -> str:
        """Resets the offsets of a stopped flow."""
        return await reset_positions(*self._find(name))

    def _all(self) -> list[tuple[FlowConfig, str]]:
        return [(config, connector) for config in self._flows() for connector in existing(config)]

    def _find(self, name: str) -> tuple[FlowConfig, str]:
        for config, connector in self._all():
            if connector_name(config, connector) == name:
                return config, connector
        if (failure := self._failure(name)) is not None:
            raise conflict(f"{failure.flow} does not run: {problems_text(failure)}")
        raise unknown_connector(name)

    def _failure(self, name: str) -> FailedFlow | None:
        return next((each for each in self._failed() if name in names_of(each)), None)

    def _refuse(self, what: str, advice: str) -> NoReturn:
        raise bad_request(
            f"{what}: connectors of a dedicated node are those of the flows in its file. To change"
            f" them, {advice}; or run connectors in Connect's way."
        )


async def _cluster_id(config: FlowConfig) -> str:
    admin = Admin(config.flow.target, config.source.target_admin("rest-admin"))
    try:
        return await admin.cluster_id(within_s=_ANSWERED_WITHIN_S)
    finally:
        await admin.close()
