"""The page as a browser gets it: whom it is for, what it may load, and what it never shows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mm2.config.flow_config import FlowConfig
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.led_flow import LedFlow
from mm2.rest.connector_plugins import MIRROR_PLUGINS, Plugins
from mm2.rest.listeners import prepare
from mm2.rest.page_routes import prefers_html
from mm2.rest.requests import Api
from mm2.rest.server import served
from mm2.status_page.status_page import MOST_WATCHERS, StatusPage
from mm2.telemetry.levels import LogLevels
from mm2.telemetry.recent_events import RecentEvents
from tests.support.fake_connectors import FakeConnectors
from tests.support.rest import Client, interface, settings
from tests.support.status_page import NODE, FakeViews, copied, flows_of, partition, running

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


@asynccontextmanager
async def _served(
    flows: list[FlowConfig], views: FakeViews, of: Any = None, **page: Any
) -> AsyncIterator[Client]:
    shown = StatusPage(lambda: flows, views, **page)
    looking = asyncio.create_task(shown.run())
    try:
        async with interface(FakeConnectors(), of, page=shown) as client:
            yield client
    finally:
        looking.cancel()


def _two(**more: str) -> tuple[list[FlowConfig], FakeViews]:
    flows = flows_of(("A", "B"), **more)
    return flows, FakeViews({flows[0].flow: running(flows[0].flow, partition("orders"))})


async def _page(client: Client, path: str = "/", **headers: str) -> aiohttp.ClientResponse:
    response = await client.session.get(client.url + path, headers={**BROWSER, **headers})
    await response.read()
    return response


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str | None] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "script":
            self.scripts.append(given.get("src"))
        self.handlers += [name for name in given if name.startswith("on") or name == "style"]


@pytest.mark.parametrize(
    ("accept", "is_html"),
    [
        (BROWSER["Accept"], True),
        ("text/html", True),
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("application/json, text/html", True),
        ("application/json, text/html;q=0.9", False),
        ("text/html;q=0", False),
        ("text/html;q=often", False),
        ("application/json, text/javascript, */*", False),
    ],
)
def test_only_who_asks_for_html_gets_the_page(accept: str, is_html: bool) -> None:
    assert prefers_html(accept) is is_html


async def test_clients_of_connect_get_json_at_the_root_as_before() -> None:
    async with _served(*_two()) as client:
        assert (await client.get("/"))["kafka_cluster_id"]
        async with client.session.get(client.url + "/") as response:
            assert response.headers["Vary"] == "Accept"
        page = await _page(client)
        assert page.content_type == "text/html"
        assert "orders" in await page.text()


async def test_the_page_may_load_nothing_from_elsewhere_and_be_in_no_frame() -> None:
    async with _served(*_two()) as client:
        page = await _page(client)
        policy = page.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert page.headers["Cache-Control"] == "no-store"
        assert "//" not in (await page.text()).replace("</", "")


async def test_names_of_topics_and_clusters_are_text_and_nothing_else() -> None:
    flows, views = _two()
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    views.of_flows[flow] = running(flow, partition(HOSTILE, error=HOSTILE), copied("ok"))
    events = RecentEvents()
    events(None, "", {"event": HOSTILE, "level": HOSTILE, "flow": HOSTILE, "error": HOSTILE})
    async with _served(flows, views, events=events) as client:
        html = await (await _page(client)).text()
    tags = _Tags()
    tags.feed(html)
    assert tags.scripts == ["page/uplot.js", "page/page.js"]
    assert tags.handlers == []
    assert html.count("&lt;script&gt;alert(1)") >= 4


async def test_the_leading_node_has_a_short_name_and_its_whole_one_on_demand() -> None:
    async with _served(*_two()) as client:
        html = await (await _page(client)).text()
    assert f'title="{NODE}">node-1/71137280/B<' in html
    assert html.count(NODE) == 1


async def test_secrets_of_the_file_are_not_shown() -> None:
    flows, views = _two(B_sasl_jaas_config="password=s3cret", A_ssl_key_password="s3cret")
    async with _served(flows, views) as client:
        html = await (await _page(client)).text()
    assert "ssl.key.password" in html
    assert "s3cret" not in html


async def test_who_may_not_ask_does_not_see_the_page(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    file.write_text("anna=secret\n")
    async with _served(*_two(), settings(passwords_file=str(file))) as client:
        for path in ("/", "/page/updates", "/page/page.js"):
            page = await _page(client, path)
            assert page.status == 401
            assert "WWW-Authenticate" in page.headers
        allowed = {"Authorization": aiohttp.encode_basic_auth("anna", "secret")}
        assert (await _page(client, "/", **allowed)).status == 200


async def test_pages_of_other_names_that_lead_here_are_refused() -> None:
    """A page of attackers whose name is made to lead to this machine (DNS rebinding)."""
    async with _served(*_two()) as client:
        for path in ("/", "/page/updates"):
            assert (await _page(client, path, Host="evil.example.org")).status == 403


@pytest.mark.parametrize(
    "name", ["", "page.html", "..%2Ftemplates%2Fpage.html", "uplot.LICENSE", "__init__.py"]
)
async def test_only_files_of_the_page_are_served(name: str) -> None:
    async with _served(*_two()) as client:
        assert (await client.ask("GET", f"/page/{name}"))[0] == 404
        script = await _page(client, "/page/page.js")
        assert (script.status, script.content_type) == (200, "text/javascript")


async def test_updates_begin_with_everything_and_go_on_with_what_changes() -> None:
    flows, views = _two()
    async with _served(flows, views) as client, asyncio.timeout(60):
        stream = await client.session.get(client.url + "/page/updates")
        async with stream:
            assert stream.content_type == "text/event-stream"
            news = [await _update(stream)]
            while "orders" not in str(news[-1]["sections"].get("flows")):
                news.append(await _update(stream))
            assert news[-1]["history"]["flows"] == ["A->B"]
            views.of_flows[flows[0].flow] = running(flows[0].flow, copied("orders"))
            while "flows" not in (last := await _update(stream))["sections"]:
                pass
            assert "100 %" in last["sections"]["flows"]
            assert "configuration" not in last["sections"]


async def _update(stream: aiohttp.ClientResponse) -> Any:
    async for line in stream.content:
        if line.startswith(b"data: "):
            return json.loads(line.removeprefix(b"data: "))
    raise AssertionError("the stream has ended")


async def test_no_more_pages_are_kept_up_to_date_than_the_node_can_bear() -> None:
    async with _served(*_two()) as client, asyncio.timeout(60):
        streams = [
            await client.session.get(client.url + "/page/updates") for _ in range(MOST_WATCHERS)
        ]
        for stream in streams:
            await _update(stream)
        assert (await client.ask("GET", "/page/updates"))[0] == 503
        assert (await _page(client)).status == 200
        for stream in streams:
            stream.close()


async def test_no_cluster_is_asked_while_nobody_watches() -> None:
    """The history then has what the node knows of the flows that it leads."""
    flows, views = _two()
    looked = asyncio.Event()

    def led() -> tuple[LedFlow, ...]:
        looked.set()
        return (LedFlow(flows[0], FlowSnapshot()),)

    page = StatusPage(lambda: flows, views, led=led)
    running_page = asyncio.create_task(page.run())
    try:
        async with asyncio.timeout(60):
            await looked.wait()
            assert views.asked == 0
            await page.html()
        assert views.asked > 0
    finally:
        running_page.cancel()


async def test_the_end_of_the_server_ends_open_pages_first() -> None:
    """Their answers are complete; it would wait for them, and then cut them off."""
    flows, views = _two()
    page = StatusPage(lambda: flows, views)
    api = Api(
        connectors=FakeConnectors(),
        plugins=Plugins(MIRROR_PLUGINS),
        levels=LogLevels(),
        page=page,
    )
    setup = prepare(settings())
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        async with served(api, setup):
            await page.html()
            stream = await session.get(f"{setup.bound[0].listener}/page/updates")
            await _update(stream)
        assert await stream.content.read() == b"\n"
