"""Bundles that are to give their partitions away get to run, on a cluster that has become small."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from flows.spark import live_slots
from mm2.slot_allocation import FlowSlots, Slots
from tests.support.idle_slots import idle_slots


def _flow(slots: Slots, bundles: int) -> FlowSlots:
    flow = slots.join(changed=lambda: None, refused=lambda *_: None)
    flow.request(bundles)
    return flow


async def test_one_bundle_of_the_same_flow_makes_room_and_only_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancelled: list[str] = []
    monkeypatch.setattr(live_slots, "cancel", lambda _, job: cancelled.append(job))
    monkeypatch.setattr(live_slots, "_HAND_OVER_S", 0.0)
    slots = Slots(None)
    context: Any = None
    flow = _flow(slots, 3)
    with ThreadPoolExecutor(1) as threads:
        live = idle_slots(threads, slots)
        late, running = ["C->D/1"], {"A->B/0", "C->D/0"}
        await live._make_do(context, late, running)
        assert flow.request(3) == 2
        assert cancelled == []
        for _ in range(3):
            await live._make_do(context, late, running)
    assert cancelled == ["C->D/0"]


async def test_where_flows_have_no_fewer_slots_nobody_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancelled: list[str] = []
    monkeypatch.setattr(live_slots, "cancel", lambda _, job: cancelled.append(job))
    slots = Slots(None)
    context: Any = None
    _flow(slots, 1)
    with ThreadPoolExecutor(1) as threads:
        live = idle_slots(threads, slots)
        for _ in range(3):
            await live._make_do(context, ["A->B/0"], {"C->D/0"})
    assert cancelled == []
