"""``mm2 flows alter`` and ``limit``: settings of a flow, changed while it runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from mm2.cli.options import EXECUTE, FILE, FLOW, NOT_EXECUTED, flow_of, run, tell
from mm2.config.checks.alterable_keys import effects_of_key, file_key
from mm2.config.flow_config import FlowConfig
from mm2.config.keys.effects import Effect
from mm2.config.overrides import Alteration
from mm2.core.byte_size import parse_size
from mm2.herder.control.flow_commands import FlowCommands
from mm2.kafka.flow_clusters import admin_clients

_LIMIT: Final = "flow.byte.rate.limit"
_UNLIMITED: Final = "-1"


@click.command("alter")
@FILE
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@FLOW
@click.option(
    "--reset",
    multiple=True,
    metavar="KEY",
    help="Gives this setting back to the file; may be repeated.",
)
@click.option("--reset-all", is_flag=True, help="Gives all settings back to the file.")
@EXECUTE
def alter(
    file: Path,
    settings: tuple[str, ...],
    flow: str | None,
    reset: tuple[str, ...],
    *,
    reset_all: bool,
    execute: bool,
) -> None:
    """
    Changes settings of a flow over those of the file, without a restart of the process.

    Keys are those of the flow, written without "A->B."; "KEY=" is an empty value. Everything is
    checked first: if anything is wrong, nothing is changed. What was altered holds over restarts
    and for whoever runs the flow, until it is reset.

    Exit status: 0 done, 1 something is wrong with the settings, 2 wrong usage, 3 the target cannot
    be reached or refuses.
    """
    problems = [f"{text}: write KEY=VALUE." for text in settings if "=" not in text.strip("=")]
    if not settings and not reset and not reset_all:
        problems.append("Say what to alter, as KEY=VALUE, or what to --reset.")
    if reset_all and (reset or settings):
        problems.append("--reset-all goes with no other change.")
    config = flow_of(file, flow, problems)
    changes = dict(_setting(config, text) for text in settings)
    keys = [_bare(config, key) for key in reset]

    async def work() -> Alteration:
        async with admin_clients(config) as clusters:
            commands = FlowCommands(config, clusters)
            if reset_all:
                return await commands.reset(dry_run=not execute)
            return await commands.alter(changes, reset=keys, dry_run=not execute)

    tell(change_lines(config, run(work), is_dry=not execute))


def _setting(config: FlowConfig, text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return _bare(config, key), value.strip()


def _bare(config: FlowConfig, key: str) -> str:
    """The key without what a file has before it."""
    key = key.strip()
    bare = key.removeprefix(f"{config.flow}.").removeprefix(f"{config.flow.target}.")
    return bare if file_key(config.flow, bare) == key else key


def change_lines(config: FlowConfig, done: Alteration, *, is_dry: bool = False) -> Iterable[str]:
    """What came of a change, in sentences."""
    yield from done.notes
    keys = ", ".join(done.change.keys) or "nothing is different"
    yield f"flow {config.flow}: {'would change' if is_dry else 'changed'}: {keys}"
    for effect in Effect:
        if effect in done.change.effects:
            yield f"  {effect.value}"
    unread = [key for key in done.change.keys if effects_of_key(key) == {Effect.NONE}]
    if unread:
        yield f"  {Effect.NONE.value}: {', '.join(unread)}"
    if is_dry:
        yield NOT_EXECUTED


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
                return await commands.alter({_LIMIT: wanted}, dry_run=not execute)
            return await commands.alter_by(
                lambda each: ({}, [_LIMIT]) if _LIMIT in each else None,
                dry_run=not execute,
            )

    done = run(work)
    if done is None:
        tell([f"flow {config.flow}: nothing is different"])
    else:
        tell(change_lines(config, done, is_dry=not execute))


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
