"""``mm2 flows limit``: how fast a flow may copy, changed while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from mm2.cli.flows.alter_command import told
from mm2.cli.options import EXECUTE, FILE, FLOW, flow_of, run, tell
from mm2.config.overrides import Alteration
from mm2.core.byte_size import parse_size
from mm2.herder.control.flow_commands import FlowCommands
from mm2.kafka.flow_clusters import admin_clients

_KEY: Final = "flow.byte.rate.limit"
_UNLIMITED: Final = "-1"


@click.command("limit")
@FILE
@click.argument("rate")
@FLOW
@EXECUTE
def limit(file: Path, rate: str, flow: str | None, *, execute: bool) -> None:
    """
    Changes how fast a flow may copy: alters flow.byte.rate.limit.

    RATE is in bytes per second (10485760, 10MB, 10MiB), of all its tasks together. With "none"
    there is no limit; with "default" that of the file counts again. It holds at once, and for
    later starts too.
    """
    config, wanted = flow_of(file, flow), _rate(rate)

    async def work() -> Alteration | None:
        async with admin_clients(config) as clusters:
            commands = FlowCommands(config, clusters)
            if wanted is not None:
                return await commands.alter({_KEY: wanted}, dry_run=not execute)
            return await commands.alter_by(
                lambda each: ({}, [_KEY]) if _KEY in each else None, dry_run=not execute
            )

    done = run(work)
    if done is None:
        tell([f"flow {config.flow}: nothing is different"])
    else:
        tell(told(config, done, is_dry=not execute))


def _rate(text: str) -> str | None:
    if text == "default":
        return None
    if text == "none":
        return _UNLIMITED
    try:
        rate = parse_size(text)
    except ValueError:
        rate = 0
    if not rate:
        raise click.UsageError(f"RATE {text}: write bytes per second, none or default.")
    return str(rate)
