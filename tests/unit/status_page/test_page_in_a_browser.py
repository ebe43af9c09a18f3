"""The page in a real browser, with flows that are made up: eyes, keyboard, screen readers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, expect

from mm2.config.flow_config import FlowConfig
from mm2.core.status_page.sample_history import MEASURES
from mm2.errors import Unavailable
from mm2.status_page.status_page import StatusPage
from tests.support.fake_connectors import FakeConnectors
from tests.support.rest import interface
from tests.support.status_page import (
    FakeViews,
    Visit,
    browser,
    copied,
    flows_of,
    partition,
    running,
    visit,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.asyncio(loop_scope="module"),
]

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
READABLE = 4.5
"""The least contrast of text, as level AA of WCAG 2 has it."""
_WIDER_PLOTS = """() => {
    const right = (each) => each.getBoundingClientRect().right;
    return [...document.querySelectorAll("#plots figure")]
        .map((frame) => right(frame.querySelector("canvas")) - right(frame));
}"""
_NOTE_TIMES = """() => {
    const Plain = uPlot;
    window.plotted = [];
    window.uPlot = function (options, columns, space) {
        window.plotted.push(columns[0]);
        return new Plain(options, columns, space);
    };
}"""
LONG = "a.topic.with.a.very.long.name." * 6


def _nothing() -> tuple[list[FlowConfig], FakeViews]:
    return [], FakeViews()


def _pair() -> tuple[list[FlowConfig], FakeViews]:
    there, back = flows_of(("A", "B"), ("B", "A"))
    views = FakeViews({there.flow: running(there.flow, partition("orders"), copied(LONG))})
    views.of_flows[back.flow] = Unavailable("A", "no broker answers")
    return [there, back], views


def _many() -> tuple[list[FlowConfig], FakeViews]:
    names = [f"cluster-{number}-{'x' * 30}" for number in range(5)]
    flows = flows_of(*((a, b) for a in names for b in names if a != b))
    topics = [copied(f"topic-{number}") for number in range(120)]
    return flows, FakeViews({each.flow: running(each.flow, *topics) for each in flows})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    """Starts once; each page has cookies, storage and settings of its own."""
    async with browser() as started:
        yield started


@asynccontextmanager
async def _open(
    chromium: Browser, flows: list[FlowConfig], views: FakeViews, **options: object
) -> AsyncIterator[Visit]:
    page = StatusPage(lambda: flows, views)
    looking = asyncio.create_task(page.run())
    try:
        async with interface(FakeConnectors(), page=page) as client:
            async with visit(chromium, f"{client.url}/", **options) as seen:
                yield seen
            assert seen.problems == []
            assert seen.hosts == {client.url.removeprefix("http://")}
    finally:
        looking.cancel()


@pytest.mark.parametrize("size", [WIDE, PHONE])
@pytest.mark.parametrize("make", [_nothing, _pair, _many])
async def test_every_part_has_a_name_and_fits_the_screen(
    chromium: Browser, size: dict[str, int], make: Callable[[], tuple[list[FlowConfig], FakeViews]]
) -> None:
    async with _open(chromium, *make(), viewport=size) as seen:
        await expect(seen.page.locator("#live")).to_have_text("Live")
        assert await seen.wrong_parts() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_texts_can_be_read_on_what_is_behind_them(chromium: Browser, scheme: str) -> None:
    async with _open(chromium, *_pair(), color_scheme=scheme) as seen:
        await expect(seen.page.locator("#live")).to_have_text("Live")
        found = await seen.contrasts()
        assert {"Lag", "orders", "Configuration"} <= {*found}
        assert {text: ratio for text, ratio in found.items() if ratio < READABLE} == {}


async def test_the_page_follows_the_flows_without_being_loaded_again(chromium: Browser) -> None:
    flows, views = _pair()
    flow = flows[0].flow
    async with _open(chromium, flows, views) as seen:
        bar = seen.page.locator("progress[aria-label='copied of orders']")
        await expect(bar).to_have_attribute("value", "40")
        views.of_flows[flow] = running(flow, partition("orders", lag=250))
        await expect(bar).to_have_attribute("value", "75")
        views.of_flows[flow] = running(flow, copied("orders"))
        await expect(bar).to_have_attribute("value", "100")


async def test_focus_and_closed_parts_stay_when_the_page_changes(chromium: Browser) -> None:
    flows, views = _pair()
    flow = flows[0].flow
    async with _open(chromium, flows, views) as seen:
        await expect(seen.page.locator("#live")).to_have_text("Live")
        summary = seen.page.locator("#flow-0 summary")
        await summary.press("Enter")
        views.of_flows[flow] = running(flow, partition("orders", lag=10))
        await expect(seen.page.locator("#flow-0 .figures")).to_contain_text("10")
        assert await seen.page.locator("#flow-0 details").get_attribute("open") is None
        await expect(summary).to_be_focused()


async def test_the_keyboard_reaches_everything_from_top_to_bottom(chromium: Browser) -> None:
    async with _open(chromium, *_pair()) as seen:
        await expect(seen.page.locator(".ranges")).to_be_visible()
        tops: list[float] = []
        texts: list[str] = []
        for _ in range(40):
            await seen.page.keyboard.press("Tab")
            at = await seen.page.evaluate(
                "() => { const on = document.activeElement; const box = on.getBoundingClientRect();"
                " return [on.tagName, on.closest('.top, .skip') ? -1 : box.top + scrollY,"
                " (on.getAttribute('aria-label') || on.textContent).trim()]; }"
            )
            if at[0] == "BODY":
                break
            tops.append(at[1])
            texts.append(at[2])
        assert texts[0] == "Skip to the flows"
        assert {"Configuration", "15 min", "Topics of A->B"} <= set(texts)
        sections = [top for top in tops if top >= 0]
        assert all(after >= before - 60 for before, after in pairwise(sections))


async def test_plots_show_each_flow_and_other_ranges_on_demand(chromium: Browser) -> None:
    async with _open(chromium, *_pair()) as seen:
        await expect(seen.page.locator("#plots canvas")).to_have_count(3)
        legend = seen.page.locator("#plots figure").first.locator(".u-label")
        assert await legend.all_text_contents() == ["Time", "A->B", "B->A"]
        six = seen.page.get_by_role("button", name="6 h")
        await six.click()
        await expect(six).to_have_attribute("aria-pressed", "true")
        await expect(seen.page.locator("#plots canvas")).to_have_count(3)


async def test_plots_of_another_range_stay_within_their_frames(chromium: Browser) -> None:
    """The first used to be drawn across its neighbours, until the window had another size."""
    async with _open(chromium, *_pair(), viewport=WIDE) as seen:
        await expect(seen.page.locator("#plots canvas")).to_have_count(3)
        await seen.page.get_by_role("button", name="15 min").click()
        wider = await seen.page.evaluate(_WIDER_PLOTS)
        assert (len(wider), max(wider) <= 0) == (3, True), wider


async def test_the_page_says_when_the_node_answers_no_more(chromium: Browser) -> None:
    flows, views = _pair()
    page = StatusPage(lambda: flows, views)
    async with await chromium.new_page() as opened:
        async with interface(FakeConnectors(), page=page) as client:
            await opened.goto(f"{client.url}/")
            await expect(opened.locator("#live")).to_have_text("Live")
        await expect(opened.locator("#live")).to_contain_text("does not answer")


async def test_a_page_that_was_refused_says_why_and_asks_again(
    chromium: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    flows, views = _pair()
    page = StatusPage(lambda: flows, views)
    monkeypatch.setattr("mm2.status_page.status_page.MOST_WATCHERS", 0)
    looking = asyncio.create_task(page.run())
    async with (
        interface(FakeConnectors(), page=page) as client,
        await chromium.new_page() as opened,
    ):
        await opened.clock.install()
        await opened.goto(f"{client.url}/")
        await expect(opened.locator("#live")).to_have_text(
            "Not live: Too many status pages of this node are open; close others."
        )
        monkeypatch.setattr("mm2.status_page.status_page.MOST_WATCHERS", 1)
        await opened.clock.fast_forward(5_000)
        await expect(opened.locator("#live")).to_have_text("Live")
    looking.cancel()


async def test_a_stream_that_begins_anew_is_not_plotted_twice(chromium: Browser) -> None:
    history = {"flows": ["A->B"], "times": [1000, 1010]}
    history |= {measure: [[1, 2]] for measure in MEASURES}
    body = f"retry: 1\ndata: {json.dumps({'sections': {}, 'history': history})}\n\n"
    streams = asyncio.Semaphore(0)

    async def stream(route: Route) -> None:
        streams.release()
        await route.fulfill(body=body, content_type="text/event-stream")

    page = StatusPage(list, FakeViews())
    async with (
        interface(FakeConnectors(), page=page) as client,
        await chromium.new_page() as opened,
    ):
        await opened.route("**/page/updates", stream)
        await opened.goto(f"{client.url}/")
        async with asyncio.timeout(60):
            for _ in range(4):
                await streams.acquire()
        await opened.evaluate(_NOTE_TIMES)
        await opened.get_by_role("button", name="6 h").click()
        assert await opened.evaluate("plotted.at(-1)") == [1000, 1010]
        await opened.unroute_all(behavior="ignoreErrors")


async def test_without_scripts_the_page_shows_all_but_the_plots(chromium: Browser) -> None:
    async with _open(chromium, *_pair(), java_script_enabled=False) as seen:
        page = seen.page
        assert await page.locator("progress").count() >= 2
        assert await page.locator("meta[http-equiv=refresh]").count() == 1
        await expect(page.locator("#history .ranges")).to_be_hidden()
