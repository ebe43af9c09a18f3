"""Flows have as many bundles as a Spark cluster runs: fewer where it is small, more later."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from flows.spark import live_slots
from flows.spark.live_slots import _Slots
from mm2.slot_allocation import Slots
from tests.support.eventually import PATIENCE_S
from tests.support.idle_slots import idle_slots

_FIRST, _SECOND = "A->B/0", "A->B/1"
_BOTH = frozenset({_FIRST, _SECOND})


class _Flow:
    """A flow that could use two bundles, on a cluster that has more or fewer cores."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor) -> None:
        self.executor_comes, self.probes = Event(), 0
        self.has_come = True
        self._now = 0.0
        self._context: Any = SimpleNamespace()
        monkeypatch.setattr(live_slots, "time", SimpleNamespace(monotonic=lambda: self._now))
        monkeypatch.setattr(live_slots, "is_forgotten", lambda _: False)
        monkeypatch.setattr(live_slots, "runs_empty_job", self._probe)
        slots = Slots(None)
        self.refused: list[tuple[int, str | None]] = []
        self._slots = slots.join(
            changed=lambda: None, refused=lambda *told: self.refused.append(told)
        )
        self._live = idle_slots(threads, slots)
        assert self.bundles() == 2

    def job(self, bundle: int) -> AbstractAsyncContextManager[None]:
        """Meanwhile a bundle has a slot."""
        return self._slots.acquire(bundle, f"A->B/{bundle}")

    def bundles(self) -> int:
        """How many it may have."""
        return self._slots.request(2)

    async def sees(
        self, *running: str, submitted: frozenset[str] = _BOTH, seconds: int = 1
    ) -> list[tuple[str, object]]:
        """The events that are logged meanwhile, with their bundle or number of slots."""
        seen = _Slots(frozenset(running), {"driver:1": 0, **{f"{each}:1": 1 for each in running}})
        with capture_logs() as logs:
            for _ in range(seconds):
                self._now += 1
                await self._live._follow(self._context, submitted, seen)
        return [(each["event"], each.get("bundle", each.get("slots"))) for each in logs]

    async def sees_the_probe_end(self) -> list[tuple[str, object]]:
        """The same, of the look that finds the empty job at its end."""
        assert self._live._probe is not None
        self.executor_comes.set()
        await self._live._probe
        self.executor_comes.clear()
        return await self.sees(_FIRST, submitted=frozenset({_FIRST}))

    def _probe(self, *_: object) -> bool:
        self.probes += 1
        assert self.executor_comes.wait(PATIENCE_S)
        return self.has_come


@pytest.fixture
def flow(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Flow]:
    with ThreadPoolExecutor(2) as threads:
        found = _Flow(monkeypatch, threads)
        yield found
        found.executor_comes.set()


async def _become_narrow(flow: _Flow) -> None:
    await flow.sees(_FIRST, _SECOND)
    assert await flow.sees(_FIRST, seconds=15) == []
    assert await flow.sees(_FIRST) == [("spark.slots_changed", 1), ("spark.no_slot", _SECOND)]
    assert flow.bundles() == 1


async def test_one_bundle_takes_all_partitions_where_another_one_lost_its_executor(
    flow: _Flow,
) -> None:
    await _become_narrow(flow)
    assert await flow.sees(_FIRST, seconds=3) == []


async def test_a_flow_hears_why_its_job_waits_until_that_runs(flow: _Flow) -> None:
    async with flow.job(0), flow.job(1):
        await _become_narrow(flow)
        await flow.sees(_FIRST, seconds=3)
        ((bundle, reason),) = flow.refused
        assert bundle == 1
        assert reason is not None
        assert reason.startswith("the Spark cluster gives this application no executor for it: add")
        await flow.sees(_FIRST, _SECOND, seconds=3)
        assert flow.refused[1:] == [(1, None)]


async def test_an_executor_that_comes_late_gives_the_flow_another_bundle(flow: _Flow) -> None:
    await _become_narrow(flow)
    for _ in range(3):
        assert await flow.sees(_FIRST, submitted=frozenset({_FIRST})) == []
    assert await flow.sees_the_probe_end() == [("spark.slots_changed", 2)]
    assert (flow.bundles(), flow.probes) == (2, 1)
    await flow.sees(_FIRST, _SECOND, seconds=3)
    assert flow.probes == 1


async def test_nothing_is_looked_for_while_a_bundle_has_not_started(flow: _Flow) -> None:
    await _become_narrow(flow)
    await flow.sees(_FIRST, seconds=3)
    assert flow.probes == 0


async def test_an_empty_job_that_has_failed_is_no_executor(flow: _Flow) -> None:
    await _become_narrow(flow)
    flow.has_come = False
    await flow.sees(_FIRST, submitted=frozenset({_FIRST}))
    assert await flow.sees_the_probe_end() == []
    assert flow.bundles() == 1
