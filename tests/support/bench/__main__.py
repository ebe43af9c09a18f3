"""
``./scripts/bench throughput``: mm2 and Java's MirrorMaker on the same topics, in one run.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.support.bench.mirrors import JAVA, OURS, Peer
from tests.support.bench.throughput import BROKER_OPTIONS, TUNED, Result, Stuck, measure
from tests.support.bench.workload import Workload, workloads
from tests.support.cluster import KafkaCluster
from tests.support.layout import KafkaMissing

_BUSY: Final = 0.5
"""Load of a core above which something else must be running."""

Number = Callable[[Result], float]

_MIRROR: Final = ("tasks", "driver", "JVM")
_ROWS: Final[Sequence[tuple[str, str, Number]]] = [
    ("records/s", "{:,.0f}", lambda r: r.records_s),
    ("MB/s", "{:,.1f}", lambda r: r.megabytes_s),
    ("CPU-s/GB, mirror", "{:.2f}", lambda r: r.cpu_per_gb(*_MIRROR)),
    ("  of it Python tasks", "{:.2f}", lambda r: r.cpu_per_gb("tasks")),
    ("  of it driver", "{:.2f}", lambda r: r.cpu_per_gb("driver")),
    ("  of it JVM", "{:.2f}", lambda r: r.cpu_per_gb("JVM")),
    ("CPU-s/GB, both brokers", "{:.2f}", lambda r: r.cpu_per_gb("brokers")),
    ("start to first record, s", "{:.1f}", lambda r: r.start_s),
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a benchmark; returns the exit status."""
    options = _parser().parse_args(arguments)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    console = Console()
    try:
        _throughput(options, console)
    except (Stuck, KafkaMissing) as error:
        console.print(f"FAILED: {error}", markup=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./scripts/bench", description=__doc__)
    parser.add_argument("benchmark", choices=["throughput"])
    parser.add_argument("--megabytes", type=int, default=400, help="of 1 KB records")
    parser.add_argument("--small-records", type=int, default=2_000_000, help="of 100 bytes")
    parser.add_argument("--tasks", type=int, default=2, help="tasks.max of both")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the medians count")
    parser.add_argument(
        "--warm", type=float, default=0.25, help="part of the records that comes before the clock"
    )
    parser.add_argument(
        "--tuned", action="store_true", help="with the settings that make Java's faster, for both"
    )
    parser.add_argument("--only", choices=["mm2", "java"], help="one of the two")
    return parser


def _throughput(options: argparse.Namespace, console: Console) -> None:
    if (load := os.getloadavg()[0]) > _BUSY * (os.cpu_count() or 1):
        console.print(f"[red]The machine is busy (load {load:.1f})[/]: the numbers will be too.")
    peers = {"mm2": [OURS], "java": [JAVA]}.get(options.only, [JAVA, OURS])
    with KafkaCluster("A", heap="1g", options=BROKER_OPTIONS) as source:
        for workload in workloads(options.megabytes, options.small_records):
            if workload.records:
                console.print(f"Filling {', '.join(workload.topics)} ...", highlight=False)
                workload.fill(source.bootstrap)
                console.print(_compared(workload, source, peers, options, console))


def _compared(
    workload: Workload,
    source: KafkaCluster,
    peers: Sequence[Peer],
    options: argparse.Namespace,
    console: Console,
) -> Table:
    results: dict[str, list[Result]] = {peer.name: [] for peer in peers}
    for _ in range(options.repeat):
        for peer in peers:
            console.print(f"{peer.name} copies ...", highlight=False)
            result = measure(
                peer,
                workload,
                source,
                tasks=options.tasks,
                warm=options.warm,
                settings=TUNED if options.tuned else "",
            )
            results[peer.name].append(result)
    told = "tuned" if options.tuned else "defaults"
    title = f"{workload.title}; {workload.records:,} records, tasks.max={options.tasks}, {told}"
    return _table(title, results)


def _table(title: str, results: dict[str, list[Result]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("")
    for name in results:
        table.add_column(name, justify="right")
    is_compared = len(results) > 1
    if is_compared:
        table.add_column("mm2 : Java", justify="right")
    for label, layout, number in _ROWS:
        medians = {name: statistics.median(map(number, each)) for name, each in results.items()}
        cells = [layout.format(median) for median in medians.values()]
        if is_compared and not label.startswith(" "):
            cells.append(_ratio(medians[OURS.name], medians[JAVA.name]))
        table.add_row(label, *cells)
    return table


def _ratio(ours: float, java: float) -> str:
    return f"{ours / java:.2f}" if java else ""


if __name__ == "__main__":
    sys.exit(main())
