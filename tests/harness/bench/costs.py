"""
``./scripts/bench costs``: what mm2 costs for each MB, batch, record, task, partition and group.

Without Java's MirrorMaker: these numbers are to calculate with. CPU seconds are those of one
machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from tests.harness.bench.copied import wait_for
from tests.harness.bench.executors import Executors, measure_executors
from tests.harness.bench.measurements import OURS as OUR_NAME
from tests.harness.bench.measurements import Numbers
from tests.harness.bench.mirrors import OURS, Mirror, cpu_s, family, running
from tests.harness.bench.settings import properties, source_cluster, target_cluster
from tests.harness.bench.throughput import Conditions, measure
from tests.harness.bench.workload import TOPIC, WORKLOADS, Workload
from tests.harness.outcomes import markdown, saved, write_table
from tests.support.layout import ROOT
from tests.support.records import Sample, commit_group, create_topic, produce

PAGE: Final = ROOT / "docs" / "explanation" / "scale.md"

SHAPES: Final[Mapping[str, int]] = {"kilobyte-none": 128, "small-lz4": 150, "single": 1}
"""Workloads, with the records of a batch."""

_OF_A_TOPIC: Final = 100
_IDLE_S: Final = 20.0
_SETTLE_S: Final = 15.0
_EACH_SECOND: Final = "emit.checkpoints.interval.seconds = 1\nrefresh.groups.interval.seconds = 1\n"
"""So that what groups cost is not lost among what else a driver does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """
    One row of a table.

    Attributes:
        table: its name in the page.
        title: what was measured.
        numbers: by column.
    """

    table: str
    title: str
    numbers: Mapping[str, float]


def found_costs(
    *,
    workloads: Sequence[str],
    tasks: Sequence[int],
    executors: Sequence[Executors],
    partitions: Sequence[int],
    groups: Sequence[int],
    scale: float,
) -> Iterator[Cost]:
    """Measures one row after the other."""
    for name in workloads:
        yield _of_copying(WORKLOADS[name], SHAPES[name], scale)
    for count in tasks:
        yield _of_tasks(count, scale)
    for each in executors:
        yield _of_executors(each, scale)
    for count in partitions:
        yield _of_partitions(count, scale)
    for count in groups:
        yield _of_groups(count, scale)


def _measured(workload: Workload, conditions: Conditions) -> Numbers:
    return measure(workload, [OURS], conditions)[OUR_NAME]


def _of_copying(workload: Workload, in_batch: int, scale: float) -> Cost:
    numbers = _measured(workload, Conditions(scale=scale))
    records = 1e9 / workload.size
    per_gb = numbers["cpu_tasks"]
    found = {
        "MB/s": numbers["megabytes_s"],
        "CPU-s/GB": per_gb,
        "ms/MB": per_gb,
        "µs/batch": per_gb / records * in_batch * 1e6,
        "µs/record": per_gb / records * 1e6,
    }
    return Cost(table="scale-copying", title=workload.title, numbers=found)


def _of_tasks(tasks: int, scale: float) -> Cost:
    numbers = _measured(WORKLOADS["kilobyte-lz4"], Conditions(tasks=tasks, scale=scale))
    found = {
        "MB/s": numbers["megabytes_s"],
        "CPU-s/GB of tasks": numbers["cpu_tasks"],
        "CPU-s/GB of driver and JVM": numbers["cpu_driver"] + numbers["cpu_JVM"],
        "cores of the mirror": numbers["mirror_share"] * (psutil.cpu_count() or 1),
        "cores of brokers": numbers["brokers_share"] * (psutil.cpu_count() or 1),
    }
    return Cost(table="scale-tasks", title=f"{tasks}", numbers=found)


