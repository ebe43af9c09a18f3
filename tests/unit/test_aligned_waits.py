"""Periodic waits end together."""

from __future__ import annotations

import asyncio

import pytest

from mm2.aligned_waits import aligned


@pytest.mark.parametrize("seconds", [1, 1.0, 5.0, 3600.0])
async def test_a_wait_of_whole_seconds_ends_at_the_nearest_second(seconds: float) -> None:
    end = asyncio.get_running_loop().time() + aligned(seconds)

    assert end == pytest.approx(round(end), abs=1e-3)
    assert aligned(seconds) == pytest.approx(seconds, abs=0.5)


async def test_a_wait_that_is_not_to_be_shorter_ends_at_the_next_second() -> None:
    assert 1 <= aligned(1.0, at_least=True) <= 2


@pytest.mark.parametrize("seconds", [0.0, 0.5, 0.999, 1.2, 60.5])
async def test_others_stay_as_they_are(seconds: float) -> None:
    assert aligned(seconds) == seconds


async def test_a_loop_keeps_its_period(monkeypatch: pytest.MonkeyPatch) -> None:
    now, ends = 1000.6, []
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)

    for _ in range(4):
        now += aligned(1.0)
        ends.append(round(now, 6))
        now += 0.4  # of work

    assert ends == [1002, 1003, 1004, 1005]
