"""``mm2 heartbeats``: which flows are alive, judged by what arrives on the clusters."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Final

import click

from mm2.cli.completing import flow_option
from mm2.cli.options import (
    CHECK_FAILED,
    FILE,
    FORMAT,
    UNREACHABLE,
    USAGE,
    end,
    flows_of,
    maker_of,
    refuse_usage,
    wrong_flows,
)
from mm2.cli.rows import Row
from mm2.cli.watching import WATCH, Shown, show_and_exit
from mm2.client.heartbeat_health import check_heartbeats
from mm2.config.checks.failed_flows import FlowsOfFile
from mm2.core.heartbeat_hops import FlowHealth
from mm2.core.times import parse_duration_ms, time_text

_COLUMNS: Final = ["flow", "way", "hops", "last", "age_ms", "alive", "expected"]


@click.command("heartbeats")
@FILE
@flow_option("Only heartbeats that this flow, written A->B, writes or copies.")
@click.option(
    "--max-age",
    metavar="DURATION",
    help="Fail if an expected heartbeat is older: seconds, or ISO 8601 such as PT2M.",
)
@WATCH
@FORMAT
def heartbeats(
    file: Path, flow: str | None, max_age: str | None, watch: float | None, format_: str
) -> None:
    """
    Shows the newest heartbeats of each flow, and whether the flow is alive.

    Heartbeats of a flow A->B on B say that somebody runs it, on whatever machine. Those that have
    come from A over to B say that it copies. Clusters that cannot be reached, and flows whose
    settings are wrong, are named, and the others still shown.

    Exit status: 0 done, 1 with --max-age: an expected heartbeat is missing or too old, or a flow
    cannot run for what the file says, 2 wrong usage, 3 no cluster can be reached.
    """
    of_file = flows_of(file)
    configs = of_file.flows
    max_age_ms, problems = _duration(max_age)
    refuse_usage([*problems, *_unknown(flow, of_file)])
    wrong = wrong_flows(file, (f for f in of_file.failed if flow in (None, str(f.flow))))
    if flow and wrong:
        end(USAGE, *wrong)
    targets = {c.flow.target for c in configs if flow in (None, str(c.flow))}
    maker = maker_of(file)

    async def asked() -> Shown:
        found, failures = await check_heartbeats(
            maker, configs, sorted(targets), max_age_ms=max_age_ms
        )
        if targets and failures.keys() == targets:
            return Shown(None, [*wrong, *map(str, failures.values())], UNREACHABLE)
        shown = [each for each in found if flow is None or _concerns(each, flow)]
        told = [*wrong, *(f"{each}; its heartbeats are not known" for each in failures.values())]
        is_missing = bool(wrong) or any(each.expected and not each.alive for each in shown)
        has_failed = max_age_ms is not None and is_missing
        return Shown([_row(each) for each in shown], told, CHECK_FAILED if has_failed else 0)

    show_and_exit(_COLUMNS, asked, format_, watch)


def _unknown(flow: str | None, of_file: FlowsOfFile) -> list[str]:
    names = [str(each.flow) for each in of_file.flows]
    names += [str(each.flow) for each in of_file.failed]
    if flow is None or flow in names:
        return []
    return [f"--flow {flow}: there is no such flow; there are {', '.join(names) or 'none'}."]


def _duration(written: str | None) -> tuple[int | None, list[str]]:
    if written is None:
        return None, []
    if written.isdecimal():
        return int(written) * 1000, []
    try:
        return parse_duration_ms(written), []
    except ValueError as error:
        return None, [f"--max-age: {error}, and no number of seconds"]


def _concerns(pulse: FlowHealth, flow: str) -> bool:
    way = pulse.path.way
    copies = (f"{source}->{target}" for source, target in pairwise(way))
    return flow in (str(pulse.path.flow), *copies)


def _row(pulse: FlowHealth) -> Row:
    return {
        "flow": str(pulse.path.flow),
        "way": "->".join(pulse.path.way),
        "hops": pulse.path.hops,
        "last": None if pulse.last_ms is None else time_text(pulse.last_ms),
        "age_ms": pulse.age_ms,
        "alive": pulse.alive,
        "expected": pulse.expected,
    }
