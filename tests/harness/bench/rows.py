"""All rows of all benchmarks, in the order in which they are run and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from tests.harness.bench import idle, latency, legacy, memory, start, throughput, transforms
from tests.harness.bench.measurements import LEGACY, Numbers
from tests.harness.bench.mirrors import Peer
from tests.harness.bench.throughput import Conditions
from tests.harness.bench.workload import KILOBYTE_WITH_KEYS, SMALL_WITH_KEYS, WORKLOADS

Measured = Callable[[list[Peer], Conditions], dict[str, Numbers]]

_START_RUNS: Final = 3
_IDLE_PARTITIONS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    One row.

    Attributes:
        benchmark: the command that runs it.
        name: chooses it there.
        title: for people.
        measure: runs it for some peers.
    """

    benchmark: str
    name: str
    title: str
    measure: Measured


ROWS: Final = (
    *(
        Row(
            benchmark="throughput",
            name=workload.name,
            title=workload.title,
            measure=partial(throughput.measure, workload),
        )
        for workload in WORKLOADS.values()
    ),
    *(
        Row(
            benchmark=benchmark,
            name=f"{prefix}{change.name}",
            title=change.title,
            measure=partial(measure, change),
        )
        for benchmark, prefix, measure in (
            ("transforms", "", transforms.measure_throughput),
            ("transforms-delay", "delay-", transforms.measure_delay),
        )
        for change in transforms.CHANGES
    ),
    *(
        Row(
            benchmark="latency",
            name=stream.name,
            title=stream.title,
            measure=partial(latency.measure, stream),
        )
        for stream in latency.STREAMS
    ),
    Row(
        benchmark="start",
        name="start",
        title="start to first copied record, empty target",
        measure=partial(start.measure, _START_RUNS),
    ),
    *(
        Row(
            benchmark=LEGACY,
            name=f"legacy-{workload.name}{name}",
            title=f"kafka-mirror-maker: {workload.title}{title}",
            measure=partial(legacy.measure, workload, flags),
        )
        for workload in (SMALL_WITH_KEYS, KILOBYTE_WITH_KEYS)
        for name, title, flags in (("", "", ()), ("-keys", ", --repartition", ("--repartition",)))
    ),
    Row(
        benchmark="idle",
        name="idle",
        title=f"{_IDLE_PARTITIONS:,} partitions, mostly idle",
        measure=partial(idle.measure, _IDLE_PARTITIONS),
    ),
    Row(
        benchmark="memory",
        name="memory",
        title="memory of all processes",
        measure=memory.measure,
    ),
)
