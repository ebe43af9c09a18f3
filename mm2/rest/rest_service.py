"""The interface as one thing to run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.rest.connector_plugins import MIRROR_PLUGINS, Plugins
from mm2.rest.connector_protocol import Connectors
from mm2.rest.flow_connectors import FlowConnectors
from mm2.rest.followed_flows import FlowViews
from mm2.rest.listeners import ServerSetup
from mm2.rest.requests import Api
from mm2.rest.server import served
from mm2.telemetry.levels import LogLevels


async def serve(connectors: Connectors, plugins: Plugins, entrance: ServerSetup) -> None:
    """
    Serves the interface until cancelled.

    Args:
        connectors: those that are shown and steered.
        plugins: their classes.
        entrance: where and to whom.
    """
    api = Api(connectors=connectors, plugins=plugins, levels=LogLevels())
    async with served(api, entrance):
        await asyncio.Event().wait()


async def serve_flows(
    flows: Callable[[], Sequence[FlowConfig]],
    failed: Callable[[], Sequence[FailedFlow]],
    entrance: ServerSetup,
) -> None:
    """
    Serves the flows of a dedicated node until cancelled.

    Args:
        flows: the flows as their file has them now.
        failed: those that cannot run.
        entrance: where and to whom.
    """
    async with asyncio.TaskGroup() as tasks:
        connectors = FlowConnectors(flows, FlowViews(tasks), failed)
        await serve(connectors, Plugins(MIRROR_PLUGINS), entrance)
