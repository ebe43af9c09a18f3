"""``mm2 failback``: consumer groups come home, against a flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from mm2.cli.groups.group_move_options import DRAIN, chosen_options, move, move_options
from mm2.cli.options import EXECUTE

_RESUME: Final = click.option(
    "--resume/--no-resume",
    default=None,
    help="Have the flow go on afterwards if the failover stopped it. Usual with --all-groups.",
)


@click.group()
def failback() -> None:
    """
    Moves consumer groups from the target of a flow back to its source.

    Stop the groups' consumers first. Where they read copies, they go on at the original of the
    first copy that they have not read. Where they read topics that the opposite flow copies, they
    go on at the copy of the first unread record.

    Exit status: 0 go, or done; 1 no-go, with the reasons; 2 wrong usage, 3 a cluster that is needed
    cannot be reached or refuses.
    """


@failback.command("plan")
@move_options
@DRAIN
@_RESUME
def plan_command(file: Path, flow: str | None, format_: str, **options: Any) -> None:
    """Shows where the groups would go on, and what speaks for and against it."""
    _move(file, flow, format_, execute=False, **options)


@failback.command("execute")
@move_options
@DRAIN
@_RESUME
@EXECUTE
def execute_command(
    file: Path, flow: str | None, format_: str, *, execute: bool, **options: Any
) -> None:
    """
    Moves the groups: waits for the copy, writes the offsets, and reads them back.

    Writes only with --execute.
    """
    _move(file, flow, format_, execute=execute, **options)


def _move(
    file: Path,
    flow: str | None,
    format_: str,
    *,
    execute: bool,
    resume: bool | None,
    drain: bool | None,
    all_groups: bool,
    **options: Any,
) -> None:
    chosen = chosen_options(
        all_groups=all_groups,
        drain=bool(drain),
        fence=False,
        resume=all_groups if resume is None else resume,
        **options,
    )
    move(file, flow, chosen, is_back=True, execute=execute, format_=format_)
