"""
The connectors of a dedicated node: those of the flows in its file, called ``A->B.MirrorSource...``.

Whatever is shown is seen through Kafka, and whatever is asked for is written to the flow's control
topic. So every node answers for every flow alike, whoever leads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Final, NoReturn

from mm2.config.altering import tolerated
from mm2.config.flow import FlowConfig
from mm2.core.model import SOURCE_CONNECTOR
from mm2.errors import ClusterError
from mm2.herder.clusters import admin_clients
from mm2.herder.commands import FlowCommands
from mm2.herder.control_steering import Alterations, ConnectorState
from mm2.herder.flow_view import ConnectorView
from mm2.herder.repositioning import Repositioning
from mm2.kafka.admin import Admin
from mm2.rest import moving
from mm2.rest.altering import Difference, partial, whole
from mm2.rest.errors import RestError, bad_request, not_found, unknown_connector
from mm2.rest.flow_answers import (
    altered_config,
    assigned_partitions,
    connector_name,
    connector_of,
    existing,
    restarting,
    shown_config,
    status_of,
)
from mm2.rest.ports import (
    ConnectorInfo,
    ConnectorStatus,
    ConnectorType,
    JsonObject,
    Position,
    Target,
)
from mm2.rest.views import READY_WITHIN_S, FlowViews

_LOOK_EVERY_S: Final = 0.02
_LISTED_WITHIN_S: Final = 5.0
_FAILED: Final = "FAILED"


class FlowConnectors:
    """
    The connectors of flows; implements ``Connectors``.

    Args:
        flows: the flows as their file has them now.
        views: how flows are.
    """

    def __init__(self, flows: Callable[[], Sequence[FlowConfig]], views: FlowViews) -> None:
        self._flows = flows
        self._views = views

    async def cluster_id(self) -> str:
        """
        The id of the first target, where this node has its topics.

        Raises:
            ClusterError: it does not answer, or refuses.
        """
        return await _cluster_id(self._flows()[0])

    async def check(self) -> None:
        """
        Makes sure that there is something that this node can do: a target that answers.

        Raises:
            ClusterError: none does; what the last of them says.
        """
        targets = {config.flow.target: config for config in self._flows()}
        answers = await asyncio.gather(*map(_cluster_id, targets.values()), return_exceptions=True)
        problems = [answer for answer in answers if isinstance(answer, BaseException)]
        if len(problems) == len(answers):
            raise problems[-1]

    async def names(self) -> Sequence[str]:
        """All connectors of all flows, whether they run or not."""
        return [connector_name(config, connector) for config, connector in self._all()]

    async def info(self, name: str) -> ConnectorInfo:
        """
        A connector's configuration, alterations included, and its tasks.

        While the target is away, as they were seen last. Never without the alterations: whoever
        sends the configuration back with one change would take them back.

        Raises:
            ClusterError: the target does not answer, and was not seen before.
        """
        config, connector = self._find(name)
        view = await self._views.last(config)
        return ConnectorInfo(
            name=name,
            type=ConnectorType.SOURCE,
            config=altered_config(config, connector, view),
            tasks=list(status_of(name, connector_of(view, name, connector)).tasks),
        )

    async def listed(self, name: str) -> ConnectorInfo:
        """As ``info``; what the file says, if that cannot be had in some seconds."""
        with suppress(ClusterError, TimeoutError):
            async with asyncio.timeout(_LISTED_WITHIN_S):
                return await self.info(name)
        config, connector = self._find(name)
        shown = shown_config(config, connector)
        return ConnectorInfo(name=name, type=ConnectorType.SOURCE, config=shown, tasks=[])

    async def config(self, name: str) -> Mapping[str, str]:
        """As that of ``info``."""
        config, connector = self._find(name)
        return altered_config(config, connector, await self._views.last(config))

    async def status(self, name: str) -> ConnectorStatus:
        """How a connector is."""
        return status_of(name, await self._view(*self._find(name)))

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
        """
        Cannot be done: topics are those of the assignment, and not collected.

        Raises:
            RestError: always.
        """
        self._find(name)
        raise RestError(HTTPStatus.FORBIDDEN, "Topic tracking reset is disabled.")

    async def create(self, name: str, config: Mapping[str, str], target: Target) -> ConnectorInfo:
        """
        Cannot be done here.

        Raises:
            RestError: always.
        """
        del config, target
        self._refuse(f"Connector {name} cannot be made here", "add the flow to its file")

    async def delete(self, name: str) -> None:
        """
        Cannot be done here.

        Raises:
            RestError: always.
        """
        self._find(name)
        self._refuse(
            f"Connector {name} cannot be deleted here",
            f"stop it with PUT /connectors/{name}/stop, or take the flow out of the file",
        )

    async def put_config(self, name: str, config: Mapping[str, str]) -> tuple[ConnectorInfo, bool]:
        """
        Alters the flow by what differs from its present configuration.

        Raises:
            RestError: there is no such connector.
            ConfigErrors: the configuration is wrong.
        """
        await self._alter(name, lambda present, altered: whole(present, config, altered))
        return await self.info(name), False

    async def patch_config(self, name: str, changes: Mapping[str, str | None]) -> ConnectorInfo:
        """
        Alters the flow.

        Raises:
            RestError: there is no such connector.
            ConfigErrors: the configuration would be wrong.
        """
        await self._alter(name, lambda present, _: partial(present, changes))
        return await self.info(name)

    async def want(self, name: str, target: Target) -> None:
        """Has a connector run, pause or stop."""
        config, connector = self._find(name)
        async with _commands(config) as commands:
            match target:
                case Target.RUNNING:
                    await commands.resume(connector)
                case Target.PAUSED:
                    await commands.pause(connector)
                case Target.STOPPED:
                    await commands.stop(connector)

    async def restart(
        self, name: str, *, include_tasks: bool, only_failed: bool
    ) -> ConnectorStatus:
        """
        Has a connector start anew, which takes its tasks along; or failed tasks alone.

        Returns:
            How it is, with RESTARTING for what is about to.
        """
        config, connector = self._find(name)
        status = status_of(name, await self._view(config, connector))
        failed = [number for number, task in status.tasks.items() if task.state == _FAILED]
        async with _commands(config) as commands:
            if not only_failed or status.connector.state == _FAILED:
                await commands.restart(connector)
                return restarting(status, status.tasks if include_tasks else ())
            for number in failed if include_tasks else ():
                await commands.restart(connector, number)
        return replace(
            restarting(status, failed if include_tasks else ()), connector=status.connector
        )

    async def restart_task(self, name: str, task: int) -> None:
        """
        Has one task start anew.

        Raises:
            RestError: there is no such task.
        """
        config, connector = self._find(name)
        view = await self._view(config, connector)
        if task not in {each.task for each in view.tasks}:
            raise not_found(f"Unknown task: {name}-{task}")
        async with _commands(config) as commands:
            await commands.restart(connector, task)

    async def offsets(self, name: str) -> Sequence[Position]:
        """Positions of copying; the other connectors have none."""
        config, connector = self._find(name)
        if connector != SOURCE_CONNECTOR:
            return []
        async with Repositioning.of(config) as repositioning:
            return await moving.positions(repositioning, config.flow.source)

    async def alter_offsets(self, name: str, document: JsonObject) -> str:
        """
        Moves a stopped flow.

        Raises:
            RestError: it is not stopped, or has not drained yet.
            ConfigErrors: the request is wrong.
        """
        config = await self._stopped(name)
        async with Repositioning.of(config) as repositioning:
            return await moving.alter(repositioning, document)

    async def reset_offsets(self, name: str) -> str:
        """
        Has a stopped flow begin as a new one would.

        Raises:
            RestError: it is not stopped, or has not drained yet.
        """
        config = await self._stopped(name)
        async with Repositioning.of(config) as repositioning:
            return await moving.reset(repositioning)

    async def _stopped(self, name: str) -> FlowConfig:
        """The flow of a connector that has positions and is to be stopped."""
        config, connector = self._find(name)
        if connector != SOURCE_CONNECTOR:
            raise bad_request(f"Connector {name} has no offsets of its own; see {SOURCE_CONNECTOR}")
        async with _commands(config) as commands:
            steering = await commands.steering()
        if steering.state_of(connector) is not ConnectorState.STOPPED:
            raise moving.not_stopped(name)
        return config

    async def _alter(
        self, name: str, difference: Callable[[Mapping[str, str], Sequence[str]], Difference]
    ) -> None:
        config, connector = self._find(name)
        async with _commands(config) as commands:
            altered = (await commands.alterations()).changes
            present = shown_config(tolerated(config, altered).config, connector)
            asked = difference(present, list(altered))
            if asked:
                alteration = await commands.alter(asked.changes, reset=asked.resets)
                await self._until_seen(config, alteration.alterations)

    async def _until_seen(self, config: FlowConfig, written: Alterations) -> None:
        """Waits until views show what was written, or somebody has written something newer."""
        view = await self._views.of(config)
        async with asyncio.timeout(READY_WITHIN_S):
            while view.steering.alterations.time_ms < written.time_ms:
                await asyncio.sleep(_LOOK_EVERY_S)
                view = await self._views.of(config)

    async def _view(self, config: FlowConfig, connector: str) -> ConnectorView:
        view = await self._views.of(config)
        return connector_of(view, connector_name(config, connector), connector)

    def _all(self) -> list[tuple[FlowConfig, str]]:
        return [(config, connector) for config in self._flows() for connector in existing(config)]

    def _find(self, name: str) -> tuple[FlowConfig, str]:
        for config, connector in self._all():
            if connector_name(config, connector) == name:
                return config, connector
        raise unknown_connector(name)

    def _refuse(self, what: str, advice: str) -> NoReturn:
        raise bad_request(
            f"{what}: connectors of a dedicated node are those of the flows in its file. To change"
            f" them, {advice}; or run connectors in Connect's way."
        )


@asynccontextmanager
async def _commands(config: FlowConfig) -> AsyncIterator[FlowCommands]:
    async with admin_clients(config) as clusters:
        yield FlowCommands(config, clusters)


async def _cluster_id(config: FlowConfig) -> str:
    admin = Admin(config.flow.target, config.source.target_admin("rest-admin"))
    try:
        return await admin.cluster_id()
    finally:
        await admin.close()
