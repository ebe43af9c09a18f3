"""``mm2 flows``: shows flows, stops them, and lets them go on, whoever runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import click

from mm2.cli.flows.alter_command import alter, limit
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
    wrong_flows,
)
from mm2.cli.progress import waiting
from mm2.cli.rows import Row, rendered
from mm2.cli.watching import WATCH, look, run_until_interrupted
from mm2.config.flow_config import FlowConfig
from mm2.config.text.redact import shown
from mm2.core.model import CONNECTORS, SOURCE_CONNECTOR
from mm2.core.times import time_text
from mm2.errors import ClusterError, FlowError
from mm2.failover.flow_switch import FlowStatus, FlowSwitch
from mm2.herder.status.status_topic import mark_unassigned
from mm2.kafka.flow_clusters import admin_clients
from mm2.protocol.command_records import ConnectorState
from mm2.protocol.desired_state import DesiredState
from mm2.stop_deadlines import FLOW_EVERYWHERE_S

T = TypeVar("T")

_COLUMNS: Final = (
    "flow",
    "wanted",
    "since",
    "reason",
    "running",
    "epoch",
    "tasks",
    "owner",
    "connectors",
    "altered",
)

CONNECTOR: Final = click.option(
    "--connector", type=click.Choice(CONNECTORS), help="Only this one of the flow's connectors."
)
REASON: Final = click.option("--reason", default="", help="Is shown to others.")


@click.group()
def flows() -> None:
    """
    Shows flows and steers them, whoever runs them.

    What is paused, stopped or altered stays so over restarts, until it is resumed or reset. A flow
    that is stopped copies nothing; its heartbeats and checkpoints go on.

    Exit status: 0 done, 1 the flow does not stop, or a flow to be shown cannot run for what the
    file says, 2 wrong usage, 3 a target cannot be reached or refuses.
    """


flows.add_command(alter)
flows.add_command(limit)


@flows.command("show")
@FILE
@FLOW
@WATCH
@FORMAT
def show_command(file: Path, flow: str | None, watch: float | None, format_: str) -> None:
    """
    Shows what is wanted of each flow, and whether somebody runs it.

    What a target that does not answer would know is left out, and so are flows whose settings are
    wrong; both are told of.
    """
    found = flows_of(file, flow)
    configs = [each for each in found.flows if each.source.runs or flow]
    wrong = wrong_flows(file, found.failed)
    problems: list[str] = []

    def show(seen: tuple[list[Row], list[str]]) -> None:
        rows, problems[:] = seen
        click.echo(rendered(_COLUMNS, rows, format_))

    run_until_interrupted(lambda: look(lambda: rows_of(configs, _status), show, watch))
    if problems or wrong:
        end(UNREACHABLE if problems else CHECK_FAILED, *wrong, *problems)


@flows.command("stop")
@FILE
@FLOW
@CONNECTOR
@REASON
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=FLOW_EVERYWHERE_S,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait until copying has stopped.",
)
def stop_command(
    file: Path, flow: str | None, connector: str | None, reason: str, timeout: float
) -> None:
    """Has a flow drain, commit and stop, and waits until it has; or one of its connectors."""
    config = flow_of(file, flow)

    async def work(switch: FlowSwitch) -> None:
        if connector is None:
            await switch.stop(reason, within_s=timeout)
            return
        await switch.commands.stop(connector, reason=reason)
        if connector == SOURCE_CONNECTOR:
            await switch.until_stopped(within_s=timeout)

    try:
        with waiting(f"{_named(config, connector)}: drains and commits"):
            run(lambda: _on(config, work))
    except FlowError as error:
        end(CHECK_FAILED, str(error))
    tell([f"{_named(config, connector)}: stopped"])


@flows.command("pause")
@FILE
@FLOW
@CONNECTOR
@REASON
def pause_command(file: Path, flow: str | None, connector: str | None, reason: str) -> None:
    """
    Has a flow's copying, or one of its connectors, drain and rest until it is resumed.

    Its positions cannot be altered meanwhile; for that, stop it.
    """
    config = flow_of(file, flow)

    async def work(switch: FlowSwitch) -> bool:
        await switch.commands.pause(connector, reason=reason)
        return connector in {None, SOURCE_CONNECTOR} and (await switch.desired_state()).is_stopped

    is_stopped = run(lambda: _on(config, work))
    told = "stays stopped until it is resumed" if is_stopped else "paused"
    tell([f"{_named(config, connector)}: {told}"])


@flows.command("resume")
@FILE
@FLOW
@CONNECTOR
@REASON
def resume_command(file: Path, flow: str | None, connector: str | None, reason: str) -> None:
    """Has a flow, or one of its connectors, go on, as soon as somebody is there to run it."""
    config = flow_of(file, flow)
    run(lambda: _on(config, lambda switch: switch.commands.resume(connector, reason=reason)))
    tell([f"{_named(config, connector)}: resumed"])


@flows.command("restart")
@FILE
@FLOW
@CONNECTOR
@click.option("--task", type=click.IntRange(min=0), help="Only this task of the connector.")
def restart_command(file: Path, flow: str | None, connector: str | None, task: int | None) -> None:
    """
    Has whoever runs a flow drain its tasks and start them anew, one after the other.

    Checkpoints and heartbeats start anew, too, unless a connector is named.
    """
    problems = ["--task needs --connector."] if task is not None and connector is None else []
    config = flow_of(file, flow, problems)
    try:
        run(lambda: _on(config, lambda switch: switch.restart(connector, task)))
    except FlowError as error:
        end(CHECK_FAILED, str(error))
    tell([f"{_named(config, connector)}: told to restart"])


def _named(config: FlowConfig, connector: str | None) -> str:
    return f"flow {config.flow}" if connector is None else f"{config.flow}.{connector}"


async def _on(config: FlowConfig, ask: Callable[[FlowSwitch], Awaitable[T]]) -> T:
    """Asks for something, and puts right what its last leader may have left."""
    async with admin_clients(config) as clusters:
        found = await ask(FlowSwitch(config, clusters))
        # It is done, whether or not others that look may be told.
        with suppress(ClusterError):
            await mark_unassigned(config, clusters.target)
        return found


async def rows_of(
    configs: Iterable[FlowConfig], ask: Callable[[FlowConfig], Awaitable[FlowStatus]]
) -> tuple[list[Row], list[str]]:
    """
    A row for each flow, and sentences about the targets that do not answer.

    Args:
        configs: the flows.
        ask: how a flow is.
    """
    problems: list[str] = []

    async def row(config: FlowConfig) -> Row:
        try:
            return _row(config, await ask(config))
        except ClusterError as error:
            problems.append(str(error))
            unknown = dict.fromkeys(_COLUMNS)
            return {**unknown, "flow": str(config.flow), "reason": str(error)}

    rows = await asyncio.gather(*map(row, configs))
    return rows, list(dict.fromkeys(problems))


async def _status(config: FlowConfig) -> FlowStatus:
    async with admin_clients(config) as clusters:
        return await FlowSwitch(config, clusters).status()


def _row(config: FlowConfig, status: FlowStatus) -> Row:
    wanted = status.desired.flow
    at_ms = wanted.time_ms
    return {
        "flow": str(config.flow),
        "wanted": wanted.state.value,
        "since": time_text(at_ms) if at_ms else None,
        "reason": wanted.reason or None,
        "running": status.running is not None,
        "epoch": status.epoch,
        "tasks": status.tasks,
        "owner": status.owner,
        "connectors": _connectors(status.desired),
        "altered": _altered(status.desired) or None,
    }


def _connectors(desired: DesiredState) -> str | None:
    """Those that do not work because somebody wants it so."""
    states = {name: desired.state_of(name) for name in CONNECTORS}
    resting = [
        f"{name} {state}" for name, state in states.items() if state is not ConnectorState.RUNNING
    ]
    return ", ".join(resting) or None


def _altered(desired: DesiredState) -> str:
    """Settings over those of the file, without secrets."""
    return ", ".join(
        f"{key} left out" if value is None else f"{key} = {shown(key, value)}"
        for key, value in sorted(desired.alterations.changes.items())
    )
