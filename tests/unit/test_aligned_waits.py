"""Periodic waits end together."""

from __future__ import annotations

import asyncio

import pytest

from mm2.aligned_waits import aligned


async def _ends(seconds: float) -> float:
    return asyncio.get_running_loop().time() + aligned(seconds)


@pytest.mark.parametrize("seconds", [1.0, 1.5, 5.0, 3600.0])
async def test_a_wait_ends_at_the_nearest_half_second(seconds: float) -> None:
    end = await _ends(seconds)

    assert end * 2 == pytest.approx(round(end * 2), abs=1e-3)
    assert aligned(seconds) == pytest.approx(seconds, abs=0.2501)


@pytest.mark.parametrize("seconds", [0.0, 0.5, 0.999, 1.2, 60.25])
async def test_others_stay_as_they_are(seconds: float) -> None:
    assert aligned(seconds) == seconds


async def test_a_loop_keeps_its_period(monkeypatch: pytest.MonkeyPatch) -> None:
    now, ends = 1000.3, []
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)

    for _ in range(4):
        now += aligned(1.0)
        ends.append(round(now, 6))
        now += 0.2  # of work

    assert ends == [1001.5, 1002.5, 1003.5, 1004.5]
