"""``mm2 failover``: consumer groups move along a flow, planned or after a disaster."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from mm2.cli.groups.group_move_options import DRAIN, chosen_options, move, move_options
from mm2.cli.options import EXECUTE
from mm2.core.failover.moving_group import WithoutCheckpoint

_UNPLANNED: Final = click.option(
    "--unplanned",
    is_flag=True,
    help="The source is lost: go on at the last checkpoints; some records are read again.",
)
_LOST: Final = click.option(
    "--lost", is_flag=True, help="With --unplanned: take the source for lost, though it answers."
)
_WITHOUT_CHECKPOINT: Final = click.option(
    "--without-checkpoint",
    type=click.Choice([each.value for each in WithoutCheckpoint]),
    help="With --unplanned: where a group begins in copies that it has no checkpoint of. "
    "With leave, which is usual: at the start in topics that it has other checkpoints of; other "
    "topics are left to auto.offset.reset. With earliest or latest: at the start or the end, in "
    "all copies. With refuse: it is a no-go.",
)
_FENCE: Final = click.option(
    "--fence/--no-fence",
    default=None,
    help="Stop the flow, so that nothing is copied late. Usual with --all-groups.",
)


@click.group()
def failover() -> None:
    """
    Moves consumer groups from the source of a flow to its target.

    Stop the groups' consumers first. A planned move goes on exactly at the first unread record, or
    is refused; records are neither lost nor read again. Where flows copy a topic both ways under
    the same name, some may be read again, and the plan says so. When the source is lost, use
    --unplanned.

    Exit status: 0 go, or done; 1 no-go, with the reasons; 2 wrong usage, 3 a cluster that is needed
    cannot be reached or refuses.
    """


@failover.command("plan")
@move_options
@_UNPLANNED
@_LOST
@_WITHOUT_CHECKPOINT
@DRAIN
@_FENCE
def plan_command(
    file: Path, flow: str | None, format_: str, *, unplanned: bool, **options: Any
) -> None:
    """Shows where the groups would go on, and what speaks for and against it."""
    chosen = chosen_options(planned=not unplanned, **options)
    move(file, flow, chosen, is_back=False, execute=False, format_=format_)


@failover.command("execute")
@move_options
@_UNPLANNED
@_LOST
@_WITHOUT_CHECKPOINT
@DRAIN
@_FENCE
@EXECUTE
def execute_command(
    file: Path, flow: str | None, format_: str, *, unplanned: bool, execute: bool, **options: Any
) -> None:
    """
    Moves the groups: waits for the copy, writes the offsets, and reads them back.

    Writes only with --execute.
    """
    chosen = chosen_options(planned=not unplanned, **options)
    move(file, flow, chosen, is_back=False, execute=execute, format_=format_)
