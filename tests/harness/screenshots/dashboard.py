"""
The shipped dashboard as a picture: its panels, drawn from what a real Prometheus answers.

Grafana is not used. The queries, legends, units and places are those of the dashboard's file.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from playwright.async_api import Browser

from mm2.metrics.shipped import DASHBOARD, shipped
from tests.support.layout import ROOT
from tests.support.prometheus import Prometheus

PICTURE: Final = "dashboard.png"

_UPLOT: Final = ROOT / "mm2" / "status_page" / "static"
_STEP_S: Final = 2
_WIDTH: Final = 1600
_LABEL: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """
    What is asked for.

    Attributes:
        start: in seconds since 1970.
        end: not before ``start``.
    """

    start: int
    end: int

    @property
    def times(self) -> range:
        """Of the points of each line."""
        return range(self.start, self.end + 1, _STEP_S)


async def take_dashboard_picture(
    chromium: Browser, prometheus: Prometheus, folder: Path, seconds: float
) -> None:
    """Draws the last ``seconds`` of all panels, as they are with each variable at "All"."""
    now = int(time.time())
    shown = Shown(start=now - int(seconds), end=now)
    dashboard = json.loads(shipped(DASHBOARD))
    html = await asyncio.to_thread(page_of, dashboard, prometheus.ask, shown)
    page = await chromium.new_page(viewport={"width": _WIDTH, "height": 900})
    await page.set_content(html)
    await page.screenshot(path=folder / PICTURE, full_page=True)
    await page.close()


def page_of(dashboard: Mapping[str, Any], ask: Callable[..., Any], shown: Shown) -> str:
    """The page that draws a dashboard, with all that it draws; ``ask`` is that of a Prometheus."""
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader([Path(__file__).parent, _UPLOT]),
        undefined=StrictUndefined,
    )
    values = _variables(dashboard)
    panels = [
        {**panel, "drawn": _drawn(panel, values, ask, shown)} for panel in dashboard["panels"]
    ]
    template = environment.get_template("dashboard.html")
    return template.render(dashboard=dashboard, panels=panels, times=list(shown.times))


def _variables(dashboard: Mapping[str, Any]) -> dict[str, str]:
    """What stands for each variable in a query while all is chosen."""
    listed = dashboard["templating"]["list"]
    return {each["name"]: each["allValue"] for each in listed if "allValue" in each}


def queries(dashboard: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The title of a panel and one of its queries, as Prometheus takes it, for all panels."""
    values = _variables(dashboard)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], _substituted(target["expr"], values)


def _drawn(
    panel: Mapping[str, Any], values: Mapping[str, str], ask: Callable[..., Any], shown: Shown
) -> list[dict[str, Any]]:
    """The lines of a panel, each with its legend and a value or None for each time."""
    lines = []
    for target in panel.get("targets", ()):
        query = _substituted(target["expr"], values)
        if target.get("instant"):
            found = ask("query", query=query, time=shown.end)["result"]
            lines += [_line(target, each, [each["value"]], shown) for each in found]
        else:
            asked = {"start": shown.start, "end": shown.end, "step": _STEP_S}
            found = ask("query_range", query=query, **asked)["result"]
            lines += [_line(target, each, each["values"], shown) for each in found]
    return lines


def _substituted(query: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda found: values[found[1]], query)


def _line(
    target: Mapping[str, Any],
    found: Mapping[str, Any],
    points: Sequence[tuple[float, str]],
    shown: Shown,
) -> dict[str, Any]:
    """One result; what is no finite number is left out, as a plot can do nothing else with it."""
    numbers = {int(at): float(value) for at, value in points if math.isfinite(float(value))}
    return {
        "legend": _legend(target["legendFormat"], found["metric"]),
        "last": numbers[max(numbers)] if numbers else None,
        "values": [numbers.get(at) for at in shown.times],
    }


def _legend(written: str, labels: Mapping[str, str]) -> str:
    """A legend with the labels of a series, as Grafana has it."""
    return _LABEL.sub(lambda found: labels.get(found[1], ""), written)
