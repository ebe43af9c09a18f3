"""``mm2 groups``: where consumer groups stand between two clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from mm2.cli.group_options import GROUPS, PATTERN, chosen, group_problems, unheard_of
from mm2.cli.options import CHECK_FAILED, FILE, FLOW, FORMAT, end, flow_of, run, tell
from mm2.cli.rows import Row, rendered
from mm2.client.group_status import GroupStatus
from mm2.core.failover.group_lag import GroupPosition

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
@FORMAT
def groups(
    file: Path, flow: str | None, groups: tuple[str, ...], pattern: str | None, format_: str
) -> None:
    """
    Shows where consumer groups stand, and where they would go on reading on the target.

    Without options, all groups that the flow follows. If the source cannot be reached, what the
    target has of the last checkpoints is shown, without lags.

    Exit status: 0 done, 1 nothing is known of a group that is named, 2 wrong usage, 3 the target
    cannot be reached.
    """
    config = flow_of(file, flow, group_problems(groups, pattern))

    async def asked() -> tuple[list[GroupPosition], list[str]]:
        async with GroupStatus.of(config) as survey:
            wanted = chosen(groups, pattern, survey.follows)
            return await survey.standings(wanted), survey.missing

    found, missing = run(asked)
    click.echo(rendered(_COLUMNS, [_row(each) for each in found], format_))
    tell(missing)
    if strangers := unheard_of(groups, {each.group for each in found}):
        end(CHECK_FAILED, *strangers)


def _row(standing: GroupPosition) -> Row:
    return {
        "group": standing.group,
        "topic": standing.partition.topic,
        "partition": standing.partition.partition,
        "offset": standing.committed,
        "lag": standing.lag,
        "mirror_lag": standing.mirror_lag,
        "remote_topic": standing.remote.topic,
        "translated": standing.translated,
        "accuracy": standing.accuracy,
        "checkpoint_age_ms": standing.checkpoint_age_ms,
        "target_state": standing.state,
        "target_offset": standing.target_offset,
    }
