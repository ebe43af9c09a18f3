"""
``./scripts/trials``: moves consumer groups between two real clusters at random, and counts what
they read twice or never; beside Java's MirrorMaker on the same topics, if wanted.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

from rich.console import Console

from tests.harness.outcomes import save, saved_file, write_table
from tests.harness.trials.cost import KINDS, measure
from tests.harness.trials.cost import table_of as costs_table
from tests.harness.trials.judging import faults_of
from tests.harness.trials.planned import planned_round
from tests.harness.trials.rewinds import rewinding, rewound_round, rounds, settings_of
from tests.harness.trials.trial import FAILOVER, REWOUND, UNPLANNED, Trial, load
from tests.harness.trials.trial_clusters import TrialClusters, world
from tests.harness.trials.trial_tables import COSTS, PAGE, TRIALS, table_of
from tests.harness.trials.unplanned import unplanned_round
from tests.support.cluster import KafkaCluster
from tests.support.endings import leaving_nobody

_AT_ONCE: Final = 5
"""Groups of a round."""

_ROUNDS: Final[dict[str, Callable[[TrialClusters, int, int], list[Trial]]]] = {
    FAILOVER: planned_round,
    UNPLANNED: unplanned_round,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs trials; returns the exit status."""
    options = _parser().parse_args(arguments)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    if options.command == "report":
        write_table(TRIALS, table_of(load(options.file)), PAGE)
        return 0
    if options.command == "cost":
        write_table(COSTS, costs_table([measure(kind, options.scale) for kind in KINDS]), PAGE)
        return 0
    with leaving_nobody():
        run = _rewind if options.command == "rewinds" else _run
        trials = run(options, Console())
    print(table_of(trials))  # noqa: T201 - the result
    return int(any(trial.faults for trial in trials))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./scripts/trials", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="goes on with what the file lacks")
    run.add_argument("--planned", type=int, default=50, help="groups, and back again (50)")
    run.add_argument("--unplanned", type=int, default=50, help="groups (50)")
    run.add_argument("--seed", type=int, default=1, help="of the first round of each kind (1)")
    run.add_argument("--java", action="store_true", help="Java's MirrorMaker beside mm2")
    run.add_argument("--exactly-once", action="store_true", help="mm2 copies in transactions")
    run.add_argument("--json", type=Path, required=True, metavar="FILE", help="what was found")
    rewinds = commands.add_parser("rewinds", help="groups that are set back; goes on, too")
    rewinds.add_argument("--seeds", type=int, default=30, help="of 8 groups each (30)")
    rewinds.add_argument("--seed", type=int, default=1, help="the first one (1)")
    rewinds.add_argument("--no-sync", action="store_true", help="flows sync no group offsets")
    rewinds.add_argument("--exactly-once", action="store_true", help="mm2 copies in transactions")
    rewinds.add_argument("--json", type=Path, required=True, metavar="FILE", help="what was found")
    cost = commands.add_parser("cost", help="measures what runs cost, and writes that table")
    cost.add_argument("--scale", type=float, default=1.0, help="of a million records (1)")
    report = commands.add_parser("report", help="writes the table of the documentation")
    report.add_argument("file", type=saved_file)
    return parser


def _run(options: argparse.Namespace, console: Console) -> list[Trial]:
    trials = load(options.json)
    missing = list(_missing(options, trials))
    if not missing:
        return trials
    with (
        tempfile.TemporaryDirectory(prefix="mm2-trials-") as folder,
        KafkaCluster("target") as target,
        world(
            Path(folder),
            target,
            Random(options.seed),
            with_java=options.java,
            exactly_once=options.exactly_once,
        ) as place,
    ):
        for kind, seed, count in missing:
            found = _ROUNDS[kind](place, seed, count)
            trials += found
            save(trials, options.json)
            for line in [f"{kind} {seed}: {count} groups", *faults_of(found)]:
                console.print(line, markup=False, highlight=False)
    return trials


def _rewind(options: argparse.Namespace, console: Console) -> list[Trial]:
    trials = load(options.json)
    modes = {"syncs": not options.no_sync, "exactly_once": options.exactly_once}
    done = {(trial.kind, trial.seed) for trial in trials}
    missing = [
        (move, seed)
        for move, seed in rounds(range(options.seed, options.seed + options.seeds))
        if not any(
            kind.startswith(f"{REWOUND}: {settings_of(**modes)}") and move in kind and at == seed
            for kind, at in done
        )
    ]
    if not missing:
        return trials
    with (
        tempfile.TemporaryDirectory(prefix="mm2-trials-") as folder,
        KafkaCluster("source") as source,
        KafkaCluster("target") as target,
        rewinding(Path(folder), source, target, **modes) as place,
    ):
        for move, seed in missing:
            found = rewound_round(place, seed, _AT_ONCE - 1, move)
            trials += found
            save(trials, options.json)
            for line in [f"{move} {seed}", *faults_of(found)]:
                console.print(line, markup=False, highlight=False)
    return trials


def _missing(
    options: argparse.Namespace, trials: Sequence[Trial]
) -> Iterator[tuple[str, int, int]]:
    """Kind, seed and number of groups of the rounds that the file does not have."""
    done = {(trial.kind, trial.seed) for trial in trials}
    for kind, groups in ((FAILOVER, options.planned), (UNPLANNED, options.unplanned)):
        for number, first in enumerate(range(0, groups, _AT_ONCE)):
            seed = options.seed + number
            if (kind, seed) not in done:
                yield kind, seed, min(_AT_ONCE, groups - first)


if __name__ == "__main__":
    sys.exit(main())
