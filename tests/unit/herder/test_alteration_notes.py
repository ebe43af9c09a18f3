"""What is said of more tasks than Spark may have slots for, before they are asked for."""

from __future__ import annotations

import pytest

from mm2.config.flow_config import FlowConfig
from mm2.config.overrides import alteration
from tests.support.configs import flow_of

_NONE = "the flow gets no {} until the process is started with more"
_CORES = "spark.master = local[*] runs as many tasks of all flows at the same time as the node has"
_EXECUTORS = "dynamicAllocation.maxExecutors"
_OF_EXECUTORS = f"spark.{_EXECUTORS} = 2 gives 4 tasks of all flows at the same time: "
_ON_CLUSTER = "spark.cores.max = 2 gives 2 tasks of all flows at the same time: "


def _config(**spark: str) -> FlowConfig:
    return flow_of({f"spark.{key}": value for key, value in spark.items()})


@pytest.mark.parametrize(
    ("spark", "tasks", "note"),
    [
        ({"master": "local[4]"}, "5", _NONE.format(5)),
        ({"master": "local[4]", "task.cpus": "2"}, "3", _NONE.format(3)),
        ({}, "1025", _NONE.format(1025)),
        ({"master": "local[*]"}, "16", _CORES),
        ({"master": "spark://host:7077", "cores.max": "2"}, "3", f"{_ON_CLUSTER}{_NONE.format(3)}"),
        ({"master": "yarn", "executor.instances": "2"}, "3", _NONE.format(3)),
        (
            {"master": "spark://host:7077", _EXECUTORS: "2", "executor.cores": "2"},
            "5",
            f"{_OF_EXECUTORS}{_NONE.format(5)}",
        ),
    ],
)
def test_more_tasks_than_there_are_slots_are_told_of(
    spark: dict[str, str], tasks: str, note: str
) -> None:
    (told,) = alteration(_config(**spark), {}, {"tasks.max": tasks}, []).notes
    assert note in told


@pytest.mark.parametrize(
    ("spark", "changes"),
    [
        ({}, {"tasks.max": "1024"}),
        ({"master": "local[4]"}, {"tasks.max": "4"}),
        ({"master": "local[*]"}, {"tasks.max": "1"}),
        ({"master": "local[1]"}, {"topics": "a"}),
        ({"master": "spark://host:7077"}, {"tasks.max": "4000"}),
        ({"master": "spark://host:7077", "cores.max": "2"}, {"tasks.max": "2"}),
        ({"master": "local[4]", "cores.max": "2"}, {"tasks.max": "4"}),
        ({"master": "local[4]", _EXECUTORS: "2"}, {"tasks.max": "4"}),
        ({"master": "yarn", _EXECUTORS: "4"}, {"tasks.max": "4"}),
    ],
)
def test_what_there_is_room_for_is_not_spoken_of(
    spark: dict[str, str], changes: dict[str, str]
) -> None:
    assert alteration(_config(**spark), {}, changes, []).notes == ()
