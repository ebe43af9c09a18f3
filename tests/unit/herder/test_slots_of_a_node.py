"""Bundles that wait for a slot of their node's Spark, and what is said of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from structlog.testing import capture_logs

from mm2.core.balancing.spark_slots import SlotLimit
from mm2.slot_allocation import FlowSlots, Slots
from tests.support.virtual_time import run


@dataclass
class _Flow:
    """Takes down what it is told."""

    changes: int = 0
    refused: list[tuple[int, str | None]] = field(default_factory=list)

    def join(self, slots: Slots) -> FlowSlots:
        return slots.join(changed=self._change, refused=lambda *told: self.refused.append(told))

    def _change(self) -> None:
        self.changes += 1


async def _hold(slots: FlowSlots, bundle: int, until: asyncio.Event) -> None:
    async with slots.acquire(bundle, f"A->B/{bundle}"):
        await until.wait()


def test_a_bundle_that_waits_long_is_told_of_and_begins_as_soon_as_another_ends() -> None:
    async def work() -> None:
        slots, flow = Slots(1), _Flow()
        own, ends = flow.join(slots), asyncio.Event()
        assert own.request(2) == 1
        first = asyncio.create_task(_hold(own, 0, ends))
        second = asyncio.create_task(_hold(own, 1, ends))
        with capture_logs() as logs:
            await asyncio.sleep(19)
            assert flow.refused == []
            await asyncio.sleep(2)
        ((bundle, reason),) = flow.refused
        assert bundle == 1
        assert reason is not None
        assert reason.startswith("all 1 slots of Spark are taken: give spark.master more")
        assert [(each["event"], each["bundle"]) for each in logs] == [("spark.no_slot", 1)]
        ends.set()
        await asyncio.gather(first, second)
        assert len(flow.refused) == 1

    run(work())


def test_flows_are_told_when_their_share_changes_and_not_when_they_ask_themselves() -> None:
    slots, one, other = Slots(4), _Flow(), _Flow()
    first, second = one.join(slots), other.join(slots)
    assert first.request(4) == 4
    assert second.request(4) == 2
    assert first.request(4) == 2
    assert (one.changes, other.changes) == (1, 0)
    first.leave()
    assert (one.changes, other.changes) == (1, 1)
    assert second.request(4) == 4


def test_a_flow_wants_no_more_slots_than_it_has_partitions_and_gets_one_with_its_first() -> None:
    slots, one, other = Slots(4), _Flow(), _Flow()
    few, many = one.join(slots), other.join(slots)
    with capture_logs() as logs:
        assert few.most(4, 0) == 4, "as far as slots are concerned"
        assert many.most(4, 100) == 4
        assert (logs, other.changes) == ([], 0)
        assert few.most(4, 1) == 4
        assert other.changes == 1
        assert many.most(4, 100) == 3
        assert few.most(4, 2) == 4
        assert many.most(4, 100) == 2
        assert few.most(4, 0) == 4
        assert many.most(4, 100) == 4
    assert [(x["event"], x["tasks"], x["tasks_max"]) for x in logs] == [
        ("spark.too_narrow", 3, 4),
        ("spark.too_narrow", 2, 4),
    ]


def test_the_setting_that_is_to_be_raised_is_told() -> None:
    """A cluster that gives fewer than the file allows is to be made larger."""
    local, cluster = Slots(2), Slots(None, limit=SlotLimit(2, "spark.cores.max"))
    limited = _Flow().join(cluster)
    with capture_logs() as logs:
        assert _Flow().join(local).most(4, 4) == 2
        assert limited.most(4, 4) == 2
        cluster.narrow(1)
        assert limited.most(4, 4) == 1
    keys = [each["key"] for each in logs if each["event"] == "spark.too_narrow"]
    assert keys == ["spark.master", "spark.cores.max", "spark.master"]


def test_a_flow_that_has_no_slot_divides_for_the_one_that_it_waits_for() -> None:
    slots = Slots(1)
    assert _Flow().join(slots).most(4, 3) == 1
    assert _Flow().join(slots).most(4, 3) == 1


def test_who_is_cut_off_while_it_waits_holds_nothing() -> None:
    async def work() -> None:
        slots = Slots(1)
        own, ends = _Flow().join(slots), asyncio.Event()
        own.request(1)
        first = asyncio.create_task(_hold(own, 0, ends))
        await asyncio.sleep(1)
        second = asyncio.create_task(_hold(own, 1, ends))
        await asyncio.sleep(1)
        second.cancel()
        await asyncio.wait({second})
        ends.set()
        await first
        await _hold(own, 2, ends)

    run(work())


def test_where_there_is_no_end_of_slots_all_get_what_they_want() -> None:
    async def work() -> None:
        slots, flow = Slots(None), _Flow()
        own = flow.join(slots)
        assert own.request(5000) == 5000
        async with own.acquire(0, "A->B/0"), own.acquire(1, "A->B/1"):
            own.leave()
        assert (flow.changes, flow.refused) == (0, [])

    run(work())


def test_a_flow_is_told_why_a_job_that_has_a_slot_waits_and_that_it_runs() -> None:
    async def work() -> None:
        slots, flow, other = Slots(None), _Flow(), _Flow()
        own, others = flow.join(slots), other.join(slots)
        async with own.acquire(3, "A->B/3"), others.acquire(3, "B->A/3"):
            slots.report_waiting("A->B/3", "no executor")
            assert (own.is_waiting("A->B/3"), own.is_waiting("B->A/3")) == (True, False)
            slots.report_waiting("A->B/3", None)
            assert not own.is_waiting("A->B/3")
        slots.report_waiting("A->B/3", "it has ended")
        assert not own.is_waiting("A->B/3")
        assert flow.refused == [(3, "no executor"), (3, None)]
        assert other.refused == []

    run(work())


def test_flows_follow_the_slots_that_a_cluster_has() -> None:
    slots, one, other = Slots(None), _Flow(), _Flow()
    first, second = one.join(slots), other.join(slots)
    assert (first.request(3), second.request(3)) == (3, 3)
    slots.narrow(4)
    assert (one.changes, other.changes) == (1, 1)
    assert (first.request(3), second.request(3)) == (2, 2)
    slots.widen()
    assert first.request(3) + second.request(3) == 5


def test_slots_of_a_cluster_never_fall_below_one_and_grow_only_as_far_as_flows_need() -> None:
    slots, flow = Slots(None), _Flow()
    own = flow.join(slots)
    own.request(2)
    assert not slots.are_short()
    slots.narrow(0)
    assert own.request(2) == 1
    assert slots.are_short()
    for _ in range(3):
        slots.widen()
    assert own.request(2) == 2
    assert not slots.are_short()


def test_as_many_running_tasks_as_slots_change_nothing() -> None:
    slots, flow = Slots(None), _Flow()
    flow.join(slots).request(2)
    slots.narrow(2)
    assert flow.changes == 0


def test_a_cluster_gives_no_more_slots_than_an_application_may_have() -> None:
    slots, flow = Slots(None, limit=SlotLimit(2, "spark.cores.max")), _Flow()
    own = flow.join(slots)
    assert own.request(3) == 2
    assert not slots.are_used_up(2)
    assert slots.why_none().endswith("raise spark.cores.max, or lower tasks.max")
    slots.narrow(1)
    assert own.request(3) == 1
    assert slots.are_used_up(1)
    assert "add workers" in slots.why_none()
    slots.widen()
    assert own.request(3) == 2
    assert not slots.are_used_up(2)


def test_an_application_has_a_slot_even_if_it_may_have_no_core() -> None:
    assert _Flow().join(Slots(None, limit=SlotLimit(0, "spark.cores.max"))).request(3) == 1
