"""How many tasks a flow is to have: by its file, its load, and the slots there are."""

from __future__ import annotations

from mm2.config.flow_config import FlowConfig
from mm2.herder.bundles.task_count import TaskCount
from mm2.slot_allocation import FlowSlots, Slots
from tests.support.configs import config_of


def _slots(count: int) -> FlowSlots:
    return Slots(count).join(changed=lambda: None, refused=lambda *_: None)


def _config(tasks: str) -> FlowConfig:
    return config_of({"tasks.max": tasks, "spark.master": "spark://m:7077"})


def test_a_fixed_number_stays() -> None:
    assert TaskCount(0).most(_config("4"), _slots(9), 3) == 4


def test_it_begins_with_those_of_an_earlier_leader_and_no_more_than_there_is_room_for() -> None:
    auto = _config("auto")
    assert TaskCount(0).most(auto, _slots(9), 20) == 1
    assert TaskCount(5).most(auto, _slots(9), 20) == 5
    assert TaskCount(5).most(auto, _slots(9), 3) == 3
    assert TaskCount(5).most(auto, _slots(2), 20) == 2


def test_before_partitions_are_known_nothing_is_divided_anew() -> None:
    count, slots = TaskCount(5), _slots(9)
    assert count.most(_config("auto"), slots, 0) == 5
    assert count.most(_config("auto"), slots, 20) == 5


def test_a_flow_that_is_altered_to_follow_its_load_begins_with_the_tasks_it_has() -> None:
    count, slots = TaskCount(0), _slots(9)
    assert count.most(_config("100"), slots, 3) == 100
    assert count.most(_config("auto"), slots, 20) == 3