def _of_executors(executors: Executors, scale: float) -> Cost:
    numbers = measure_executors(executors, WORKLOADS["kilobyte-lz4"], scale)
    found = {
        "MB/s": numbers["megabytes_s"],
        "CPU-s/GB of tasks": numbers["cpu_tasks"],
        "CPU-s/GB of driver and its JVM": numbers["cpu_driver"] + numbers["cpu_JVM"],
        "CPU-s/GB of executors' JVMs": numbers["cpu_executors"],
        "MB of an executor's JVM": numbers["JVM_mb"],
        "MB of its Python": numbers["tasks_mb"],
        "MB of both, shared pages once": numbers["pss_mb"],
    }
    return Cost(table="scale-executors", title=executors.title, numbers=found)


def _of_partitions(count: int, scale: float) -> Cost:
    """From the command until a record is there that came last, and what it costs to idle then."""
    with source_cluster() as source, target_cluster() as target:
        for first in range(0, count, _OF_A_TOPIC):
            create_topic(source.bootstrap, f"{TOPIC}-{first:06}", min(_OF_A_TOPIC, count - first))
        create_topic(source.bootstrap, TOPIC)
        produce(source.bootstrap, TOPIC, [Sample(value=b"v")])
        began = time.monotonic()
        with running(OURS, properties(source, target, tasks=2)) as mirror:
            wait_for(mirror, target.bootstrap, 1, 1)
            started = time.monotonic() - began
            used = cpu_s(mirror, ())
            idle = _idle(mirror, scale)
            memory = _memory(mirror)
    found = {
        "start, s": started,
        "CPU-s of the driver until then": used.get("driver", 0.0),
        "CPU-s of tasks until then": used.get("tasks", 0.0),
        "idle cores of the driver": idle.get("driver", 0.0),
        "idle cores of tasks": idle.get("tasks", 0.0),
        "MB of the driver": memory.get("driver", 0.0),
        "MB of tasks": memory.get("tasks", 0.0),
    }
    return Cost(table="scale-partitions", title=f"{count:,}", numbers=found)


def _of_groups(count: int, scale: float) -> Cost:
    """Groups that are behind, each with an offset in one partition, and looked at each second."""
    with source_cluster() as source, target_cluster() as target:
        create_topic(source.bootstrap, TOPIC)
        produce(source.bootstrap, TOPIC, [Sample(value=b"v")] * 100)
        for number in range(count):
            commit_group(source.bootstrap, f"group-{number:05}", {(TOPIC, 0): 50})
        with running(OURS, properties(source, target, tasks=1, more=_EACH_SECOND)) as mirror:
            wait_for(mirror, target.bootstrap, 1, 100)
            idle = _idle(mirror, scale)
            memory = _memory(mirror)
    found = {
        "cores of the driver": idle.get("driver", 0.0),
        "MB of the driver": memory.get("driver", 0.0),
    }
    return Cost(table="scale-groups", title=f"{count:,}", numbers=found)


def _idle(mirror: Mirror, scale: float) -> dict[str, float]:
    """Cores that each kind of process takes while nothing is written."""
    time.sleep(_SETTLE_S * scale)
    before, seconds = cpu_s(mirror, ()), _IDLE_S * scale
    time.sleep(seconds)
    now = cpu_s(mirror, ())
    return {kind: (now[kind] - used) / seconds for kind, used in before.items() if kind in now}


def _memory(mirror: Mirror) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind, process in family(mirror):
        with suppress(psutil.NoSuchProcess):
            found[kind] = found.get(kind, 0.0) + process.memory_info().rss / 1e6
    return found


def write_page(files: Sequence[Path]) -> None:
    """Writes the tables of the documentation."""
    tables: dict[str, dict[str, Cost]] = {}
    for each in (Cost(**found) for file in files for found in saved(file)):
        tables.setdefault(each.table, {})[each.title] = each
    for name, rows in tables.items():
        write_table(name, _table(list(rows.values())), PAGE)


def _table(rows: Sequence[Cost]) -> str:
    names = list(rows[0].numbers)
    lines = [[row.title, *(f"{row.numbers[name]:.3g}" for name in names)] for row in rows]
    return markdown(["", *names], lines)
