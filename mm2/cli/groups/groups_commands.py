"""``mm2 groups``: where consumer groups stand between two clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from mm2.cli.check_rows import conclusion
from mm2.cli.groups.group_options import GROUPS, PATTERN, chosen, group_problems, unknown_groups
from mm2.cli.options import FILE, FLOW, FORMAT, flow_of
from mm2.cli.rows import Row
from mm2.cli.watching import WATCH, Shown, show_and_exit
from mm2.client.group_status import GroupStatus
from mm2.core.failover.group_partition import GroupPartition

_COLUMNS: Final = [
    "group",
    "topic",
    "partition",
    "offset",
    "lag",
    "mirror_lag",
    "remote_topic",
    "translated",
    "accuracy",
    "checkpoint_age_ms",
    "target_state",
    "target_offset",
]


@click.command("groups")
@FILE
@FLOW
@GROUPS
@PATTERN
@WATCH
@FORMAT
def groups(
    file: Path,
    flow: str | None,
    groups: tuple[str, ...],
    pattern: str | None,
    *,
    watch: float | None,
    format_: str,
) -> None:
    """
    Shows where consumer groups stand, and where they would go on reading on the target.

    Without options, all groups that the flow follows. If the source cannot be reached, what the
    target has of the last checkpoints is shown, without lags.

    Exit status: 0 done, 1 nothing is known of a group that is named, 2 wrong usage, 3 the target
    cannot be reached.
    """
    config = flow_of(file, flow, group_problems(groups, pattern))

    async def asked() -> Shown:
        async with GroupStatus.of(config) as status:
            is_meant = chosen(groups, pattern, status.follows)
            found, missing = await status.partitions(is_meant), status.missing
        known = {each.group for each in found if each.group}
        exit_status, told = conclusion([*missing, *unknown_groups(groups, known)])
        return Shown([_row(each) for each in found], told, exit_status)

    show_and_exit(_COLUMNS, asked, format_, watch)


def _row(found: GroupPartition) -> Row:
    return {
        "group": found.group,
        "topic": None if found.origin is None else found.origin.topic,
        "partition": None if found.origin is None else found.origin.partition,
        "offset": found.committed,
        "lag": found.lag,
        "mirror_lag": found.mirror_lag,
        "remote_topic": None if found.destination is None else found.destination.topic,
        "translated": found.translated_offset,
        "accuracy": found.accuracy.value,
        "checkpoint_age_ms": found.checkpoint_age_ms,
        "target_state": found.target_state,
        "target_offset": found.target_offset,
    }
