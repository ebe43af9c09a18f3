"""``mm2 flows``: shows flows, stops them, and lets them go on, whoever runs them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

import click

from mm2.cli.options import (
    CHECK_FAILED,
    FILE,
    FLOW,
    FORMAT,
    UNREACHABLE,
    end,
    flow_of,
    flows_of,
    run,
    tell,
)
from mm2.cli.rows import Row, rendered
from mm2.config.flow import FlowConfig
from mm2.core.times import time_text
from mm2.errors import ClusterError, FlowError
from mm2.failover.fence import STOP_WITHIN_S, FlowStatus, FlowSwitch
from mm2.herder.clusters import admin_clients

T = TypeVar("T")

_COLUMNS: Final = ("flow", "wanted", "since", "reason", "running", "epoch", "tasks", "owner")


@click.group()
def flows() -> None:
    """
    Shows flows, stops them, and lets them go on.

    A flow that is stopped copies nothing until it is resumed, also after a restart. Its heartbeats
    and checkpoints go on.

    Exit status: 0 done, 1 the flow does not stop, 2 wrong usage, 3 a target cannot be reached or
    refuses.
    """


@flows.command("show")
@FILE
@FLOW
@FORMAT
def show_command(file: Path, flow: str | None, format_: str) -> None:
    """
    Shows what is wanted of each flow, and whether somebody runs it.

    What a target that does not answer would know is left out.
    """
    configs = [each for each in flows_of(file, flow) if each.source.runs or flow]
    rows, problems = run(lambda: rows_of(configs, _status))
    click.echo(rendered(_COLUMNS, rows, format_))
    if problems:
        end(UNREACHABLE, *problems)


@flows.command("stop")
@FILE
@FLOW
@click.option("--reason", default="", help="Is shown to others.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=STOP_WITHIN_S,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait until it has stopped.",
)
def stop_command(file: Path, flow: str | None, reason: str, timeout: float) -> None:
    """Has a flow drain, commit and stop, and waits until it has."""
    config = flow_of(file, flow)
    try:
        run(lambda: _on(config, lambda switch: switch.stop(reason, within_s=timeout)))
    except FlowError as error:
        end(CHECK_FAILED, str(error))
    tell([f"flow {config.flow}: stopped"])


@flows.command("resume")
@FILE
@FLOW
@click.option("--reason", default="", help="Is shown to others.")
def resume_command(file: Path, flow: str | None, reason: str) -> None:
    """Has a flow go on, as soon as somebody is there to run it."""
    config = flow_of(file, flow)
    run(lambda: _on(config, lambda switch: switch.resume(reason)))
    tell([f"flow {config.flow}: resumed"])


async def _on(config: FlowConfig, ask: Callable[[FlowSwitch], Awaitable[T]]) -> T:
    async with admin_clients(config) as clusters:
        return await ask(FlowSwitch(config, clusters))


async def rows_of(
    configs: Iterable[FlowConfig], ask: Callable[[FlowConfig], Awaitable[FlowStatus]]
) -> tuple[list[Row], list[str]]:
    """
    A row for each flow, and sentences about the targets that do not answer.

    Args:
        configs: the flows.
        ask: how a flow is.
    """
    rows: list[Row] = []
    problems: list[str] = []
    for config in configs:
        try:
            rows.append(_row(config, await ask(config)))
        except ClusterError as error:
            problems.append(str(error))
            unknown = dict.fromkeys(_COLUMNS)
            rows.append({**unknown, "flow": str(config.flow), "reason": str(error)})
    return rows, problems


async def _status(config: FlowConfig) -> FlowStatus:
    return await _on(config, lambda switch: switch.status())


def _row(config: FlowConfig, status: FlowStatus) -> Row:
    at_ms = status.wanted.time_ms
    return {
        "flow": str(config.flow),
        "wanted": status.wanted.state.value,
        "since": time_text(at_ms) if at_ms else None,
        "reason": status.wanted.reason or None,
        "running": status.running is not None,
        "epoch": status.epoch,
        "tasks": status.tasks,
        "owner": status.owner,
    }
