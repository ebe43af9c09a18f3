"""Flows that a status page shows, without brokers, and a browser that looks at it."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

import pytest
from msgspec import structs
from playwright.async_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    async_playwright,
    expect,
)

from mm2.config.flow_config import FlowConfig, flow_config
from mm2.core.connect.status_records import RunState
from mm2.core.model import CONNECTORS, SourceAndTarget, TopicName, TopicPartition
from mm2.errors import ClusterError
from mm2.herder.view.flow_views import (
    ConnectorView,
    FlowView,
    LeaderView,
    PartitionView,
    TaskView,
)
from tests.support.configs import maker_of
from tests.support.eventually import PATIENCE_S

NODE: Final = "node-1/71137280-5213-4dc6-96ac-545b344f7b3e/B"
NOW_MS: Final = 1_700_000_000_000

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
_NAMELESS: Final = """() => {
    const parts = "a[href], button, summary, input, select, progress, [role=region], [tabindex]";
    return [...document.querySelectorAll(parts)]
        .filter((each) => each.checkVisibility() && each.id !== "main")
        .filter((each) => !(each.getAttribute("aria-label") || each.textContent).trim())
        .map((each) => each.outerHTML);
}"""
_TWICE: Final = """() => {
    const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
    return ids.filter((each, place) => ids.indexOf(each) !== place);
}"""
_COLOURS: Final = """() => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const backOf = (each) => {
        for (let on = each; on; on = on.parentElement) {
            const back = numbers(getComputedStyle(on).backgroundColor);
            if (back[3] !== 0) return back;
        }
        return [255, 255, 255];
    };
    const saysSomething = (each) => each.checkVisibility()
        && [...each.childNodes].some((part) => part.nodeType === 3 && part.data.trim());
    const colours = (each) => [numbers(getComputedStyle(each).color), backOf(each)];
    return [...document.querySelectorAll("body, body *:not(svg *)")].filter(saysSomething)
        .map((each) => [each.textContent.trim(), ...colours(each)]);
}"""
_WIDER: Final = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def flows_of(*pairs: tuple[str, str], **settings: str) -> list[FlowConfig]:
    """Enabled flows between clusters; names of settings have _ for each dot."""
    aliases = dict.fromkeys(alias for pair in pairs for alias in pair)
    file = {
        "clusters": ", ".join(aliases),
        **{f"{alias}.bootstrap.servers": "host:1" for alias in aliases},
        **{f"{source}->{target}.enabled": "true" for source, target in pairs},
        **{key.replace("_", "."): value for key, value in settings.items()},
    }
    maker = maker_of(file)
    target_state = set(pairs)
    return [
        flow_config(maker, flow)
        for flow in maker.cluster_pairs()
        if (flow.source, flow.target) in target_state
    ]


def partition(topic: str, number: int = 0, **changes: object) -> PartitionView:
    """A partition of which 400 of 1000 records are copied."""
    found = PartitionView(
        source=TopicPartition(TopicName(topic), number),
        remote=TopicName(f"A.{topic}"),
        task=0,
        position=399,
        start=0,
        end=1000,
        lag=600,
        lag_per_s=-10.0,
        records_per_s=12.0,
        bytes_per_s=12_000.0,
        record_bytes=1000.0,
        latency_ms=14,
        reported_ms=NOW_MS,
    )
    return structs.replace(found, **changes)


def copied(topic: str, number: int = 0) -> PartitionView:
    """A partition that is copied as it is written."""
    return partition(topic, number, lag=0, lag_per_s=0.0)


def running(flow: SourceAndTarget, *partitions: PartitionView) -> FlowView:
    """A flow that does as it is to do."""
    task = TaskView(task=0, state=RunState.RUNNING, worker_id=NODE, generation=3)
    connectors = tuple(
        ConnectorView(
            name=name,
            target_state=RunState.RUNNING,
            state=RunState.RUNNING,
            worker_id=NODE,
            generation=3,
            tasks=(task,),
        )
        for name in CONNECTORS
    )
    return FlowView(
        flow=flow,
        time_ms=NOW_MS,
        leader=LeaderView(epoch=3, worker_id=NODE, age_ms=200, is_alive=True),
        connectors=connectors,
        partitions=tuple(sorted(partitions, key=lambda each: each.source)),
        heartbeat_ms=NOW_MS - 900,
        groups=2,
    )


@dataclass
class FakeViews:
    """Says how flows are; what it says may be changed at any time."""

    of_flows: dict[SourceAndTarget, FlowView | ClusterError] = field(default_factory=dict)
    asked: int = 0

    async def of(self, config: FlowConfig) -> FlowView:
        self.asked += 1
        found = self.of_flows[config.flow]
        if isinstance(found, ClusterError):
            raise found
        return found


@dataclass
class Visit:
    """
    A page in a browser, and what it did.

    Attributes:
        page: as playwright has it.
        problems: what the browser says on its console, and errors of scripts.
        hosts: where requests went.
    """

    page: Page
    problems: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def take(self, request: Request) -> None:
        """Notes where a request goes."""
        self.hosts.add(urlsplit(request.url).netloc)

    async def wrong_parts(self) -> list[str]:
        """What people who do not see, or have no mouse, could not use; like axe's first rules."""
        html = await self.page.content()
        found = [*await self.page.evaluate(_NAMELESS), *await self.page.evaluate(_TWICE)]
        if await self.page.locator("html[lang]").count() != 1 or not await self.page.title():
            found.append("no language, or no title")
        levels = [int(level) for level in re.findall(r"<h(\d)", html)]
        if levels[:1] != [1] or any(b - a > 1 for a, b in pairwise(levels)):
            found.append(f"levels of headings: {levels}")
        if await self.page.evaluate(_WIDER) > 0:
            found.append("wider than the screen")
        return found

    async def contrasts(self) -> dict[str, float]:
        """Texts that are shown, and how they contrast with what is behind them."""
        found = await self.page.evaluate(_COLOURS)
        return {text: contrast(colour[:3], back[:3]) for text, colour, back in found}


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """The contrast ratio of two colours, as WCAG 2 defines it: 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Sequence[float]) -> float:
    parts = [each / 255 for each in colour]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(share * x for share, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def chromium() -> str:
    """The browser of this machine; skips the test where there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("no Chromium: install it with apt-get install chromium")
    return found


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """Chromium without a window."""
    expect.set_options(timeout=PATIENCE_S * 1000)
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield found
        finally:
            await found.close()


@asynccontextmanager
async def visit(of: Browser | BrowserContext, url: str, **options: object) -> AsyncIterator[Visit]:
    """Opens a page; its address may have a path."""
    page = await of.new_page(**options)  # type: ignore[arg-type]  # playwright's own options
    seen = Visit(page)
    page.on("console", lambda said: seen.problems.append(said.text))
    page.on("pageerror", lambda error: seen.problems.append(str(error)))
    page.on("request", seen.take)
    try:
        await page.goto(url, wait_until="load")
        yield seen
    finally:
        await page.close()
