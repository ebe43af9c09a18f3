"""``mm2 offsets``: where a flow goes on copying, shown and changed (KIP-875)."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import click

from mm2.cli.options import EXECUTE, FILE, FLOW, FORMAT, NOT_EXECUTED, flow_of, run, tell
from mm2.cli.rows import Row, rendered
from mm2.config.flow_config import FlowConfig
from mm2.core.connect.offset_records import SourcePartition
from mm2.core.json_text import read_json
from mm2.core.model import TopicPartition
from mm2.core.positions.offset_requests import RequestedOffset
from mm2.core.times import parse_time_ms
from mm2.herder.offsets.offset_changes import Change, OffsetChange, OffsetChanges

_TOPICS: Final = click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:P[,P...]]",
    help="A topic of the source, or some of its partitions; may be repeated, all count together.",
)
_ALL: Final = click.option(
    "--all-topics", is_flag=True, help="All topics that the flow mirrors, or has positions of."
)
_FROM_FILE: Final = click.option(
    "--file",
    "document",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Positions in the JSON of Connect's REST interface; null deletes one.",
)


@click.group()
def offsets() -> None:
    """
    Shows and changes where flows go on copying.

    A position is the source offset of the last record that was copied, as in Connect; "next" is the
    one after it. A flow must be stopped while its positions are changed.

    Exit status: 0 done, 1 a check failed and nothing was changed, 2 wrong usage, 3 a cluster cannot
    be reached or refuses.
    """


@offsets.command("list")
@FILE
@FLOW
@_TOPICS
@FORMAT
def list_command(file: Path, flow: str | None, topics: tuple[str, ...], format_: str) -> None:
    """
    Lists the positions of a flow.

    As JSON they can be changed and given to "alter --file".
    """
    config = flow_of(file, flow)
    wanted = _selected(topics)

    async def listed() -> dict[TopicPartition, int]:
        async with OffsetChanges.of(config) as repositioning:
            return await repositioning.stored()

    found = run(listed)
    positions = {w: at for w, at in sorted(found.items()) if not topics or _matches(w, wanted)}
    if format_ == "json":
        click.echo(json.dumps(_as_connect(config, positions), indent=2))
        return
    rows: list[Row] = [
        {"topic": where.topic, "partition": where.partition, "position": at, "next": at + 1}
        for where, at in positions.items()
    ]
    click.echo(rendered(["topic", "partition", "position", "next"], rows, format_))


@offsets.command("alter")
@FILE
@FLOW
@_FROM_FILE
@_TOPICS
@_ALL
@click.option("--to-earliest", is_flag=True, help="To the first record that the source has.")
@click.option("--to-latest", is_flag=True, help="Behind the last one.")
@click.option("--to-datetime", metavar="TIME", help="To the first one since a time, in ISO 8601.")
@click.option("--to-offset", type=int, metavar="N", help="So that record N is copied next.")
@click.option("--shift-by", type=int, metavar="N", help="By N records, backwards if negative.")
@EXECUTE
@FORMAT
def alter_command(
    file: Path,
    flow: str | None,
    document: Path | None,
    topics: tuple[str, ...],
    format_: str,
    *,
    all_topics: bool,
    execute: bool,
    **target: object,
) -> None:
    """Moves positions; shows what would change, unless --execute is given."""
    config = flow_of(file, flow)
    moves = [name for name, value in target.items() if value is not None and value is not False]
    if document is not None:
        if moves or topics or all_topics:
            raise click.UsageError("--file says everything by itself; leave the other options out.")
        asked = _json(document)
        _change(config, lambda r: r.from_request(asked), format_, execute=execute)
        return
    if len(moves) != 1:
        raise click.UsageError("Give --file, or one of --to-... and --shift-by.")
    move = _move(moves[0], target[moves[0]])
    wanted = _chosen(topics, all_topics=all_topics)
    _change(config, lambda r: r.moved(wanted, move), format_, execute=execute)


@offsets.command("reset")
@FILE
@FLOW
@_TOPICS
@_ALL
@EXECUTE
@FORMAT
def reset_command(
    file: Path,
    flow: str | None,
    topics: tuple[str, ...],
    format_: str,
    *,
    all_topics: bool,
    execute: bool,
) -> None:
    """
    Deletes positions, so that the flow begins there as it would with new partitions.

    Shows what would be deleted, unless --execute is given.
    """
    wanted = _chosen(topics, all_topics=all_topics)
    _change(flow_of(file, flow), lambda r: r.deleted(wanted), format_, execute=execute)


def _change(
    config: FlowConfig,
    plan: Callable[[OffsetChanges], Coroutine[Any, Any, list[Change]]],
    format_: str,
    *,
    execute: bool,
) -> None:
    async def changed() -> list[Change]:
        async with OffsetChanges.of(config) as repositioning:
            changes = await plan(repositioning)
            await repositioning.check_stopped()
            if execute:
                await repositioning.execute(changes)
            return changes

    rows = [
        {
            "topic": change.where.topic if change.where else str(change.partition),
            "partition": change.where.partition if change.where else None,
            "position": change.before,
            "new": change.after,
            "next": None if change.after is None else change.after + 1,
        }
        for change in run(changed)
    ]
    click.echo(rendered(["topic", "partition", "position", "new", "next"], rows, format_))
    if not execute:
        tell([NOT_EXECUTED])


def _json(file: Path) -> object:
    try:
        return read_json(file.read_bytes())
    except ValueError as error:
        raise click.UsageError(f"{file} is not JSON: {error}") from error


def _chosen(topics: tuple[str, ...], *, all_topics: bool) -> dict[str, set[int]] | None:
    """None stands for all topics."""
    if all_topics == bool(topics):
        raise click.UsageError("Give either --topic, as often as needed, or --all-topics.")
    return None if all_topics else _selected(topics)


def _selected(topics: tuple[str, ...]) -> dict[str, set[int]]:
    """Topics with the partitions asked for by any of the words; none stands for all of them."""
    selected: dict[str, set[int]] = {}
    whole: list[str] = []
    for written in topics:
        topic, colon, numbers = written.partition(":")
        parts = numbers.split(",") if colon else []
        if not topic or not all(part.isdecimal() for part in parts):
            raise click.UsageError(f"--topic {written}: write TOPIC or TOPIC:0,1")
        selected.setdefault(topic, set()).update(map(int, parts))
        if not colon:
            whole.append(topic)
    return {**selected, **{topic: set[int]() for topic in whole}}


def _matches(where: TopicPartition, wanted: dict[str, set[int]]) -> bool:
    return where.topic in wanted and (
        not wanted[where.topic] or where.partition in wanted[where.topic]
    )


def _move(name: str, value: object) -> OffsetChange:
    target = RequestedOffset(name.replace("_", "-"))
    if target is RequestedOffset.TIME:
        try:
            return OffsetChange(target=target, number=parse_time_ms(str(value)))
        except ValueError as error:
            raise click.UsageError(f"--to-datetime: {error}") from error
    return OffsetChange(target=target, number=int(value) if isinstance(value, int) else 0)


def _as_connect(config: FlowConfig, positions: dict[TopicPartition, int]) -> dict[str, object]:
    """What ``GET /connectors/MirrorSourceConnector/offsets`` answers."""
    source = config.flow.source
    return {
        "offsets": [
            {"partition": SourcePartition(source, *where).fields(), "offset": {"offset": at}}
            for where, at in positions.items()
        ]
    }
