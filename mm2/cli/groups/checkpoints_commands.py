"""``mm2 checkpoints``: the translated offsets of groups as they stand on the target."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from mm2.cli.check_rows import conclusion
from mm2.cli.groups.group_options import GROUPS, PATTERN, chosen, group_problems, unknown_groups
from mm2.cli.options import FILE, FLOW, FORMAT, flow_of
from mm2.cli.rows import Row
from mm2.cli.watching import WATCH, Shown, show_and_exit
from mm2.client.group_survey import checkpoints_now
from mm2.client.remote_checkpoints import RemoteCheckpoint
from mm2.clock import now_ms
from mm2.core.failover.group_partition import Accuracy
from mm2.core.model import GroupId, TopicPartition

_COLUMNS: Final = [
    "group",
    "topic",
    "partition",
    "upstream",
    "downstream",
    "accuracy",
    "age_ms",
    "metadata",
]


@click.command("checkpoints")
@FILE
@FLOW
@GROUPS
@PATTERN
@WATCH
@FORMAT
def checkpoints(
    file: Path,
    flow: str | None,
    groups: tuple[str, ...],
    pattern: str | None,
    *,
    watch: float | None,
    format_: str,
) -> None:
    """
    Shows the last checkpoint of each group and each partition on the target.

    Only the target is asked. Checkpoints of Kafka's MirrorMaker count as approximate.

    Exit status: 0 done, 1 a group that is named has none, 2 wrong usage, 3 the target cannot be
    reached.
    """
    config = flow_of(file, flow, group_problems(groups, pattern))
    is_meant = chosen(groups, pattern, lambda _: True)

    async def asked() -> Shown:
        found = await checkpoints_now(config, is_meant)
        asked_ms = now_ms()
        rows = [
            _row(group, where, each, asked_ms)
            for group, known in sorted(found.items())
            for where, each in sorted(known.items())
        ]
        status, told = conclusion(unknown_groups(groups, found))
        return Shown(rows, told, status)

    show_and_exit(_COLUMNS, asked, format_, watch)


def _row(group: GroupId, where: TopicPartition, known: RemoteCheckpoint, now_ms: int) -> Row:
    return {
        "group": group,
        "topic": where.topic,
        "partition": where.partition,
        "upstream": known.checkpoint.upstream_offset,
        "downstream": known.checkpoint.downstream_offset,
        "accuracy": (Accuracy.EXACT if known.exact else Accuracy.APPROXIMATE).value,
        "age_ms": max(0, now_ms - known.timestamp_ms),
        "metadata": known.checkpoint.metadata,
    }
