"""Serves connectors on the ports that were bound."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import structlog
from aiohttp import web

from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.config.metrics_settings import MetricsSettings
from mm2.herder.view.followed_flows import FollowedFlows
from mm2.herder.view.led_flow import LedFlow
from mm2.metrics.scrape import Metrics
from mm2.rest.app import application, metrics_application
from mm2.rest.connector_plugins import MIRROR_PLUGINS, Plugins
from mm2.rest.flow_connectors import FlowConnectors
from mm2.rest.listeners import Bound, ServerSetup, advertised_url
from mm2.rest.requests import Api
from mm2.status_page.status_page import StatusPage
from mm2.stop_deadlines import REST_S
from mm2.supervision import keep_running
from mm2.telemetry.levels import CHOSEN, LogLevels

log = structlog.get_logger()


async def serve_flows(
    flows: Callable[[], Sequence[FlowConfig]],
    failed: Callable[[], Sequence[FailedFlow]],
    led: Callable[[], Sequence[LedFlow]],
    setup: ServerSetup,
) -> None:
    """
    Serves the flows of a dedicated node until cancelled.

    Args:
        flows: the flows as their file has them now.
    """
    async with asyncio.TaskGroup() as tasks:
        views = FollowedFlows(tasks)
        page = StatusPage(flows, views, failed, led)
        tasks.create_task(keep_running("status-page", page.run), name="status-page")
        api = Api(
            connectors=FlowConnectors(flows, views, failed),
            plugins=Plugins(MIRROR_PLUGINS),
            levels=LogLevels(CHOSEN),
            page=page,
            metrics=metrics_of(led, setup.settings.metrics),
        )
        await serve(api, setup)


def metrics_of(led: Callable[[], Sequence[LedFlow]], settings: MetricsSettings) -> Metrics | None:
    """What exports the flows that a node leads; None if it is not to."""
    return Metrics(led, settings) if settings.enabled else None


async def serve(api: Api, setup: ServerSetup) -> None:
    """Serves the interface until cancelled."""
    async with served(api, setup):
        await asyncio.Event().wait()


@asynccontextmanager
async def served(api: Api, setup: ServerSetup) -> AsyncIterator[None]:
    """Serves the interface, and takes the sockets over."""
    async with AsyncExitStack() as stack:
        for bound, app in (
            (setup.bound, application(api, setup)),
            (setup.metrics, metrics_application(api)),
        ):
            if bound:
                await _listen(stack, bound, app, setup.tls)
        _log_listeners(setup)
        yield


async def _listen(
    stack: AsyncExitStack,
    bound: Sequence[Bound],
    app: web.Application,
    tls: ssl.SSLContext | None,
) -> None:
    runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=REST_S)
    stack.push_async_callback(runner.cleanup)
    await runner.setup()
    for each in bound:
        context = tls if each.listener.scheme == "https" else None
        for socket in each.sockets:
            await web.SockSite(runner, socket, ssl_context=context).start()


def _log_listeners(setup: ServerSetup) -> None:
    """Says where, and what an operator should think twice about."""
    if setup.metrics:
        log.info("metrics.listening", listeners=[str(each.listener) for each in setup.metrics])
    if not setup.bound:
        return
    listeners = [each.listener for each in setup.bound]
    url = advertised_url(setup.bound, setup.settings)
    log.info("rest.listening", listeners=list(map(str, listeners)), advertised=url)
    if setup.settings.read_only_by_default:
        log.info(
            "rest.read_only_by_default", to_change="rest.basic.auth.file, or rest.read.only=false"
        )
    for listener in listeners:
        if listener.is_local:
            continue
        if setup.passwords is None and not setup.settings.read_only:
            log.warning("rest.unprotected", listener=str(listener))
        if setup.passwords is not None and listener.scheme == "http":
            log.warning("rest.passwords_readable", listener=str(listener))
