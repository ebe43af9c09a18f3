"""``mm2 status``, ``topology``, ``topics``, ``lag``: how flows are, through Kafka alone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NoReturn

import click

from mm2.cli.completing import flow_option
from mm2.cli.flows.status_rows import BY, COLUMNS, Found, ShownRow, rows_of
from mm2.cli.options import (
    CHECK_FAILED,
    FILE,
    FORMAT,
    UNREACHABLE,
    maker_of,
    patterns_of,
    refuse_usage,
    tell,
)
from mm2.cli.watching import WATCH, look, run_until_interrupted, show_rows
from mm2.config.checks.failed_flows import FailedFlow, FlowsOfFile
from mm2.config.flow_config import FlowConfig
from mm2.core.model import SourceAndTarget
from mm2.errors import ClusterError
from mm2.herder.flow_validation import FlowValidation
from mm2.herder.view.flow_follower import FlowFollower, view_flow
from mm2.herder.view.flow_views import FlowView

_READY_WITHIN_S: Final = 5.0

_Show = Callable[[Sequence[Found]], None]
_Choose = Callable[[list[ShownRow]], list[ShownRow]]


_FLOW: Final = flow_option("Only this flow, written A->B.")


@click.command("status")
@FILE
@_FLOW
@click.option(
    "--by",
    type=click.Choice(BY),
    default="flow",
    show_default=True,
    help="What a row is shown for.",
)
@WATCH
@FORMAT
def status(file: Path, flow: str | None, by: str, watch: float | None, format_: str) -> None:
    """
    Shows how flows are, wherever they run and whether they do.

    Who leads each, which tasks run, how many records it is behind, and what is wrong. All of it
    stands on the flows' targets: no process is asked.

    A flow whose settings are wrong has failed, and the others are shown all the same.

    Exit status: 0 all is as wanted, 1 something has failed or nobody leads a flow, 2 wrong usage,
    3 a target cannot be reached or refuses.
    """
    _run(file, flow, by, watch, format_)


@click.command("topology")
@FILE
@_FLOW
@WATCH
@FORMAT
def topology(file: Path, flow: str | None, watch: float | None, format_: str) -> None:
    """
    Shows which clusters are copied to which, and how each of these flows is.

    Exit status: as that of mm2 status.
    """
    _run(file, flow, "topology", watch, format_)


@click.command("topics")
@FILE
@_FLOW
@WATCH
@FORMAT
def topics(file: Path, flow: str | None, watch: float | None, format_: str) -> None:
    """
    Shows how far each topic is copied: percent, bytes left, rate and time left.

    Exit status: as that of mm2 status.
    """
    _run(file, flow, "topic", watch, format_)


@click.command("lag")
@FILE
@_FLOW
@click.option(
    "--topics",
    metavar="PATTERN[,PATTERN...]",
    help="Only partitions of these topics of the source, as in the key topics.",
)
@click.option(
    "--top", type=click.IntRange(1), metavar="N", help="Of each flow the N that are most behind."
)
@WATCH
@FORMAT
def lag(
    file: Path,
    flow: str | None,
    watch: float | None,
    format_: str,
    *,
    topics: str | None,
    top: int | None,
) -> None:
    """
    Shows how far each partition is behind its source; those of each flow that are most, first.

    Exit status: as that of mm2 status, whichever partitions are shown.
    """
    patterns = patterns_of(topics)

    def choose(rows: list[ShownRow]) -> list[ShownRow]:
        return [each for each in rows if str(each.row["topic"]) in patterns][:top]

    _run(file, flow, "lag", watch, format_, choose)


def _all(rows: list[ShownRow]) -> list[ShownRow]:
    return rows


def _run(  # noqa: PLR0917 - the options of all these commands
    file: Path,
    flow: str | None,
    by: str,
    watch: float | None,
    format_: str,
    choose: _Choose = _all,
) -> NoReturn:
    configs, failed = _flows_of(file, flow)
    flows = [*(each.flow for each in configs), *(each.flow for each in failed)]
    last: list[Found] = []

    def show(found: Sequence[Found]) -> None:
        last[:] = [*found, *failed]
        _show(flows, last, by, format_, choose)

    run_until_interrupted(
        lambda: _watch(configs, watch, show) if watch else look(lambda: _views(configs), show, None)
    )
    sys.exit(exit_status(last))


def exit_status(found: Iterable[Found]) -> int:
    """What the command ends with: the worst of all flows."""
    views = list(found)
    if any(isinstance(each, ClusterError) for each in views):
        return UNREACHABLE
    is_fine = all(isinstance(each, FlowView) and each.is_in_target_state for each in views)
    return 0 if is_fine else CHECK_FAILED


def _flows_of(file: Path, flow: str | None) -> tuple[list[FlowConfig], list[FailedFlow]]:
    """The flows to show, and those that cannot run because of their settings."""
    maker = maker_of(file)
    found = FlowValidation().tried(FlowsOfFile.of(maker, maker.cluster_pairs()))
    if flow is None:
        return [each for each in found.flows if _has_work(each)], list(found.failed)
    names = ", ".join(map(str, maker.cluster_pairs())) or "none"
    known = flow in map(str, maker.cluster_pairs())
    refuse_usage([] if known else [f"--flow {flow}: there is no such flow; there are {names}."])
    good = [each for each in found.flows if str(each.flow) == flow]
    return good, [each for each in found.failed if str(each.flow) == flow]


def _has_work(config: FlowConfig) -> bool:
    return config.source.enabled or config.heartbeat.emit_heartbeats is not None


async def _views(configs: Sequence[FlowConfig]) -> list[Found]:
    return await asyncio.gather(*(_view(each) for each in configs))


async def _view(config: FlowConfig) -> Found:
    try:
        return await view_flow(config)
    except ClusterError as error:
        return error


async def _watch(configs: Sequence[FlowConfig], seconds: float, show: _Show) -> None:
    """Shows the flows until cancelled; a target that does not answer hides no other's flows."""
    followers = [FlowFollower(each) for each in configs]
    async with asyncio.TaskGroup() as tasks:
        for follower in followers:
            tasks.create_task(follower.run(), name="follow-flow")
        seen = [tasks.create_task(each.until_ready(), name="flow-seen") for each in followers]
        await asyncio.wait(seen, timeout=_READY_WITHIN_S)

        async def views() -> list[Found]:
            return [each.problem or each.view() for each in followers]

        await look(views, show, seconds)


def _show(
    flows: Sequence[SourceAndTarget],
    found: Sequence[Found],
    by: str,
    format_: str,
    choose: _Choose,
) -> None:
    shown = [
        row
        for flow, each in zip(flows, found, strict=True)
        for row in choose(rows_of(flow, each, by))
    ]
    show_rows(COLUMNS[by], [each.row for each in shown], format_, [each.is_bad for each in shown])
    tell(dict.fromkeys(str(each) for each in found if isinstance(each, ClusterError)))
