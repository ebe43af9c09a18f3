"""``mm2 status``: how flows are, from any machine, through Kafka alone."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import click

from mm2.cli.options import (
    CHECK_FAILED,
    FILE,
    FORMAT,
    UNREACHABLE,
    maker_of,
    refuse_usage,
    run,
    tell,
)
from mm2.cli.rows import rendered
from mm2.cli.status_rows import COLUMNS, Found, rows_of
from mm2.config.checks.failed_flows import FailedFlow, FlowsOfFile
from mm2.config.flow_config import FlowConfig
from mm2.core.model import SourceAndTarget
from mm2.errors import ClusterError
from mm2.herder.flow_validation import FlowValidation
from mm2.herder.view.flow_follower import FlowFollower, FlowView, view_flow

_WATCH_S: Final = 2.0
_READY_WITHIN_S: Final = 5.0

_Show = Callable[[Sequence[Found]], None]


@click.command("status")
@FILE
@click.option("--flow", help="Only this flow, written A->B.")
@click.option(
    "--by",
    type=click.Choice(list(COLUMNS)),
    default="flow",
    show_default=True,
    help="What a row is shown for.",
)
@click.option(
    "--watch",
    type=click.FloatRange(min=0.1),
    is_flag=False,
    flag_value=_WATCH_S,
    metavar="[SECONDS]",
    help=f"Shows it again and again, each {_WATCH_S:g} seconds unless given, until interrupted.",
)
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
    configs, failed = _wanted(file, flow)
    flows = [*(each.flow for each in configs), *(each.flow for each in failed)]
    last: list[Found] = []

    def show(found: Sequence[Found]) -> None:
        last[:] = [*found, *failed]
        _show(flows, last, by, format_)

    try:
        run(lambda: _watch(configs, watch, show) if watch else _once(configs, show))
    except KeyboardInterrupt:
        tell([""])
    sys.exit(exit_status(last))


def exit_status(found: Iterable[Found]) -> int:
    """What the command ends with: the worst of all flows."""
    views = list(found)
    if any(isinstance(each, ClusterError) for each in views):
        return UNREACHABLE
    is_fine = all(isinstance(each, FlowView) and each.is_as_wanted for each in views)
    return 0 if is_fine else CHECK_FAILED


def _wanted(file: Path, flow: str | None) -> tuple[list[FlowConfig], list[FailedFlow]]:
    """The flows that are looked at, and those that cannot run for what the file says."""
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


async def _once(configs: Sequence[FlowConfig], show: _Show) -> None:
    show(await asyncio.gather(*(_look(each) for each in configs)))


async def _look(config: FlowConfig) -> Found:
    try:
        return await view_flow(config)
    except ClusterError as error:
        return error


async def _watch(configs: Sequence[FlowConfig], seconds: float, show: _Show) -> None:
    """Shows the flows until cancelled; a target that is away hides no other's flows."""
    followers = [FlowFollower(each) for each in configs]
    async with asyncio.TaskGroup() as tasks:
        for follower in followers:
            tasks.create_task(follower.run(), name="follow-flow")
        seen = [tasks.create_task(each.until_ready(), name="flow-seen") for each in followers]
        await asyncio.wait(seen, timeout=_READY_WITHIN_S)
        while True:
            click.clear()
            show([each.problem or each.view() for each in followers])
            await asyncio.sleep(seconds)


def _show(flows: Sequence[SourceAndTarget], found: Sequence[Found], by: str, format_: str) -> None:
    shown = [
        row for flow, each in zip(flows, found, strict=True) for row in rows_of(flow, each, by)
    ]
    text = rendered(COLUMNS[by], [each.row for each in shown], format_)
    if format_ == "table" and _is_coloured():
        text = _coloured(text, [each.is_bad for each in shown])
    click.echo(text)
    tell(dict.fromkeys(str(each) for each in found if isinstance(each, ClusterError)))


def _is_coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _coloured(table: str, is_bad: Sequence[bool]) -> str:
    head, *lines = table.splitlines()
    marked = (
        click.style(line, fg="red") if bad else line
        for line, bad in zip(lines, is_bad, strict=True)
    )
    return "\n".join([head, *marked])
