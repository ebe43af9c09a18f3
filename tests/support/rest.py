"""A REST interface that is served for a test, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession
from yarl import URL

from mm2.config.rest_settings import Listener, RestSettings
from mm2.metrics.scrape import Metrics
from mm2.rest.connector_plugins import MIRROR_PLUGINS, Plugins
from mm2.rest.connector_protocol import Connectors
from mm2.rest.listeners import prepare
from mm2.rest.requests import Api
from mm2.rest.server import served
from mm2.status_page.status_page import StatusPage
from mm2.telemetry.levels import LogLevels
from mm2.telemetry.recent_events import RecentEvents

ANY_PORT = Listener("http", "127.0.0.1", 0)


class Client:
    """Asks, and returns status and JSON."""

    def __init__(self, session: ClientSession, url: str, metrics_url: str = "") -> None:
        self.session = session
        self.url = url
        self.metrics_url = metrics_url

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Sends one request; the path goes out as it is written."""
        url = URL(self.url + path, encoded=True)
        async with self.session.request(method, url, **options) as response:
            body = await response.read()
            return response.status, (await response.json()) if body else None

    async def get(self, path: str, **options: Any) -> Any:
        """The JSON of an answer 200."""
        status, body = await self.ask("GET", path, **options)
        assert status == 200, (status, body)
        return body


def settings(**changes: Any) -> RestSettings:
    """Settings for a port that is free."""
    return RestSettings(**{"listeners": (ANY_PORT,), "by_default": False, **changes})


@asynccontextmanager
async def interface(
    connectors: Connectors,
    of: RestSettings | None = None,
    *,
    levels: LogLevels | None = None,
    plugins: Plugins | None = None,
    starting: str | None = None,
    page: StatusPage | None = None,
    metrics: Metrics | None = None,
    events: RecentEvents | None = None,
) -> AsyncIterator[Client]:
    """Serves connectors on a port of its own."""
    api = Api(
        connectors=connectors,
        plugins=plugins or Plugins(MIRROR_PLUGINS),
        levels=levels or LogLevels(),
        starting=lambda: starting,
        page=page,
        metrics=metrics,
        events=events or RecentEvents(),
    )
    setup = prepare(of or settings())
    async with served(api, setup), ClientSession() as session:
        urls = [str(each.listener) for each in (*setup.bound, *setup.metrics)]
        yield Client(session, *urls)
