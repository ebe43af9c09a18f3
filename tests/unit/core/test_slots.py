"""What a master says about slots."""

from __future__ import annotations

import pytest

from mm2.core.balancing.spark_slots import (
    SlotLedger,
    SlotLimit,
    fair_shares,
    has_a_slot_per_core,
    slot_limit,
    slots_of,
    with_cores,
)


@pytest.mark.parametrize(
    ("master", "slots"),
    [
        ("local", 1),
        ("local[4]", 4),
        ("local[ 12 , 3 ]", 12),
        ("local[*]", None),
        ("local[*, 2]", None),
        ("local-cluster[2,1,1024]", None),
        ("spark://host:7077", None),
        ("yarn", None),
        ("nonsense", None),
    ],
)
def test_only_a_spark_on_one_machine_has_a_number_of_slots(master: str, slots: int | None) -> None:
    assert slots_of(master) == slots


@pytest.mark.parametrize(
    ("cpus", "slots"), [("1", 5), ("2", 2), ("6", 0), ("0", 5), ("nonsense", 5)]
)
def test_a_task_may_take_several_cores(cpus: str, slots: int) -> None:
    assert slots_of("local[5]", cpus) == slots
    assert slots_of("local[*]", cpus) is None


_CORES, _EXECUTORS = "spark.cores.max", "spark.dynamicAllocation.maxExecutors"
_INSTANCES = "spark.executor.instances"
_ON_DEMAND = {"spark.dynamicAllocation.enabled": "true"}
_FIXED = {"spark.dynamicAllocation.enabled": "false"}


@pytest.mark.parametrize(
    ("settings", "count", "key"),
    [
        ({_CORES: "3"}, 3, _CORES),
        ({_CORES: "3", "spark.executor.cores": "2"}, 2, _CORES),
        ({_CORES: "8", "spark.executor.cores": "4", "spark.task.cpus": "3"}, 2, _CORES),
        ({_CORES: "1", "spark.executor.cores": "2"}, 0, _CORES),
        ({_CORES: "3", "spark.executor.cores": "0", "spark.task.cpus": "0"}, 3, _CORES),
        ({_CORES: "9", _EXECUTORS: "4", **_ON_DEMAND}, 4, _EXECUTORS),
        ({_CORES: "3", _EXECUTORS: "4", **_ON_DEMAND}, 3, _CORES),
        ({_EXECUTORS: "2", "spark.executor.cores": "3", **_ON_DEMAND}, 6, _EXECUTORS),
        ({_EXECUTORS: "2", "spark.executor.cores": "3"}, 6, _EXECUTORS),
        ({"spark.master": "yarn", _INSTANCES: "2"}, 2, _INSTANCES),
        ({"spark.master": "k8s://https://h:1", _INSTANCES: "2"}, 2, _INSTANCES),
    ],
)
def test_an_application_has_no_more_slots_than_its_settings_allow(
    settings: dict[str, str], count: int, key: str
) -> None:
    assert slot_limit(settings) == SlotLimit(count, key)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {_CORES: "many"},
        {_EXECUTORS: "many", **_ON_DEMAND},
        {_EXECUTORS: "4", **_FIXED},
        {_EXECUTORS: "4", _INSTANCES: "4"},
        {_INSTANCES: "4", "spark.master": "spark://h:1"},
        {_INSTANCES: "4", "spark.master": "yarn", **_ON_DEMAND},
    ],
)
def test_other_settings_limit_no_slots(settings: dict[str, str]) -> None:
    assert slot_limit(settings) is None


def test_all_cores_of_the_machine_are_so_many() -> None:
    assert with_cores("local[*,2]", 8) == "local[8,2]"
    assert with_cores("local[3]", 8) == "local[3]"
    assert has_a_slot_per_core("local[ * ]")
    assert not has_a_slot_per_core("local")
    assert with_cores("k8s://https://*.example", 8) == "k8s://https://*.example"


@pytest.mark.parametrize(
    ("slots", "wanted", "shares"),
    [
        (8, {}, {}),
        (8, {"a": 4, "b": 3}, {"a": 4, "b": 3}),
        (4, {"a": 4, "b": 4}, {"a": 2, "b": 2}),
        (4, {"a": 9}, {"a": 4}),
        (5, {"a": 4, "b": 4}, {"a": 3, "b": 2}),
        (6, {"a": 1, "b": 9, "c": 9}, {"a": 1, "b": 3, "c": 2}),
        (2, {"a": 3, "b": 3, "c": 3}, {"a": 1, "b": 1, "c": 0}),
        (0, {"a": 3}, {"a": 0}),
    ],
)
def test_flows_share_slots_evenly_and_those_that_came_first_have_what_is_left(
    slots: int, wanted: dict[str, int], shares: dict[str, int]
) -> None:
    assert fair_shares(slots, wanted) == shares


def test_what_cannot_be_divided_stays_with_those_that_have_it() -> None:
    wanted = {"a": 9, "b": 9, "c": 9}
    assert fair_shares(7, wanted) == {"a": 3, "b": 2, "c": 2}
    assert fair_shares(7, wanted, {"a": 2, "b": 2, "c": 3}) == {"a": 2, "b": 2, "c": 3}
    assert fair_shares(8, wanted, {"a": 2, "b": 2, "c": 3}) == {"a": 3, "b": 2, "c": 3}


def test_a_flow_that_can_use_more_pushes_nothing_out_where_that_would_be_as_even() -> None:
    ledger = SlotLedger(3)
    ledger.request("a", 1)
    ledger.request("b", 4)
    assert all(ledger.take("b", bundle) for bundle in range(2))
    assert ledger.request("a", 4) == set(), "which would be 2 and 1 as well"
    assert (ledger.share("a"), ledger.share("b")) == (1, 2)


def test_a_flow_that_comes_is_given_what_others_have_too_much_once_they_give_it_back() -> None:
    ledger = SlotLedger(3)
    assert ledger.request("a", 4) == set()
    assert all(ledger.take("a", bundle) for bundle in range(3))
    assert not ledger.take("a", 3)
    assert ledger.take("a", 0), "which it has already"
    assert ledger.request("b", 1) == {"a"}
    assert (ledger.share("a"), ledger.share("b")) == (2, 1)
    assert not ledger.take("b", 0), "as long as the other has not drained"
    ledger.give("a", 2)
    assert not ledger.take("a", 2), "it is the other one's"
    assert ledger.take("b", 0)


def test_what_a_flow_leaves_is_for_others_but_not_before_its_bundles_have_ended() -> None:
    ledger = SlotLedger(2)
    ledger.request("a", 1)
    ledger.request("b", 2)
    assert ledger.take("a", 0)
    assert ledger.take("b", 0)
    assert ledger.leave("a") == {"b"}
    assert (ledger.share("a"), ledger.share("b")) == (0, 2)
    assert not ledger.take("b", 1)
    ledger.give("a", 0)
    assert ledger.take("b", 1)


def test_a_flow_that_can_use_no_slot_leaves_all_to_others_and_comes_last_when_it_can() -> None:
    ledger = SlotLedger(1)
    ledger.request("idle", 1)
    assert ledger.request("busy", 1) == set()
    assert ledger.request("idle", 0) == {"busy"}
    assert (ledger.share("idle"), ledger.share("busy")) == (0, 1)
    assert ledger.take("busy", 0)
    assert ledger.request("idle", 1) == set(), "who has a slot keeps it"
    assert (ledger.share("idle"), ledger.share("busy")) == (0, 1)
    assert ledger.leave("busy") == {"idle"}
