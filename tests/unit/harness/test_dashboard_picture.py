"""The picture of the dashboard draws what Prometheus answers, and says where that is nothing."""

from __future__ import annotations

import json
from typing import Any, Final

from mm2.metrics.shipped import DASHBOARD, shipped
from tests.harness.screenshots.dashboard import Shown, page_of, queries
from tests.support.status_page import browser

_SHOWN: Final = Shown(start=1_700_000_000, end=1_700_000_020)
_DASHBOARD: Final[dict[str, Any]] = json.loads(shipped(DASHBOARD))
_LABELS: Final = {"source": "A", "target": "B", "flow": "A->B", "topic": "<orders>"}
_OF_SPARK: Final = {
    "Executors",
    "Tasks and cores",
    "Executors lost, tasks moved, applications made anew",
}
_EMPTY: Final = {*_OF_SPARK, "Backfill"}
_TITLES: Final = """(parts) => [...document.querySelectorAll("section")]
    .filter((each) => each.querySelector(parts)).map((each) => each.ariaLabel)"""


class _Answers:
    """No series of Spark, an infinite backfill, and 42 for all else."""

    def __init__(self) -> None:
        self.asked = list[str]()

    def ask(self, path: str, *, query: str, **_: object) -> dict[str, Any]:
        self.asked.append(query)
        if "mm2_spark" in query:
            return {"result": []}
        value = "+Inf" if "backfill" in query else "42"
        points = [(at, value) for at in _SHOWN.times[1:]]
        times = {"value": points[-1]} if path == "query" else {"values": points}
        return {"result": [{"metric": _LABELS, **times}]}


async def test_all_panels_are_drawn_or_say_that_there_is_nothing() -> None:
    html = page_of(_DASHBOARD, _Answers().ask, _SHOWN)
    panels = {each["title"] for each in _DASHBOARD["panels"] if each["type"] != "row"}
    async with browser() as chromium:
        page = await chromium.new_page()
        problems = list[str]()
        page.on("pageerror", lambda error: problems.append(str(error)))
        await page.set_content(html)
        assert {*await page.evaluate(_TITLES, ".none")} == _EMPTY
        assert {*await page.evaluate(_TITLES, "canvas, .stat, .bars")} == panels - _EMPTY
        assert (await page.locator(".bars").inner_text()).split() == ["<orders>", "42%"]
        assert problems == []


def test_each_query_is_asked_with_all_of_each_variable() -> None:
    answers = _Answers()
    page_of(_DASHBOARD, answers.ask, _SHOWN)
    assert answers.asked == [query for _, query in queries(_DASHBOARD)]
    assert not any("$" in query for query in answers.asked)
