"""
``./scripts/chaos``: several nodes mirror numbered records while they are killed, frozen, restarted
and cut off; counts what is lost, repeated or out of order, and for how long nothing arrives.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from tests.harness.chaos.chaos_clusters import BOTH_WAYS, ONE_WAY, world
from tests.harness.chaos.event_costs import PAGE, TABLE, table_of
from tests.harness.chaos.event_outcomes import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    MODES,
    EventOutcome,
    load,
)
from tests.harness.chaos.plan import KINDS, ROLL, plan
from tests.harness.chaos.strike import strike
from tests.harness.outcomes import save, saved_file, write_table
from tests.support.endings import leaving_nobody

_SHOWN: Final = Console(highlight=False, markup=False, soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs events; returns the exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "report":
        found = [outcome for file in options.files for outcome in load(file)]
        write_table(TABLE, table_of(found), PAGE)
        return 0
    with leaving_nobody():
        outcomes = _run(options)
    _SHOWN.print(table_of(outcomes))
    return int(any(outcome.faults for outcome in outcomes))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./scripts/chaos", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="goes on with what the file lacks")
    run.add_argument("--seed", type=int, default=1, help="decides what happens to whom (1)")
    run.add_argument("--events", type=int, default=10, help="of each kind (10)")
    run.add_argument("--kinds", default=",".join(KINDS), help=f"{','.join((*KINDS, ROLL))}")
    run.add_argument("--mode", choices=MODES, default=AT_LEAST_ONCE)
    run.add_argument("--both-ways", action="store_true", help="a second flow, back again")
    run.add_argument("--nodes", type=int, default=3, help="how many (3)")
    run.add_argument("--logs", type=Path, help="an empty folder for the nodes' logs")
    run.add_argument("--json", type=Path, required=True, metavar="FILE", help="what was found")
    report = commands.add_parser("report", help="writes the table of the documentation")
    report.add_argument("files", type=saved_file, nargs="+")
    return parser


def _run(options: argparse.Namespace) -> list[EventOutcome]:
    outcomes = load(options.json)
    done = {(outcome.mode, outcome.seed, outcome.number) for outcome in outcomes}
    events = plan(options.seed, options.events, options.kinds.split(","))
    left = [n for n in range(len(events)) if (options.mode, options.seed, n) not in done]
    if not left:
        return outcomes
    with (
        tempfile.TemporaryDirectory(prefix="mm2-chaos-") as temporary,
        world(
            options.logs or Path(temporary),
            flows=BOTH_WAYS if options.both_ways else ONE_WAY,
            exactly_once=options.mode == EXACTLY_ONCE,
            nodes=options.nodes,
        ) as place,
    ):
        for number in left:
            event = events[number]
            found = strike(place, event, mode=options.mode, seed=options.seed, number=number)
            outcomes.append(found)
            save(outcomes, options.json)
            toll = found.toll
            _SHOWN.print(
                f"{number + 1}/{len(events)} {event}: gap {toll.gap_s:.1f} s,"
                f" {toll.repeated} repeated",
                *found.faults,
                sep="; ",
            )
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
