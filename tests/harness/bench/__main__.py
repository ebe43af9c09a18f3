"""
``./scripts/bench``: mm2 and Java's MirrorMaker side by side, in one run.

Only ratios of one run mean anything; absolute numbers are those of the machine.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from mm2.demo.processes import KafkaMissing
from tests.harness.bench.costs import SHAPES, Cost, found_costs, write_page
from tests.harness.bench.executors import DEFAULTS as EXECUTORS
from tests.harness.bench.executors import of_argument
from tests.harness.bench.measurements import BenchOutcome, load, table
from tests.harness.bench.mirrors import JAVA, OURS, Peer, Stuck
from tests.harness.bench.ratios import write_tables
from tests.harness.bench.rows import ROWS, Row
from tests.harness.bench.settings import TUNED
from tests.harness.bench.throughput import Conditions
from tests.harness.outcomes import save, saved_file
from tests.support.endings import leaving_nobody

_BUSY: Final = 0.25
"""Load of a core above which something else must be running."""

_PEERS: Final[Mapping[str, list[Peer]]] = {"mm2": [OURS], "java": [JAVA], "both": [OURS, JAVA]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs benchmarks; returns the exit status."""
    options = _parser().parse_args(arguments)
    if options.benchmark == "report":
        write_tables(_together(options.files))
        return 0
    if options.benchmark == "costs-report":
        write_page(options.files)
        return 0
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    console = Console()
    if (load_now := os.getloadavg()[0]) > _BUSY * (os.cpu_count() or 1):
        console.print(
            f"[red]The machine is busy (load {load_now:.1f})[/]: the numbers will be too."
        )
    with leaving_nobody():
        if options.benchmark == "costs":
            return _measure_costs(options, console)
        outcomes = _run(_chosen(options), options, console)
    return int(any(outcome.error for outcome in outcomes))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./scripts/bench", description=__doc__)
    commands = parser.add_subparsers(dest="benchmark", required=True)
    for name in ("all", *dict.fromkeys(row.benchmark for row in ROWS)):
        command = commands.add_parser(name)
        rows = [row.name for row in ROWS if name in {"all", row.benchmark}]
        command.add_argument(
            "--row", action="append", choices=rows, metavar="NAME", help=f"only: {', '.join(rows)}"
        )
        command.add_argument("--json", type=Path, metavar="FILE", help="what was found, for report")
        command.add_argument(
            "--scale", type=float, default=1.0, help="of the numbers of records and times (1)"
        )
        command.add_argument("--tasks", type=int, default=2, help="tasks.max of both (2)")
        command.add_argument(
            "--warm", type=float, default=0.25, help="part of the records before the clock (0.25)"
        )
        command.add_argument(
            "--tuned", action="store_true", help="settings that make Java's faster, for both"
        )
        command.add_argument("--only", choices=["mm2", "java"], default="both")
    costs = commands.add_parser("costs", help="what mm2 costs for each MB, record, partition ...")
    for name, default in (("tasks", [1, 2, 4]), ("partitions", [100, 1_000]), ("groups", [0, 500])):
        costs.add_argument(f"--{name}", type=int, nargs="*", default=default, metavar="N")
    costs.add_argument(
        "--executors",
        type=of_argument,
        nargs="*",
        default=EXECUTORS,
        metavar="NxCORES",
        help="of a standalone cluster of Spark (1x1 2x1 1x2 4x1)",
    )
    costs.add_argument("--workloads", nargs="*", default=list(SHAPES), choices=SHAPES)
    costs.add_argument("--scale", type=float, default=1.0, help="of records and times (1)")
    costs.add_argument("--json", type=Path, metavar="FILE", help="for costs-report")
    costs_report = commands.add_parser("costs-report", help="writes the tables of the scale model")
    costs_report.add_argument("files", type=saved_file, nargs="+")
    report = commands.add_parser("report", help="writes the tables of the documentation")
    report.add_argument(
        "files", type=saved_file, nargs="+", help="of several runs; the last one counts"
    )
    return parser


def _measure_costs(options: argparse.Namespace, console: Console) -> int:
    costs: list[Cost] = []
    found = found_costs(
        workloads=options.workloads,
        tasks=options.tasks,
        executors=options.executors,
        partitions=options.partitions,
        groups=options.groups,
        scale=options.scale,
    )
    for cost in found:
        numbers = ", ".join(f"{name}: {number:.3g}" for name, number in cost.numbers.items())
        console.print(f"{cost.table} {cost.title}: {numbers}", highlight=False, soft_wrap=True)
        costs.append(cost)
        if options.json:
            save(costs, options.json)
    return 0


def _together(files: Sequence[Path]) -> list[BenchOutcome]:
    """What several runs have found, in the order of the rows."""
    found = {outcome.row: outcome for file in files for outcome in load(file)}
    return [found[row.name] for row in ROWS if row.name in found]


def _chosen(options: argparse.Namespace) -> list[Row]:
    return [
        row
        for row in ROWS
        if options.benchmark in {"all", row.benchmark}
        and (not options.row or row.name in options.row)
    ]


def _run(rows: Sequence[Row], options: argparse.Namespace, console: Console) -> list[BenchOutcome]:
    conditions = Conditions(
        tasks=options.tasks,
        warm=options.warm,
        scale=options.scale,
        settings=TUNED if options.tuned else "",
    )
    outcomes: list[BenchOutcome] = []
    for row in rows:
        console.print(f"{row.benchmark} {row.name} ...", highlight=False)
        outcomes.append(_outcome(row, _PEERS[options.only], conditions))
        console.print(table(outcomes[-1]))
        if outcomes[-1].error:
            console.print(f"FAILED: {outcomes[-1].error}", markup=False, soft_wrap=True)
        if options.json:
            # After each row, so that nothing is lost with a later one.
            save(outcomes, options.json)
    return outcomes


def _outcome(row: Row, peers: list[Peer], conditions: Conditions) -> BenchOutcome:
    """Runs a row; its failure is its own."""
    numbers, error = {}, ""
    try:
        numbers = row.measure(peers, conditions)
    except (Stuck, KafkaMissing) as failure:
        error = str(failure)
    except Exception:  # noqa: BLE001 - whatever it is, the other rows are worth having
        error = traceback.format_exc()
    return BenchOutcome(
        benchmark=row.benchmark, row=row.name, title=row.title, numbers=numbers, error=error
    )


if __name__ == "__main__":
    sys.exit(main())
