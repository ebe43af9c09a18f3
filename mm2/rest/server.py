"""Serves connectors on the ports that were bound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import structlog
from aiohttp import web

from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.rest.app import application
from mm2.rest.connector_plugins import MIRROR_PLUGINS, Plugins
from mm2.rest.flow_connectors import FlowConnectors
from mm2.rest.followed_flows import FlowViews
from mm2.rest.listeners import ServerSetup, advertised_url
from mm2.rest.requests import Api
from mm2.stop_deadlines import REST_S
from mm2.telemetry.levels import LogLevels

log = structlog.get_logger()


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
        plugins = Plugins(MIRROR_PLUGINS)
        await serve(Api(connectors=connectors, plugins=plugins, levels=LogLevels()), entrance)


async def serve(api: Api, entrance: ServerSetup) -> None:
    """Serves the interface until cancelled."""
    async with served(api, entrance):
        await asyncio.Event().wait()


@asynccontextmanager
async def served(api: Api, entrance: ServerSetup) -> AsyncIterator[None]:
    """Serves the interface, and takes the sockets over."""
    runner = web.AppRunner(
        application(api, entrance),
        handle_signals=False,
        access_log=None,
        shutdown_timeout=REST_S,
    )
    await runner.setup()
    try:
        for each in entrance.bound:
            tls = entrance.tls if each.listener.scheme == "https" else None
            for socket in each.sockets:
                await web.SockSite(runner, socket, ssl_context=tls).start()
        _tell(entrance)
        yield
    finally:
        await runner.cleanup()


def _tell(entrance: ServerSetup) -> None:
    """Says where, and what an operator should think twice about."""
    listeners = [each.listener for each in entrance.bound]
    url = advertised_url(entrance.bound, entrance.settings)
    log.info("rest.listening", listeners=list(map(str, listeners)), advertised=url)
    if entrance.settings.read_only_by_default:
        log.info("rest.only_shows", to_change="rest.basic.auth.file, or rest.read.only=false")
    for listener in listeners:
        if listener.is_local:
            continue
        if entrance.passwords is None and not entrance.settings.read_only:
            log.warning("rest.unprotected", listener=str(listener))
        if entrance.passwords is not None and listener.scheme == "http":
            log.warning("rest.passwords_readable", listener=str(listener))
