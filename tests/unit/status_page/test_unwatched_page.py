"""What the page does while nobody watches it: samples for its history, which may not cost much."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from mm2.status_page import status_page
from mm2.status_page.status_page import StatusPage
from tests.support.status_page import FakeViews, flows_of


@pytest.mark.parametrize(
    ("took_s", "pause_s"), [(0.001, 10), (0.002, 10), (0.02, 100), (3.0, 15_000)], ids=str
)
def test_samples_take_no_more_than_a_five_thousandth_of_a_core(
    monkeypatch: pytest.MonkeyPatch, took_s: float, pause_s: float
) -> None:
    pauses: list[float] = []

    async def ended(_: object, seconds: float) -> bool:
        pauses.append(seconds)
        raise asyncio.CancelledError

    clock = count()
    monkeypatch.setattr(status_page, "is_set_within", ended)
    monkeypatch.setattr("time.thread_time", lambda: next(clock) * took_s)
    flows = flows_of(("A", "B"))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(StatusPage(lambda: flows, FakeViews({})).run())
    assert pauses == [pytest.approx(pause_s)]
