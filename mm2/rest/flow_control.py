"""Changes connectors of a dedicated node by commands in the control topic, for the leader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from mm2.config.flow_config import FlowConfig
from mm2.config.overrides import Changes, apply_valid_overrides
from mm2.core.connect.status_records import RunState
from mm2.core.model import SOURCE_CONNECTOR
from mm2.herder.control.alteration_writer import record_of
from mm2.herder.control.flow_commands import FlowCommands
from mm2.herder.offsets.offset_changes import OffsetChanges
from mm2.herder.view.flow_views import ConnectorView
from mm2.herder.view.followed_flows import READY_WITHIN_S, FollowedFlows
from mm2.kafka.flow_clusters import admin_clients
from mm2.protocol.command_records import Alterations, ConnectorState
from mm2.rest import connector_offsets
from mm2.rest.config_diff import ConfigDiff
from mm2.rest.connector_protocol import ConnectorStatus, JsonObject, Position, TaskTarget
from mm2.rest.documents import (
    connector_name,
    connector_of,
    restarting,
    shown_config,
    status_of,
)
from mm2.rest.rest_errors import bad_request, not_found

_VIEW_EVERY_S: Final = 0.02


class FlowControl:
    """Changes the connectors of flows."""

    def __init__(self, views: FollowedFlows) -> None:
        self._views = views

    async def alter(
        self,
        config: FlowConfig,
        connector: str,
        difference: Callable[[Mapping[str, str], Sequence[str]], ConfigDiff],
    ) -> None:
        """
        Alters a flow, and waits until views show it.

        Args:
            difference: what to change, from its present configuration and the keys altered now.

        Raises:
            ConfigErrors: the configuration would be wrong.
        """

        def request(altered: Changes) -> tuple[Changes, Collection[str]] | None:
            present = shown_config(apply_valid_overrides(config, altered).config, connector)
            asked = difference(present, list(altered))
            return (asked.changes, asked.resets) if asked else None

        async with _commands(config) as commands:
            if alteration := await commands.alter_by(request):
                await self._until_seen(config, record_of(alteration))

    async def set_target_state(
        self, config: FlowConfig, connector: str, target: TaskTarget
    ) -> None:
        """Sets a connector's target state."""
        async with _commands(config) as commands:
            match target:
                case TaskTarget.RUNNING:
                    await commands.resume(connector)
                case TaskTarget.PAUSED:
                    await commands.pause(connector)
                case TaskTarget.STOPPED:
                    await commands.stop(connector)

    async def restart(
        self, config: FlowConfig, connector: str, *, include_tasks: bool, only_failed: bool
    ) -> ConnectorStatus:
        """
        Restarts a connector with its tasks, or failed tasks alone.

        Returns:
            Its status, with RESTARTING for what is restarted.
        """
        name = connector_name(config, connector)
        status = status_of(name, await self._view(config, connector))
        failed = [number for number, task in status.tasks.items() if task.state is RunState.FAILED]
        async with _commands(config) as commands:
            if not only_failed or status.connector.state is RunState.FAILED:
                await commands.restart(connector)
                return restarting(status, status.tasks if include_tasks else ())
            for number in failed if include_tasks else ():
                await commands.restart(connector, number)
        return replace(
            restarting(status, failed if include_tasks else ()), connector=status.connector
        )

    async def restart_task(self, config: FlowConfig, connector: str, task: int) -> None:
        """
        Restarts one task.

        Raises:
            RestError: there is no such task.
        """
        view = await self._view(config, connector)
        if task not in {each.task for each in view.tasks}:
            raise not_found(f"Unknown task: {connector_name(config, connector)}-{task}")
        async with _commands(config) as commands:
            await commands.restart(connector, task)

    async def _view(self, config: FlowConfig, connector: str) -> ConnectorView:
        view = await self._views.of(config)
        return connector_of(view, connector_name(config, connector), connector)

    async def _until_seen(self, config: FlowConfig, written: Alterations) -> None:
        """Waits until views show the alterations, or newer ones."""
        view = await self._views.of(config)
        async with asyncio.timeout(READY_WITHIN_S):
            while view.desired.alterations.time_ms < written.time_ms:
                await asyncio.sleep(_VIEW_EVERY_S)
                view = await self._views.of(config)


async def positions_of(config: FlowConfig, connector: str) -> Sequence[Position]:
    """Positions of copying; the other connectors have none."""
    if connector != SOURCE_CONNECTOR:
        return []
    async with OffsetChanges.of(config) as repositioning:
        return await connector_offsets.positions(repositioning, config.flow.source)


async def alter_positions(config: FlowConfig, connector: str, document: JsonObject) -> str:
    """
    Alters the offsets of a stopped flow.

    Raises:
        RestError: it is not stopped, or has not drained yet.
        ConfigErrors: the request is wrong.
    """
    await _check_stopped(config, connector)
    async with OffsetChanges.of(config) as repositioning:
        return await connector_offsets.alter(repositioning, document)


async def reset_positions(config: FlowConfig, connector: str) -> str:
    """
    Resets the offsets of a stopped flow.

    Raises:
        RestError: it is not stopped, or has not drained yet.
    """
    await _check_stopped(config, connector)
    async with OffsetChanges.of(config) as repositioning:
        return await connector_offsets.reset(repositioning)


async def _check_stopped(config: FlowConfig, connector: str) -> None:
    """Only offsets of a source connector whose target state is STOPPED may be changed."""
    name = connector_name(config, connector)
    if connector != SOURCE_CONNECTOR:
        raise bad_request(f"Connector {name} has no offsets of its own; see {SOURCE_CONNECTOR}")
    async with _commands(config) as commands:
        desired = await commands.desired_state()
    if desired.state_of(connector) is not ConnectorState.STOPPED:
        raise connector_offsets.not_stopped(name)


@asynccontextmanager
async def _commands(config: FlowConfig) -> AsyncIterator[FlowCommands]:
    async with admin_clients(config) as clusters:
        yield FlowCommands(config, clusters)
