"""``mm2 flows limit``: how fast a flow may copy, changed while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from mm2.cli.options import FILE, FLOW, flow_of, run, tell
from mm2.herder.clusters import admin_clients
from mm2.herder.rates import change_rate

_UNLIMITED: Final = -1


@click.command("limit")
@FILE
@click.argument("rate")
@FLOW
def limit(file: Path, rate: str, flow: str | None) -> None:
    """
    Changes how fast a flow may copy.

    RATE is in bytes per second, of all its tasks together; "none" lifts the limit, and "default"
    gives it back to flow.byte.rate.limit. It holds at once, and for later starts too.
    """
    config, wanted = flow_of(file, flow), _rate(rate)

    async def work() -> None:
        async with admin_clients(config) as clusters:
            await change_rate(config, clusters, wanted)

    run(work)
    tell([f"flow {config.flow}: {rate}"])


def _rate(text: str) -> int | None:
    if text == "default":
        return None
    if text == "none":
        return _UNLIMITED
    if not text.isdecimal() or not int(text):
        raise click.UsageError(f"RATE {text}: write bytes per second, none or default.")
    return int(text)
