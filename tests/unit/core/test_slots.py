"""What a master says about slots."""

from __future__ import annotations

import pytest

from mm2.core.slots import most_bundles, slots_of, with_cores


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


def test_all_cores_of_the_machine_are_so_many() -> None:
    assert with_cores("local[*,2]", 8) == "local[8,2]"
    assert with_cores("local[3]", 8) == "local[3]"
    assert with_cores("k8s://https://*.example", 8) == "k8s://https://*.example"


@pytest.mark.parametrize(
    ("wanted", "own", "room", "most"),
    [(8, 0, None, 8), (8, 0, 3, 3), (8, 2, 3, 5), (4, 2, 3, 4), (8, 0, 0, 1)],
)
def test_a_flow_has_no_more_bundles_than_slots(
    wanted: int, own: int, room: int | None, most: int
) -> None:
    assert most_bundles(wanted, own, room) == most
