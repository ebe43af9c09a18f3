"""Serves metrics, and nothing else: for programs without a REST interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog
from aiohttp import web

from mm2.errors import FatalError
from mm2.metrics.exposition import CONTENT_TYPE
from mm2.stop_deadlines import REST_S

log = structlog.get_logger()


@asynccontextmanager
async def metrics_served(address: tuple[str, int], text: Callable[[], str]) -> AsyncIterator[None]:
    """
    Answers ``GET /metrics`` meanwhile.

    Raises:
        FatalError: the port cannot be had.
    """

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=text().encode(), headers={"Content-Type": CONTENT_TYPE})

    app = web.Application()
    app.add_routes([web.get("/metrics", answer)])
    runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=REST_S)
    await runner.setup()
    host, port = address
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise FatalError(f"--metrics.listener {host}:{port} cannot be had: {error}") from error
        log.info("metrics.listening", listeners=[f"http://{host}:{port}"])
        yield
    finally:
        await runner.cleanup()
