"""
``./scripts/screenshots``: the status page of a real mirror of two clusters, the dashboard of its
metrics, and what commands show of it, as pictures; and the demo as an animation.

The mirror is held back, so that a first copy is under way while the pictures are taken.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, expect

from mm2.demo.demo_clusters import clusters, configuration, other_ports, sample_config
from mm2.demo.demo_run import DRIVER
from mm2.demo.demo_traffic import DemoTraffic
from mm2.demo.demo_view import status_page
from mm2.demo.processes import Watched
from tests.harness.screenshots.dashboard import PICTURE, take_dashboard_picture
from tests.harness.screenshots.recording import record_demo
from tests.harness.screenshots.terminal import take_terminal_pictures
from tests.support.eventually import eventually
from tests.support.layout import ROOT, jars
from tests.support.prometheus import PROMETHEUS, Prometheus
from tests.support.records import Sample, commit_group, create_topic, produce
from tests.support.status_page import browser, visit

_ARCHIVE: Final = "invoices-2019-to-2025"
_RECORDS: Final = 90_000
"""Enough to be under way for five minutes."""
_SIZE: Final = 2_000
_TOPICS: Final = re.compile(r"^topics = .*$", re.MULTILINE)
_SETTINGS: Final = """
A->B.flow.byte.rate.limit = 600000
rest.read.only = true
"""
_NO_PROMETHEUS: Final = (
    f"No prometheus: {PICTURE} stays as it is. On Debian: apt-get install prometheus"
)
_WAIT_MS: Final = 120_000
_STOP_WITHIN_S: Final = 40.0
_WIDE: Final = {"width": 1180, "height": 860}
_PHONE: Final = {"width": 390, "height": 844}
_PICTURES: Final[Mapping[str, Mapping[str, Any]]] = {
    "status-page": {"viewport": _WIDE, "color_scheme": "dark"},
    "status-page-light": {"viewport": _WIDE, "color_scheme": "light"},
    "status-page-phone": {"viewport": _PHONE, "color_scheme": "dark"},
}
_RANGE: Final = "15 min"
_SECTIONS: Final = {"history": "status-page-history", "groups": "status-page-groups"}
"""Of the first picture's page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pictures:
    """
    What is taken.

    Attributes:
        folder: for the pictures.
        seconds: of history in the plots.
        is_all: whether there is more than the dashboard.
    """

    folder: Path
    seconds: float
    is_all: bool


def main() -> int:
    """Takes the pictures; returns the exit status."""
    parser = argparse.ArgumentParser(prog="./scripts/screenshots", description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--seconds", type=float, default=180.0, help="of history in the plots")
    parser.add_argument("--demo", action="store_true", help="only the animation of the demo")
    parser.add_argument("--dashboard", action="store_true", help="only the dashboard")
    options = parser.parse_args()
    if PROMETHEUS is None and not options.demo:
        print(_NO_PROMETHEUS)  # noqa: T201 - the script's own words
        if options.dashboard:
            return 0
    options.to.mkdir(parents=True, exist_ok=True)
    if not options.dashboard:
        record_demo(options.to)
    if options.demo:
        return 0
    is_all = not options.dashboard
    asyncio.run(_run(_Pictures(folder=options.to, seconds=options.seconds, is_all=is_all)))
    return 0


async def _run(pictures: _Pictures) -> None:
    async with AsyncExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mm2-pictures-")))
        ports = other_ports()
        bootstraps = {}
        for cluster in clusters(ports, jars()):
            stack.push_async_callback(asyncio.to_thread, cluster.stop)
            await asyncio.to_thread(cluster.start)
            bootstraps[cluster.name] = cluster.bootstrap
        traffic = [DemoTraffic(alias, at, rate=250) for alias, at in bootstraps.items()]
        await asyncio.to_thread(_prepare, traffic, bootstraps["A"])
        for writing in [asyncio.create_task(each.run()) for each in traffic]:
            stack.callback(writing.cancel)
        config = work / "mm2.properties"
        config.write_text(settings(configuration(sample_config(), ports, work).read_text()))
        driver = Watched([str(DRIVER), str(config)], work / "mirror.log")
        stack.push_async_callback(asyncio.to_thread, driver.end, timeout=_STOP_WITHIN_S)
        url = str(await asyncio.to_thread(eventually, lambda: status_page(work / "mirror.log")))
        prometheus = None
        if PROMETHEUS:
            prometheus = stack.enter_context(Prometheus(work, urlsplit(url).netloc))
        await _take_pictures(url, config, prometheus, pictures)


def settings(sample: str) -> str:
    """The demo's file for a mirror that is held back, and copies an archive, too."""
    return _TOPICS.sub("topics = orders, customers, invoices.*", sample) + _SETTINGS


def _prepare(traffic: list[DemoTraffic], bootstrap: str) -> None:
    for each in traffic:
        each.prepare()
    create_topic(bootstrap, _ARCHIVE, 4)
    samples = (Sample(value=b"%0*d" % (_SIZE, n), partition=n % 4) for n in range(_RECORDS))
    produce(bootstrap, _ARCHIVE, samples, settings={"queue.buffering.max.messages": 1_000_000})
    for group, offset in (("billing", 0), ("warehouse", 20)):
        commit_group(bootstrap, group, {("orders", number): offset for number in range(3)})


async def _take_pictures(
    url: str, config: Path, prometheus: Prometheus | None, pictures: _Pictures
) -> None:
    async with browser() as chromium, visit(chromium, url) as first:
        archive = first.page.locator(f"progress[aria-label='copied of {_ARCHIVE}']")
        await expect(archive).to_be_visible(timeout=_WAIT_MS)
        await expect(first.page.locator("#groups table")).to_be_visible(timeout=_WAIT_MS)
        await asyncio.sleep(pictures.seconds)
        if prometheus:
            await take_dashboard_picture(chromium, prometheus, pictures.folder, pictures.seconds)
        if pictures.is_all:
            await _take_pages(chromium, url, pictures.folder)
            await take_terminal_pictures(chromium, config, pictures.folder)


async def _take_pages(chromium: Browser, url: str, folder: Path) -> None:
    for name, options in _PICTURES.items():
        async with visit(chromium, url, **options) as seen:
            await _settled(seen.page)
            await seen.page.get_by_role("button", name=_RANGE).click()
            await seen.page.evaluate("scrollTo(0, 0)")
            await seen.page.screenshot(path=folder / f"{name}.png")
            if name == "status-page":
                await _take_sections(seen.page, folder)


async def _take_sections(page: Page, folder: Path) -> None:
    for section, name in _SECTIONS.items():
        await page.locator(f"#{section}").screenshot(path=folder / f"{name}.png")


async def _settled(page: Page) -> None:
    await expect(page.locator("#live")).to_have_text("Live")
    await expect(page.locator("#plots canvas")).to_have_count(3)


if __name__ == "__main__":
    sys.exit(main())
