"""``mm2 flows limit``: how fast a flow may copy, changed while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from mm2.cli.alter_command import told
from mm2.cli.options import FILE, FLOW, flow_of, run, tell
from mm2.herder.control.config_alteration import Alteration
from mm2.herder.control.flow_commands import FlowCommands
from mm2.kafka.flow_clusters import admin_clients

_KEY: Final = "flow.byte.rate.limit"
_UNLIMITED: Final = "-1"


@click.command("limit")
@FILE
@click.argument("rate")
@FLOW
def limit(file: Path, rate: str, flow: str | None) -> None:
    """
    Changes how fast a flow may copy: alters flow.byte.rate.limit.

    RATE is in bytes per second, of all its tasks together; "none" lifts the limit, and "default"
    gives it back to the file. It holds at once, and for later starts too.
    """
    config, wanted = flow_of(file, flow), _rate(rate)

    async def work() -> Alteration | None:
        async with admin_clients(config) as clusters:
            commands = FlowCommands(config, clusters)
            if wanted is not None:
                return await commands.alter({_KEY: wanted})
            return await commands.alter_by(lambda each: ({}, [_KEY]) if _KEY in each else None)

    done = run(work)
    tell([f"flow {config.flow}: nothing is different"] if done is None else told(config, done))


def _rate(text: str) -> str | None:
    if text == "default":
        return None
    if text == "none":
        return _UNLIMITED
    if not text.isdecimal() or not int(text):
        raise click.UsageError(f"RATE {text}: write bytes per second, none or default.")
    return text
